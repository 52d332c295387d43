"""HFM as its paper uses it: rules that choose a model by error and fairness, compared on test rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.codes import cross_codes
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.encoding import as_array
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import normal_quantile, two_sided_pvalue
from fairstats.ground.predictions import as_features
from fairstats.ground.registry import CELLS, RATES
from fairstats.ground.results import Comparison, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.approx import approximate
from fairstats.methods.hfm.encoding import make_scene
from fairstats.methods.hfm.result import harmonic
from fairstats.methods.hfm.risk import discriminative_risk, find_attributes, labels_of
from fairstats.methods.hfm.rows import Mask, Rows, as_pandas
from fairstats.methods.hfm.selection import RankingResult, rank_rules, select_model
from fairstats.methods.hfm.set_distance import measure as measure_sets

#: Measures of the paper, and the rate whose largest gap some of them are.
_GAPS = {"DP": "selection_rate", "EO": "tpr", "PQP": "ppv"}
_MEASURES = (*_GAPS, "DR", "HFM", "HFM approx")
#: Differences of folds this near to each other are one number, up to rounding.
_EQUAL = 1e-12


@dataclass(frozen=True, kw_only=True)
class RuleComparison(Comparison):
    """Mean and `sd` over folds of what one rule chose in one case, by a paired t-test against the baseline.

    `outcome`: "win" of the baseline, "loss" or "tie"; `pvalue_corrected`: Nadeau and Bengio's, as folds share rows.
    """

    further: ClassVar[tuple[str, ...]] = ("case", "sd", "outcome", "pvalue_corrected")

    case: str
    sd: float
    outcome: str
    pvalue_corrected: float


@serialisable(eq=False)
class HfmExperiment(Result):
    """Rules that choose models by error and fairness, compared on test rows.

    `measure=` of its methods is the measure of a rule ("DR"); default accuracy or F1 of what was chosen.

    Attributes
    ----------
    rules, cases : tuple of str
        "Accuracy" or "F1" (the error alone), then one per measure; data set and sensitive attribute.
    train, test : tuple of array of float, shape (folds, models, rules)
        Of each case the error, then the measures, on training and test rows.
    ratios : tuple of float
        Test rows by training rows of each case.
    baseline, alpha, confidence_level, seed
        As they were asked for.
    """

    title: ClassVar[str] = "Rules that choose a model by error and fairness, on test rows"
    backend: ClassVar[str] = "scipy"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": "folds share rows; .ranking() has the critical difference",
        "std_error": "folds share rows; .to_frame() has `sd` over folds",
        "verdict": "nothing is judged; .wins() counts what differs significantly",
        "__getitem__": "a rule has a row in every case: .to_frame(), or .ranking()[rule]",
    }

    rules: tuple[str, ...]
    cases: tuple[str, ...]
    train: tuple[Floats, ...]
    test: tuple[Floats, ...]
    ratios: tuple[float, ...]
    baseline: str
    alpha: float
    confidence_level: float
    seed: int | None

    def scores(self, rule: str, measure: str = "", alpha: float | None = None) -> list[Floats]:
        """Value on test rows of what a rule chooses with α, per case one of every fold.

        Parameters
        ----------
        rule : str
            One of `rules`.
        measure : str, optional
            What is measured of the models that it chooses, one of `rules`; default accuracy or F1.
        alpha : float in [0, 1], optional
            Weight of the error when a model is chosen; default that of the experiment.

        Returns
        -------
        list of ndarray of float, shape (folds,)
            One of each case.

        Raises
        ------
        InputError
            For a rule or measure that the experiment does not have, or a weight outside [0, 1].
        """
        checks.check_choice("rule", rule, self.rules)
        self._check_measure(measure)
        if alpha is not None:
            alpha = checks.check_share("alpha", alpha, closed=True, cure="0.05, as in the paper")
        k, wanted = self.rules.index(rule), self.rules.index(measure or self.rules[0])
        if k == 0:
            alpha = 1.0
        elif alpha is None:
            alpha = self.alpha
        found = []
        for train, test in zip(self.train, self.test, strict=True):
            fairness = np.nan_to_num(train[:, :, k], nan=np.inf)
            chosen = [select_model(e, f, alpha=alpha) for e, f in zip(train[:, :, 0], fairness, strict=True)]
            values = test[np.arange(len(test)), chosen, wanted]
            found.append(np.abs(values) if wanted else 1 - values)
        return found

    def _check_measure(self, measure: Any, *, error: bool = True) -> None:
        """Raise unless `measure` is empty or one of the rules; without `error` one that measures fairness."""
        measures = self.rules if error else self.rules[1:]
        checks.check_choice("measure", measure, ("", *measures), cure="leave it out, or name one of the experiment")

    def compare(self, measure: str = "") -> tuple[RuleComparison, ...]:
        """Every rule in every case.

        Parameters
        ----------
        measure : str, optional
            What is compared, one of `rules`; default accuracy or F1.

        Raises
        ------
        InputError
            For a measure that the experiment does not have.
        """
        self._check_measure(measure)
        smaller, name = measure in self.rules[1:], measure or self.rules[0]
        cases, found = list(zip(self.cases, self.scores(self.baseline, measure), self.ratios, strict=True)), []
        for rule in self.rules:
            for (case, base, ratio), own in zip(cases, self.scores(rule, measure), strict=True):
                t, p, corrected = _paired_t(base - own, ratio)
                outcome = "tie" if p >= 1 - self.confidence_level else "loss" if smaller == (t > 0) else "win"
                mean = _mean(own)
                found.append(RuleComparison(
                    metric=name, group=rule, reference=self.baseline, case=case, estimate=mean, statistic=t,
                    sd=math.sqrt(_mean((own - mean) ** 2)), pvalue=p, pvalue_corrected=corrected, n=len(own),
                    outcome="" if rule == self.baseline else outcome, method="paired t-test over folds",
                ))  # fmt: skip
        return tuple(found)

    @property
    def comparisons(self) -> tuple[RuleComparison, ...]:
        """Of accuracy or F1."""
        return self.compare()

    def ranking(self, measure: str = "") -> RankingResult:
        """Average ranks over cases where all are defined, Friedman's test, Nemenyi's critical difference.

        `measure`: as in `compare`; InputError for one that the experiment does not have.
        """
        self._check_measure(measure)
        means = np.array([[_mean(v) for v in self.scores(rule, measure)] for rule in self.rules]).T
        means, larger = means[~np.isnan(means).any(axis=1)], measure not in self.rules[1:]
        level = self.confidence_level
        return rank_rules(means, rules=self.rules, larger_is_better=larger, confidence_level=level)

    def wins(self, measure: str = "") -> pd.DataFrame:
        """Wins, ties, losses of the baseline against each rule; tests that Nadeau and Bengio's confirms.

        `measure`: as in `compare`; InputError for one that the experiment does not have.
        """
        found = {r: dict.fromkeys(("win", "tie", "loss", "confirmed"), 0) for r in self.rules}
        for c in self.compare(measure):
            if c.outcome:
                found[c.group][c.outcome] += 1
                found[c.group]["confirmed"] += c.pvalue_corrected < 1 - self.confidence_level
        return pd.DataFrame(found).T.drop(index=self.baseline)

    def tradeoff(self, alphas: Sequence[float] | None = None, *, measure: str = "") -> pd.DataFrame:
        """α·error + (1 − α)·|fairness| on test rows of what each rule chooses with α (the paper's figure 1c).

        Parameters
        ----------
        alphas : sequence of float in [0, 1], optional
            Weights of the error; default 0, 0.05, …, 1.
        measure : str, optional
            The fairness of all rules; default each one's own, whose sizes do not compare.

        Returns
        -------
        DataFrame
            `alpha`, `rule`, means over cases of `error`, `fairness`, `cost`, and the cost's t interval.

        Raises
        ------
        InputError
            For weights outside [0, 1], or a measure that the experiment does not have.
        """
        self._check_measure(measure, error=False)
        weights = _weights(alphas)
        n, rows = len(self.cases), []
        quantile = normal_quantile((1 + self.confidence_level) / 2, n - 1) / math.sqrt(n)
        for alpha in weights:
            for rule in self.rules[1:]:
                both = (self.scores(rule, m, alpha) for m in ("", measure or rule))
                error, fairness = (np.array([_mean(v) for v in values]) for values in both)
                cost = alpha * (1 - error) + ((1 - alpha) * fairness if alpha < 1 else 0)
                mean, half = cost.mean(), quantile * cost.std(ddof=1)
                rows.append((alpha, rule, 1 - error.mean(), fairness.mean(), mean, mean - half, mean + half))
        return pd.DataFrame(rows, columns=["alpha", "rule", "error", "fairness", "cost", "ci_low", "ci_high"])

    def sentences(self) -> list[str]:
        """The ranking, Friedman's test, and how the baseline fares against each rule."""
        ranking, form = self.ranking(), "{} against {}: {} wins, {} ties, {} losses; {} confirmed."
        counts = [form.format(self.baseline, *row) for row in self.wins().itertuples()]
        return [*ranking.sentences(), f"Friedman's test over {ranking.n} cases: p = {ranking.pvalue:.3g}.", *counts]

    def notes(self) -> list[str]:
        """Settings, and what the tests leave out of account."""
        how = f"{self.alpha:g}·error + {1 - self.alpha:g}·|fairness| on training rows chooses"
        shared = "Folds share training rows, which pvalue_corrected allows for; cases of one data set share rows"
        text = f"{how}; `outcome` is that of {self.baseline}. {shared}, which Friedman's test does not know."
        return [text, *self.sentences()[:2]]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Friedman chart of `ranking()`; `tradeoff()` is drawn by `fairstats.plots.hfm.plot_tradeoff`."""
        return self.ranking().plot(ax)


def _weights(alphas: Any) -> list[float]:
    """Weights of the error, checked; without any asked for 0, 0.05, …, 1."""
    if alphas is None:
        return list(map(float, np.linspace(0, 1, 21)))
    allowed = "numbers from 0 to 1, in one dimension"
    weights = checks.finite_array("alphas", alphas, allowed)
    fine = weights.ndim == 1 and weights.size > 0 and bool(((weights >= 0) & (weights <= 1)).all())
    checks.check_that(fine, "alphas", alphas, allowed, "[0, 0.05, 0.1]")
    return list(map(float, weights))


def _mean(values: Floats) -> float:
    """Mean of the folds in which the value is defined."""
    return math.nan if np.isnan(values).all() else float(np.nanmean(values))


def _paired_t(differences: Floats, ratio: float) -> tuple[float, float, float]:
    """t, its p-value, and that of Nadeau and Bengio, over the folds where both are defined."""
    known = differences[~np.isnan(differences)]
    k, mean = known.size, float(known.mean()) if known.size else 0.0
    if k < 2 or np.ptp(known) <= _EQUAL:
        return (0.0, 1.0, 1.0) if k < 2 or abs(mean) <= _EQUAL else (math.copysign(math.inf, mean), 0.0, 0.0)
    found, corrected = (mean / math.sqrt(known.var(ddof=1) * share) for share in (1 / k, 1 / k + ratio))
    return found, two_sided_pvalue(found, k - 1), two_sided_pvalue(corrected, k - 1)


def hfm_experiment(
    models: Mapping[str, Any],
    data: Mapping[str, tuple[Any, Any, Any]],
    *,
    measures: Sequence[str] = _MEASURES,
    baseline: str | None = None,
    error: str = "accuracy",
    alpha: float = 0.05,
    cv: Any = 5,
    refit: bool = True,
    pos_label: Any = None,
    label_values: Any = None,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> HfmExperiment:
    """Choose among models by α·error + (1 − α)·|fairness| on training rows, and compare on test rows.

    Parameters
    ----------
    models : mapping of name to estimator
        The pool, with fit and predict; or of every data set to its pool.
    data : mapping of name to (X, y, sensitive)
        A data frame of features, labels, and the sensitive column or columns of `X`, which the models see; each is a
        case, two or more in all.
    measures : sequence of str, default ("DP", "EO", "PQP", "DR", "HFM", "HFM approx")
        Two or more, a rule each, beside that of the error alone: largest gaps between groups in selection rate, true
        positive rate, positive predictive value; `discriminative_risk`; HFM, exactly and by ApproxDist.
    baseline : str, optional
        The rule that others are compared with; default the last.
    error : {"accuracy", "f1"}, default "accuracy"
        What the error is 1 minus of.
    alpha : float in [0, 1], default 0.05
        Weight of the error (the paper takes 0.1 with F1).
    cv : int, splitter, or list of (train, test), default 5
        As in scikit-learn. A number makes random folds, even in label and groups.
    refit : bool, default True
        Fit a clone to each training part. False takes fitted models; the training part, unseen by them, only chooses.
    pos_label, label_values : optional
        The favourable label, where they are not 0/1, and the labels that may occur, as in `disparate_impact`.
    confidence_level : float, default 0.95
        Of tests and critical difference.
    rng : None, int or numpy.random.Generator
        Of folds, disturbed attributes, projections.

    Returns
    -------
    HfmExperiment
        Means by rule and case, ``.ranking()``, ``.wins()``, ``.tradeoff()``.

    Raises
    ------
    InputError
        For fewer than two models, measures or cases; labels or groups that cannot be used.

    Notes
    -----
    A gap is undefined where a group has no cases: such a model is chosen last, such a fold left out of means.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), section 4.2, tables 1 and 3, figures 1 and 2.
    .. [2] Nadeau, C. and Bengio, Y. (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame(rng.integers(0, 2, (120, 2)), columns=["sex", "old"]).assign(x=rng.normal(size=120))
    >>> y = (X["x"] + X["sex"] + rng.normal(size=120) > 0).astype(int)
    >>> pool = {"tree": DecisionTreeClassifier(max_depth=3, random_state=1), "bayes": GaussianNB()}
    >>> result = fs.hfm_experiment(pool, {"made": (X, y, ["sex", "old"])}, measures=("DP", "HFM"), rng=1)
    >>> result.cases, [round(rank, 2) for rank in result.ranking().ranks]
    (('made, sex', 'made, old'), [2.75, 1.5, 1.75])
    """
    checks.check_names("measures", measures, _MEASURES)
    checks.check_choice("error", error, ("accuracy", "f1"))
    rules = ({"accuracy": "Accuracy", "f1": "F1"}[error], *measures)
    baseline = rules[-1] if baseline is None else baseline
    checks.check_choice("baseline", baseline, rules)
    checks.check_flag("refit", refit)
    level = checks.check_confidence_level(confidence_level)
    alpha = checks.check_share("alpha", alpha, closed=True, cure="0.05, as in the paper")
    checks.check_that(isinstance(models, Mapping), "models", models, "a mapping of name to estimator")
    checks.check_that(isinstance(data, Mapping), "data", data, "a mapping of name to (X, y, sensitive)")
    generator, seed = checks.as_generator(rng)
    found: list[tuple[str, Floats, Floats, float]] = []
    labels = {"pos_label": pos_label, "label_values": label_values}
    for name, given in data.items():
        checks.check_that(isinstance(given, tuple) and len(given) == 3, "data", given, "(X, y, sensitive)")
        pool = models[name] if isinstance(models.get(name), Mapping) else models
        (train, test), sensitive, ratio = _run(pool, given, rules, cv, refit, labels, generator)
        found += [(f"{name}, {column}", train[k], test[k], ratio) for k, column in enumerate(sensitive)]
    two = len(found) > 1 and len(rules) > 2
    checks.check_that(two, "data, measures", ([case for case, *_ in found], measures), "two or more of each")
    cases, on_train, on_test, ratios = zip(*found, strict=True)
    return HfmExperiment(rules, cases, on_train, on_test, ratios, baseline, alpha, level, seed)


def _run(
    pool: Any, given: Any, rules: tuple[str, ...], cv: Any, refit: bool, named: dict[str, Any], rng: np.random.Generator
) -> tuple[Floats, list[str], float]:
    """Values of one data set, shape (2, attributes, folds, models, rules); its attributes; test by train."""
    from sklearn.base import clone
    from sklearn.model_selection import PredefinedSplit, check_cv

    needs, models = ("fit", "predict") if refit else ("predict",), list(pool.values())
    able = [not isinstance(m, type) and all(callable(getattr(m, a, None)) for a in needs) for m in models]
    checks.check_that(all(able) and len(able) > 1, "models", pool, "two or more estimators with " + ", ".join(needs))
    X, y, columns = given
    checks.check_that(as_pandas(X, "data") is not None, "data", X, "a data frame with the sensitive columns")
    table, labels = as_features(X), as_array(y, "y")
    attributes = find_attributes(table, columns)
    classes, label_codes = np.unique(labels, return_inverse=True)
    crossed = [(attribute.codes, len(attribute.levels)) for attribute in attributes]
    strata = cross_codes((label_codes, classes.size), *crossed)
    try:
        if isinstance(cv, (int, np.integer)):
            cv = checks.check_whole("cv", cv, low=2, cure="cv=5")
            fold = np.empty(table.n_rows, dtype=int)
            fold[np.lexsort((rng.random(fold.size), strata))] = np.arange(fold.size) % cv
            cv = PredefinedSplit(fold)
        splits = list(check_cv(cv).split(np.zeros(strata.size), strata))
        checks.check_that(bool(splits), "cv", cv, "at least one split of the rows", "cv=5")
        found = []
        for split in splits:
            train = table.rows(split[0])
            own = [clone(m).fit(train, labels[split[0]]) if refit else m for m in models]
            for rows in split:
                groups = {a.name: np.array(a.labels, dtype=object)[a.codes[rows]] for a in attributes}
                part = _Part(table.rows(rows), labels[rows], named, groups, train, {})
                found.append([part.values(m.predict, rules, rng) for m in own])
    except (IndexError, TypeError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        allowed = "splits of the rows, models that can be fitted to them, one label per row"
        raise InputError("models, data, cv", got=str(problem), allowed=allowed) from problem
    values = np.array(found).reshape(len(splits), 2, len(models), len(attributes), len(rules))
    ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
    return np.transpose(values, (1, 3, 0, 2, 4)), [a.name for a in attributes], ratio


@dataclass(frozen=True, eq=False)
class _Part:
    """Training or test rows of a split.

    `named`: pos_label and label_values; `reference`: the training rows; `known`: distances D, once found.
    """

    X: Any
    y: NDArray[Any]
    named: dict[str, Any]
    groups: dict[str, NDArray[Any]]
    reference: Any
    known: dict[tuple[str, str], float]

    def values(self, predict: Any, rules: tuple[str, ...], rng: np.random.Generator) -> Floats:
        """Error and measures of one model, shape (attributes, rules)."""
        y_pred = labels_of(predict, self.X, self.y.size)
        found = np.empty((len(self.groups), len(rules)))
        for k, group in enumerate(self.groups.values()):
            counts = ConfusionCounts.from_arrays(self.y, y_pred, sensitive_features=group, **self.named)
            checks.check_that(len(counts.totals) > 1, "cv", "a part with one group", "two groups in every part")
            cells = dict(zip(CELLS, counts.totals.T, strict=True))
            whole = {name: cell.sum() for name, cell in cells.items()}
            found[k, 0] = 1 - RATES[rules[0].lower()].evaluate(whole)
            for rule in _GAPS.keys() & set(rules):
                found[k, rules.index(rule)] = np.ptp(RATES[_GAPS[rule]].evaluate(cells))
        if "DR" in rules:
            risk = discriminative_risk(predict, self.X, sensitive_features=list(self.groups), rng=rng)
            found[:, rules.index("DR")] = risk.estimate
        find: dict[str, Any] = {"HFM": partial(measure_sets, statistic="max")}
        find["HFM approx"] = partial(approximate, m1=25, m2=None, rng=rng, seed=None)
        asked = [rule for rule in find if rule in rules]
        if asked:
            options: dict[str, Any] = {"sensitive_features": self.groups, "reference_data": self.reference}
            scene = make_scene(self.X, self.y, y_pred, scale="minmax", intersections=False, **options)
        for rule, (k, name) in product(asked, enumerate(self.groups)):
            masks = [side.rows for side in scene.sides if side.attribute == name]
            if (rule, name) not in self.known:
                self.known[rule, name] = _farthest(find[rule], scene.with_true, masks)
            d_f = _farthest(find[rule], scene.with_pred, masks)
            found[k, rules.index(rule)] = harmonic(self.known[rule, name], d_f)
        return found


def _farthest(find: Any, rows: Floats, masks: list[Mask]) -> float:
    """Largest distance of the rows with one value from all others."""
    return max(float(find(Rows(rows[mask]), Rows(rows[~mask])).value) for mask in masks)
