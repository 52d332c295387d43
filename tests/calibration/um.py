"""Do the posteriors of Uncertainty Matters cover?

A frequentist cell fixes the cell probabilities and draws test sets; a cell of simulation-based
calibration draws them from the prior first, where coverage must be the level exactly.
Cross-validations train a fast linear rule whose demographic parity has a closed form, on new
training sets every time. A difference is always of group b against a, the first of the sizes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin

import fairstats as fs
from fairstats.methods.um.counting import CELLS as CELL_NAMES
from fairstats.methods.um.draws import describe
from fairstats.methods.um.metrics import as_objectives, parse_metric
from fairstats.methods.um.pooling import POOLED, cells_of_rates
from fairstats.numerics.rates.pooling import PRIOR_OF_MEAN
from tests.calibration.study import Cell, Counts, tally_interval

__all__ = [
    "CELLS",
    "LinearRule",
    "calibrated",
    "cross_validated",
    "held_out",
    "of_a_comparison",
    "ranks",
]

LEVEL = 0.95
DRAWS = 2_000
#: Cell probabilities (tp, fp, fn, tn) of two groups.
TRUTH = ((0.35, 0.12, 0.13, 0.40), (0.22, 0.13, 0.20, 0.45))
#: One accuracy in both groups, errors and hits halved between the labels.
BY_ACCURACY = {a: ((a / 2, (1 - a) / 2, (1 - a) / 2, a / 2),) * 2 for a in (0.95, 0.96, 0.99)}
#: Few favourable labels, nearly all found.
RARE = ((0.05, 0.02, 0.002, 0.928), (0.02, 0.01, 0.001, 0.969))


def _same_tpr(tpr: float) -> tuple[tuple[float, ...], ...]:
    """Cells of two groups of which half have the favourable label, with one true positive rate."""
    return ((tpr / 2, 0.1, (1 - tpr) / 2, 0.4),) * 2


def _named(cells: Any) -> dict[str, dict[str, float]]:
    labels = [f"g{k:03d}" for k in range(len(cells))]
    return {
        g: dict(zip(CELL_NAMES, map(float, row), strict=True))
        for g, row in zip(labels, cells, strict=True)
    }


def _value(metric: str, cells: Any) -> float:
    """A metric of cells (G, 4)."""
    return float(
        parse_metric(metric).values(np.asarray(cells, dtype=float)[None], 0).reshape(-1)[0]
    )


def held_out(
    rng: np.random.Generator,
    runs: int,
    *,
    sizes: Sequence[int],
    truth: Any,
    metric: str,
    group: int | None = None,
    **options: Any,
) -> Counts:
    """Coverage of the shortest intervals about a fitted model or another test set, of all rows or a
    group.
    """
    sizes_ = np.asarray(sizes)
    law = np.asarray(truth)
    margins: list[tuple[float, float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in range(runs):
            cells = np.array([rng.multinomial(n, p) for n, p in zip(sizes_, law, strict=True)])
            about = law * sizes_[:, None]
            if options.get("target") == "predictive":
                about = np.array([rng.multinomial(n, p) for n, p in zip(sizes_, law, strict=True)])
            posterior = fs.um_posterior(
                counts=_named(cells), draws=DRAWS, rng=run, reference="g000", **options
            )
            name = None if group is None else posterior.groups[group]
            low, high = tuple(
                describe(posterior.metric(metric, group=name), LEVEL).confidence_interval
            )
            target = _value(metric, about if group is None else about[[group]])
            margins.append((low - target, high - target))
    return tally_interval(0.0, margins)


#: Rates of a group unless they vary, and what a varying one is drawn with: Beta(κm, κ(1 − m)).
POOLED_MEANS = {"base_rate": 0.5, "tpr": 2 / 3, "fpr": 0.2}
POOLED_KAPPA = 18.0


def pooled(
    rng: np.random.Generator,
    runs: int,
    *,
    groups: int,
    varying: Sequence[str],
    metric: str,
    kappa: float = POOLED_KAPPA,
    rows: tuple[int, int] = (5, 60),
    **options: Any,
) -> Counts:
    """Coverage of partial pooling over all groups, or over all their differences with the largest.

    Groups of one sample go together: each sample counts once, with its share of intervals.
    """
    shares = {"coverage": 0.0, "above": 0.0, "below": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in range(runs):
            sizes = rng.integers(rows[0], rows[1] + 1, groups)
            rates = {}
            for name, mean in POOLED_MEANS.items():
                shapes = kappa * mean, kappa * (1 - mean)
                rates[name] = (
                    rng.beta(*shapes, groups) if name in varying else np.full(groups, mean)
                )
            law = cells_of_rates(**rates)
            cells = [rng.multinomial(n, p) for n, p in zip(sizes, law, strict=True)]
            posterior = fs.um_hierarchical(_named(cells), rng=run, **options)
            parsed = parse_metric(metric)
            about = (law * sizes[:, None])[None]
            if parsed.between_groups:
                drawn = posterior.metric(metric)
                truth = parsed.values(about, posterior.reference_index)[0]
            else:
                drawn = posterior.metric(metric, by_group=True)
                truth = parsed.by_group(about)[0]
            ends = [tuple(describe(draws, LEVEL).confidence_interval) for draws in drawn.T]
            # a difference of rates that do not vary is 0 up to rounding
            low, high = (np.round(np.array(ends) - truth[:, None], 12)).T
            shares["coverage"] += float(np.mean((low <= 0) & (high >= 0)))
            shares["above"] += float(np.mean(low > 0))
            shares["below"] += float(np.mean(high < 0))
    return {name: (share, runs) for name, share in shares.items()} | {"answered": (runs, runs)}


def of_a_comparison(
    rng: np.random.Generator, runs: int, *, n: int, agree: float, paired: bool, metric: int
) -> Counts:
    """Coverage of the difference of two models.

    b repeats the prediction of a with probability `agree`.
    """
    intervals = []
    hit = 0.8
    # of both labels: P(b right) = agree·hit + (1 − agree)·(1 − hit)
    truth = (hit - (agree * hit + (1 - agree) * (1 - hit)), 0.0)[metric]
    for run in range(runs):
        y = rng.integers(0, 2, n)
        group = rng.integers(0, 2, n)
        a = np.where(rng.random(n) < hit, y, 1 - y)
        b = np.where(rng.random(n) < agree, a, 1 - a)
        two = [
            fs.um_posterior(y, p, sensitive_features=group, groups=[0, 1], draws=DRAWS, rng=run)
            for p in (a, b)
        ]
        compared = fs.um_compare(
            *two, metrics=("accuracy", "equal_opportunity_difference"), rng=run, paired=paired
        )
        intervals.append(tuple(describe(compared.delta[:, metric], LEVEL).confidence_interval))
    return tally_interval(truth, intervals)


class LinearRule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on ±1: fast, and its selection rates under normal features have a closed
    form.
    """

    def fit(self, X: Any, y: Any) -> LinearRule:
        """Fit the weights."""
        self.weights_ = np.linalg.lstsq(
            np.column_stack([np.ones(len(X)), X]), 2.0 * y - 1, rcond=None
        )[0]
        return self

    def predict(self, X: Any) -> Any:
        """1 above 0."""
        return (self.weights_[0] + X @ self.weights_[1:] > 0).astype(int)


def population(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four normal features and the group (30% in 1), labels by a logistic model that differs by
    group.
    """
    group = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + 0.5 * X[:, 1] - 0.6 * group + 0.8 * group * X[:, 2]
    return np.column_stack([X, group]), (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


@lru_cache(maxsize=4)
def parity_of_the_rule(n: int, trained: int = 20_000) -> float:
    """Mean demographic parity of the rule over training sets of n rows; its error is sd/√20,000."""
    rng = np.random.default_rng(11)
    total = 0.0
    for _ in range(trained):
        w = LinearRule().fit(*population(n, rng)).weights_
        size = np.linalg.norm(w[1:5])
        total += float(ndtr((w[0] + w[5]) / size) - ndtr(w[0] / size))
    return total / trained


def cross_validated(
    rng: np.random.Generator, runs: int, *, n: int, folds: int, **options: Any
) -> Counts:
    """Coverage of the algorithm's demographic parity, at the training size (K−1)/K·n."""
    intervals = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in range(runs):
            X, y = population(n, rng)
            found = fs.um_cross_validate(
                LinearRule(),
                X,
                y,
                sensitive_features=X[:, 4].astype(int),
                cv=folds,
                groups=[0, 1],
                reference=0,
                draws=DRAWS,
                rng=run,
                progress=False,
                **options,
            )
            intervals.append(
                tuple(describe(found.metric("demographic_parity"), LEVEL).confidence_interval)
            )
    return tally_interval(parity_of_the_rule(n - n // folds), intervals)


class FirstRows(LinearRule):
    """The same rule from the first quarter of the rows."""

    def fit(self, X: Any, y: Any) -> FirstRows:
        """Fit the weights to a quarter."""
        super().fit(X[: len(X) // 4], y[: len(X) // 4])
        return self


def _parity(counts: Any) -> Any:
    """Selection rate of group 1 minus that of group 0, signed."""
    rates = (counts[..., 0] + counts[..., 1]) / counts.sum(axis=-1)
    return rates[:, 1] - rates[:, 0]


def of_estimators(
    rng: np.random.Generator, runs: int, *, n: int, folds: int, **options: Any
) -> Counts:
    """Coverage of the difference in demographic parity of two algorithms, at their training
    sizes.
    """
    intervals = []
    size = n - n // folds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in range(runs):
            X, y = population(n, rng)
            found = fs.um_compare_estimators(
                {"all": LinearRule(), "quarter": FirstRows()},
                X,
                y,
                sensitive_features=X[:, 4].astype(int),
                reference_estimator=LinearRule(),
                cv=folds,
                metrics=[_parity],
                groups=[0, 1],
                draws=DRAWS,
                rng=run,
                progress=False,
                **options,
            )
            draws = found.rankings[0].joint._draw_objectives(as_objectives([_parity], ("0", "1")))
            intervals.append(
                tuple(describe(draws[:, 0, 0] - draws[:, 1, 0], LEVEL).confidence_interval)
            )
    return tally_interval(parity_of_the_rule(size) - parity_of_the_rule(size // 4), intervals)


def _rank(truth: float, draws: np.ndarray, rng: np.random.Generator) -> float:
    """Where the truth lies among the draws, in (0, 1); ties are broken at random."""
    known = draws[~np.isnan(draws)]
    below = (known < truth).sum()
    ties = (known == truth).sum()
    return float((below + rng.random() * (ties + 1)) / (known.size + 1))


def ranks(
    rng: np.random.Generator, runs: int, *, method: str, groups: int, n: int
) -> Iterator[float]:
    """Simulation-based calibration.

    The truth from the prior, and its rank among the posterior's draws.
    """
    for run in range(runs):
        if method == "um_multiclass":
            law = rng.dirichlet(np.where(np.eye(3).ravel(), 2 / 3, 1 / 3), groups)
            cells = np.array([rng.multinomial(n, p) for p in law]).reshape(-1, 3, 3)
            both = [np.divmod(np.repeat(np.arange(9), c.ravel()), 3) for c in cells]
            y, p = (np.concatenate([pair[k] for pair in both]) for k in (0, 1))
            if len(np.union1d(y, p)) < 3:
                continue
            found = fs.um_multiclass(
                y, p, sensitive_features=np.repeat(np.arange(groups), n), draws=DRAWS, rng=run
            )
            truth = float(np.trace(law.reshape(-1, 3, 3), axis1=1, axis2=2).mean())
            draws = found.metric("accuracy")
        else:
            if method == "um_hierarchical":
                law = _law_from_the_prior(rng, groups)
            else:
                law = rng.dirichlet(np.ones(4), groups)
            counts = _named([rng.multinomial(n, p) for p in law])
            truth = float(law[0, [0, 3]].sum())
            if method == "um_hierarchical":
                posterior = fs.um_hierarchical(counts, draws=DRAWS, rng=run)
            else:
                sampler: Any = "pymc" if method == "um_model" else "exact"
                posterior = fs.um_posterior(counts=counts, draws=DRAWS, sampler=sampler, rng=run)
            draws = posterior.metric("accuracy", group="g000")
        yield _rank(truth, draws, rng)


def _law_from_the_prior(rng: np.random.Generator, groups: int) -> np.ndarray:
    """Cell probabilities, (G, 4), as `um_hierarchical` has them a priori by default."""
    rates = {}
    for rate in POOLED:
        kappa = 5.0 * np.exp(1.5 * rng.normal())
        mean = rng.beta(PRIOR_OF_MEAN, PRIOR_OF_MEAN)
        shapes = np.maximum([kappa * mean, kappa * (1 - mean)], 1e-300)
        rates[rate] = rng.beta(*shapes, groups)
    return cells_of_rates(**rates)


def calibrated(rng: np.random.Generator, runs: int, **options: Any) -> Counts:
    """Coverage of equal-tailed intervals over truths from the prior."""
    tail = (1 - LEVEL) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tally_interval(0.0, [(tail - u, 1 - tail - u) for u in ranks(rng, runs, **options)])


def _cells() -> Iterator[Cell]:
    def cell(method: str, regime: str, simulate: Any, **more: Any) -> Cell:
        return Cell("um", method, regime, simulate, **{"runs": 4_000, **more})

    metrics = ("accuracy", "equal_opportunity", "demographic_parity")
    for sizes in ((60, 40), (400, 40), (2_000, 20)):
        for metric in metrics:
            yield cell(
                f"um_posterior(…).metric({metric!r})",
                f"{sizes[0]} and {sizes[1]} rows, rates .5 to .75",
                partial(held_out, sizes=sizes, truth=TRUTH, metric=metric),
            )
    for prior in ("uniform", "jeffreys", "perks"):
        for sizes, accuracy in (
            ((400, 40), 0.96),
            ((100, 100), 0.95),
            ((4_000, 40), 0.95),
            ((500, 500), 0.99),
        ):
            fails = prior == "uniform" and sizes != (4_000, 40)
            yield cell(
                f"um_posterior(prior={prior!r}).metric('accuracy')",
                f"accuracy {accuracy} in {sizes[0]} and {sizes[1]} rows",
                partial(
                    held_out,
                    sizes=sizes,
                    truth=BY_ACCURACY[accuracy],
                    metric="accuracy",
                    prior=prior,
                ),
                claim="fails" if fails else "valid",
                remark=(
                    "pulled to .5 by two errors and two hits a group; a note says so"
                    if fails
                    else ""
                ),
            )
        for groups in (4, 8):
            fails = (prior, groups) != ("perks", 4)
            yield cell(
                f"um_posterior(prior={prior!r}).metric('accuracy')",
                f"accuracy 0.95 in {groups} groups of 100 rows",
                partial(
                    held_out,
                    sizes=(100,) * groups,
                    truth=BY_ACCURACY[0.95][:1] * groups,
                    metric="accuracy",
                    prior=prior,
                ),
                claim="fails" if fails else "valid",
                remark="what a prior adds to each group adds up; a note says so" if fails else "",
            )
        yield cell(
            f"um_posterior(prior={prior!r}).metric('accuracy', group=…)",
            "accuracy 0.95 in the group of 40 beside 4,000 rows",
            partial(
                held_out,
                sizes=(4_000, 40),
                truth=BY_ACCURACY[0.95],
                metric="accuracy",
                group=1,
                prior=prior,
            ),
            claim="conservative" if prior == "jeffreys" else "fails",
            remark={
                "uniform": "two errors expected: pulled to .5, error on one side; a note says so",
                "jeffreys": "two errors expected: coverage jumps with the rate",
                "perks": "two errors expected: coverage jumps with the rate; a note says so",
            }[prior],
        )
        yield cell(
            f"um_posterior(prior={prior!r}).metric('equal_opportunity')",
            "tpr .96, favourable labels 5% and 2% of 2,000 and 1,000 rows",
            partial(
                held_out, sizes=(2_000, 1_000), truth=RARE, metric="equal_opportunity", prior=prior
            ),
            claim="conservative",
            remark="one to four misses expected",
        )
    for sizes in ((400, 40), (1_000, 1_000)):
        yield cell(
            "um_posterior(target='predictive').metric('demographic_parity')",
            f"the next test set of {sizes[0]} and {sizes[1]} rows",
            partial(
                held_out, sizes=sizes, truth=TRUTH, metric="demographic_parity", target="predictive"
            ),
        )
    yield cell(
        "um_posterior(…).metric('demographic_parity_max')",
        "eight alike groups of 100 rows",
        partial(held_out, sizes=(100,) * 8, truth=TRUTH[:1] * 8, metric="demographic_parity_max"),
        claim="fails",
        remark="the size of a gap is never 0 among draws; a note says so",
    )
    for metric, words in ((0, "accuracy"), (1, "equal opportunity")):
        for agree in (0.95, 0.7):
            for paired in (True, False):
                yield cell(
                    f"um_compare(paired={paired}).delta",
                    f"{words}, 1,000 rows, two models that agree on {agree:.0%}",
                    partial(of_a_comparison, n=1_000, agree=agree, paired=paired, metric=metric),
                    claim="valid" if paired and metric == 0 else "conservative",
                    remark=(
                        "the size of both gaps is 0, the end of its range"
                        if metric
                        else (
                            ""
                            if paired
                            else "the spread of rows that both predict alike is counted twice"
                        )
                    ),
                    runs=1_000,
                )
    for n, target, options in (
        (400, "algorithm", {}),
        (1_000, "algorithm", {}),
        (400, "parameter", {"correlation": "1/K"}),
        (400, "predictive", {"correlation": "1/K"}),
    ):
        yield cell(
            f"um_cross_validate(target={target!r}).metric('demographic_parity')",
            f"the algorithm fitted anew, {n:,} rows, five folds, a linear rule",
            partial(cross_validated, n=n, folds=5, target=target, **options),
            runs=1_000,
            claim="fails" if target == "parameter" else "conservative",
            remark={
                "parameter": (
                    "about the fitted models: the spread between training sets is left out"
                ),
                "predictive": "about another test set, which happens to be as wide",
                "algorithm": "t with five degrees of freedom, by five half splits",
            }[target],
        )
    for target in ("algorithm", "parameter"):
        yield cell(
            f"um_compare_estimators(target={target!r}), difference in demographic parity",
            "400 rows, five folds, a linear rule from all rows and from a quarter of them",
            partial(of_estimators, n=400, folds=5, target=target),
            runs=400,
            claim="conservative" if target == "algorithm" else "fails",
            remark=(
                "t with five degrees of freedom, spread drawn for each apart"
                if target == "algorithm"
                else "about the fitted models: the spread between training sets is left out"
            ),
        )
    for method, groups, n, runs in (
        ("um_posterior", 2, 30, 4_000),
        ("um_multiclass", 2, 60, 4_000),
        ("um_model", 2, 30, 20),
        ("um_hierarchical", 3, 30, 2_000),
        ("um_hierarchical", 20, 30, 2_000),
        ("um_hierarchical", 200, 30, 400),
    ):
        yield cell(
            f"{method}(…).metric('accuracy')",
            f"truth drawn from the prior, {groups} groups of {n} rows",
            partial(calibrated, method=method, groups=groups, n=n),
            runs=runs,
            version="2" if method == "um_hierarchical" else "1",
        )
    every = tuple(POOLED_MEANS)
    for groups in (5, 20):
        for varying in ((), ("tpr",), every):
            for metric in ("tpr", "equal_opportunity", "accuracy")[: 2 if groups == 5 else 3]:
                yield cell(
                    f"um_hierarchical(…).metric({metric!r})",
                    f"{groups} groups of 5 to 60 rows, "
                    + {
                        0: "alike",
                        1: "true positive rates Beta(12, 6), all else alike",
                        3: "every rate varies, κ 18",
                    }[len(varying)],
                    partial(pooled, groups=groups, varying=varying, metric=metric),
                    runs=2_000,
                    claim=(
                        "valid"
                        if len(varying) == 3 or (varying and metric == "tpr")
                        else "conservative"
                    ),
                    remark=(
                        ""
                        if len(varying) == 3
                        else "a rate that does not vary is pooled as if it might"
                    ),
                    version="2",
                )
    for metric in ("tpr", "equal_opportunity"):
        yield cell(
            f"um_hierarchical(…).metric({metric!r})",
            "20 groups of 5 to 60 rows, true positive rates Beta(4, 2), all else alike",
            partial(pooled, groups=20, varying=("tpr",), metric=metric, kappa=6.0),
            runs=2_000,
            claim="conservative",
            version="2",
        )
    for concentration in ((20.0, 1.5), (1.0, 2.0)):
        yield cell(
            f"um_hierarchical(concentration={concentration}).metric('tpr')",
            "20 groups of 5 to 60 rows, true positive rates Beta(12, 6), all else alike",
            partial(pooled, groups=20, varying=("tpr",), metric="tpr", concentration=concentration),
            runs=2_000,
            claim="fails" if concentration[0] == 20 else "valid",
            remark=(
                "groups are taken to be more alike than they are" if concentration[0] == 20 else ""
            ),
            version="2",
        )
    yield cell(
        "um_hierarchical(sampler='pymc').metric('tpr')",
        "5 groups of 5 to 60 rows, every rate varies, κ 18",
        partial(
            pooled,
            groups=5,
            varying=every,
            metric="tpr",
            sampler="pymc",
            draws=400,
            tune=300,
            chains=2,
        ),
        runs=20,
        version="2",
    )
    for prior in ("uniform", "jeffreys", "perks"):
        for sizes, tpr in (
            ((50, 10_000), 0.9),
            ((50, 10_000), 0.5),
            ((120, 1_800), 0.95),
            ((400, 4_000), 0.9),
        ):
            few = sizes[0] < 400
            yield cell(
                f"um_posterior(prior={prior!r}).metric('equal_opportunity')",
                f"true positive rate {tpr} in {sizes[0] // 2} and {sizes[1] // 2:,} favourable"
                " labels",
                partial(
                    held_out,
                    sizes=sizes,
                    truth=_same_tpr(tpr),
                    metric="equal_opportunity",
                    prior=prior,
                ),
                claim="fails" if few and prior != "uniform" else "conservative",
                remark=(
                    "a small prior and few labels; a note says so"
                    if few and prior != "uniform"
                    else ""
                ),
            )
    for correlation in ("uniform", "relative-uniform"):
        yield cell(
            f"um_cross_validate(target='parameter', correlation={correlation!r})"
            ".metric('demographic_parity')",
            "the algorithm fitted anew, 400 rows, five folds, a linear rule",
            partial(cross_validated, n=400, folds=5, target="parameter", correlation=correlation),
            runs=400,
            claim="fails",
            remark="about the fitted models: the spread between training sets is left out",
        )
    for averaged in (True, False):
        for target in ("parameter", "predictive"):
            yield cell(
                f"um_cross_validate(target={target!r}"
                + ("" if averaged else ", correlation_metric='accuracy'")
                + ").metric('demographic_parity')",
                "the algorithm fitted anew, 400 rows, five folds, a linear rule, relative to"
                " another",
                partial(
                    cross_validated,
                    n=400,
                    folds=5,
                    target=target,
                    reference_estimator=FirstRows(),
                    correlation_metric=None if averaged else "accuracy",
                ),
                runs=400,
                claim="fails",
                remark="about the fitted models: the spread between training sets is left out",
                version="2" if averaged else "1",
            )


CELLS = tuple(_cells())
