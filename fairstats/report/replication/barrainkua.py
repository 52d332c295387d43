"""Barrainkua et al. (2024): the posterior, effective counts, and what follows on Adult and German."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
from scipy.integrate import quad

from fairstats.datasets import load_adult, load_german_credit
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.lazy import pd
from fairstats.methods.um.folds import strategy_factors
from fairstats.methods.um.posterior import um_multiclass, um_posterior
from fairstats.report.replication.items import Outcome, read_items

Outcomes = Mapping[str, Outcome]
_SEED = 34
_DRAWS = 100_000
_BATCHES = 50


def _mean_of_batches(values: np.ndarray) -> Outcome:
    """Mean over batches of draws with its 95% t interval, 49 degrees of freedom."""
    half = 2.0096 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    mean = float(np.mean(values))
    return Outcome(mean, mean - half, mean + half)


def _remark_21() -> Outcomes:
    """Correlation of the squared deviations of TPR and FPR of one group of 24 people.

    Independent metrics have none; step (ii) of the paper draws counts, so that one person more
    among the positives is one fewer among the negatives.
    """
    values = {}
    counts = ConfusionCounts.from_counts({"a": (7, 3, 5, 9)})
    for target in ("parameter", "predictive"):
        posterior = um_posterior(counts=counts, draws=_DRAWS, target=target, rng=_SEED)
        cells = np.asarray(posterior.draws)[:, 0, :].astype(float)
        tp, fp, fn, tn = cells.T
        with np.errstate(invalid="ignore"):
            rates = np.column_stack([tp / (tp + fn), fp / (fp + tn)])
        rates = rates[np.isfinite(rates).all(axis=1)]
        squares = (rates - rates.mean(axis=0)) ** 2
        batches = np.array_split(squares, _BATCHES)
        correlations = np.array([np.corrcoef(batch.T)[0, 1] for batch in batches])
        values[f"correlation of squared deviations, {target}"] = _mean_of_batches(correlations)
    return values


def _equation_1() -> Outcomes:
    """Mean accuracy of the draws against (2α + TP + TN)/(4α + n), α = 1."""
    counts = ConfusionCounts.from_counts({"a": (31, 12, 17, 40)})
    posterior = um_posterior(counts=counts, draws=_DRAWS, rng=_SEED)
    cells = np.asarray(posterior.draws)[:, 0, :].astype(float)
    accuracy = (cells[:, 0] + cells[:, 3]) / cells.sum(axis=1)
    batches = [batch.mean() for batch in np.array_split(accuracy, _BATCHES)]
    mean_table = _mean_of_batches(np.array(batches))
    exact = (2 + 31 + 40) / (4 + 100)
    return {
        "mean accuracy of the draws less the closed form": Outcome(
            mean_table.value - exact, mean_table.low - exact, mean_table.high - exact
        )
    }


def _proposition_23() -> Outcomes:
    """1/(1 + (K−1)ρ) at ρ = 1/K, and its average over [0, 1/K] by quadrature."""
    ones = np.ones((1, 1))
    point, _ = strategy_factors("1/K", 10, ones)
    average, _ = strategy_factors("uniform", 10, ones)
    integral = 10 * quad(lambda rho: 1 / (1 + 9 * rho), 0, 0.1)[0]
    return {
        "factor at 1/K less 1/(1 + (K−1)/K)": Outcome(float(np.ravel(point)[0] - 1 / 1.9)),
        "factor over [0, 1/K] less its integral": Outcome(float(np.ravel(average)[0] - integral)),
    }


def _equation_3() -> Outcomes:
    """ρ¹ of a method with four times the reference's variance, less ρ⁰ = 1/K."""

    def relative(ratio: float) -> float:
        return ((ratio - 1) + ratio * 9 * 0.1) / 9 - 0.1

    return {
        "r = Var[A⁰]/Var[A¹], as printed: ρ¹ − ρ⁰": Outcome(relative(1 / 4)),
        "r = Var[A¹]/Var[A⁰]: ρ¹ − ρ⁰": Outcome(relative(4.0)),
    }


def _equations_5_6() -> Outcomes:
    """Micro averages of two groups, one of which gets the first of three classes more often."""
    generator = np.random.default_rng(_SEED)
    group = np.repeat(["a", "b"], 300)
    truth = generator.integers(0, 3, 600)
    shifted = np.where(group == "a", truth, np.where(generator.random(600) < 0.5, 0, truth))
    posterior = um_multiclass(truth, shifted, sensitive_features=group, draws=500, rng=1)
    names = ("demographic_parity_micro", "equal_opportunity_micro", "demographic_parity_macro")
    draws = {name: np.asarray(posterior.metric(name)) for name in names}
    return {
        "largest |DP_micro| of the draws": Outcome(float(np.abs(draws[names[0]]).max())),
        "least |DP_macro| of the draws": Outcome(float(np.abs(draws[names[2]]).min())),
    }


# ------------------------------------------------------------------------------- section 15


def _rates_by_group(
    y: np.ndarray, predicted: np.ndarray, minority: np.ndarray
) -> dict[str, np.ndarray]:
    """TP, FN, FP, TN of the majority and of the minority."""
    rates = {}
    for name, rows in (("majority", ~minority), ("minority", minority)):
        cells = np.bincount(2 * y[rows] + predicted[rows], minlength=4)
        rates[name] = cells[[3, 2, 1, 0]]
    return rates


def _sd_of_beta(successes: float, failures: float) -> float:
    """Standard deviation of Beta(successes + 1, failures + 1): prior Dirichlet (1, 1, 1, 1)."""
    a = successes + 1
    b = failures + 1
    return math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))


def _width_ratio(counts: dict[str, np.ndarray]) -> Outcome:
    """Minority over majority: product of the posterior's deviations of TPR and FPR."""
    areas = {}
    for name, (tp, fn, fp, tn) in counts.items():
        areas[name] = _sd_of_beta(tp, fn) * _sd_of_beta(fp, tn)
    return Outcome(areas["minority"] / areas["majority"])


@cache
def _adult_predictions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcome, prediction and sex of the second half of Adult's rows, logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = load_adult().frame.dropna()
    y = frame["income"].eq(">50K").to_numpy().astype(int)
    female = frame["sex"].eq("Female").to_numpy()
    columns = frame.drop(columns=[c for c in ("income", "split", "fnlwgt") if c in frame])
    x = pd.get_dummies(columns, drop_first=True).to_numpy(dtype=float)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=_SEED)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    predicted = model.fit(x[train], y[train]).predict(x[test])
    return y[test], np.asarray(predicted), female[test]


def _figure_151() -> Outcomes:
    """German credit, five-fold predictions of a logistic regression; the young are the minority."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = load_german_credit().frame
    y = frame["credit"].eq("good").to_numpy().astype(int)
    x = pd.get_dummies(frame.drop(columns=["credit"]), drop_first=True).to_numpy(dtype=float)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    predicted = cross_val_predict(model, x, y, cv=5)
    young = frame["age"].le(25).to_numpy()
    return {
        "area, minority over majority": _width_ratio(_rates_by_group(y, predicted, young)),
        "share of the minority, %": Outcome(100 * float(young.mean())),
    }


def _figure_152() -> Outcomes:
    y, predicted, female = _adult_predictions()
    return {
        "area, minority over majority": _width_ratio(_rates_by_group(y, predicted, female)),
        "share of the minority, %": Outcome(100 * float(female.mean())),
    }


def _figure_153() -> Outcomes:
    """A thousand rows of Adult's test half, drawn up to its size: widths, and who is covered."""
    y, predicted, _ = _adult_predictions()
    right = (y == predicted).astype(int)
    n = len(right)
    truth = float(right.mean())
    generator = np.random.default_rng(_SEED)
    width = _sd_of_beta(float(right.sum()), float(n - right.sum()))
    ratios = []
    covered = []
    for _ in range(400):
        small = generator.choice(right, 1_000, replace=False)
        large = generator.choice(small, n, replace=True)
        hits = float(large.sum())
        deviation = _sd_of_beta(hits, n - hits)
        ratios.append(deviation / width)
        covered.append(abs(hits / n - truth) <= 1.96 * deviation)
    share = float(np.mean(covered))
    half = 1.96 * math.sqrt(share * (1 - share) / len(covered))
    return {
        "width of the upsampled set over the whole test half": Outcome(float(np.mean(ratios))),
        "upsampled 95% intervals that contain the test half's accuracy": Outcome(
            share, share - half, share + half
        ),
    }


def _tables_agree() -> Outcomes:
    """Cells of table 1 against the same cells of table 12.1, both as printed."""
    items = {item.name: item for item in read_items("barrainkua")}
    first = {number.name: float(number.printed) for number in items["table-1"].numbers}
    second = {number.name: float(number.printed) for number in items["table-12.1"].numbers}
    methods = dict.fromkeys(name.split(", ")[0] for name in first)
    tables_agree = {}
    for method in methods:
        tables_agree[method] = Outcome(
            max(abs(first[name] - second[name]) for name in first if name.startswith(f"{method}, "))
        )
    return tables_agree


COMPUTATIONS = {
    "barrainkua.remark-2.1": _remark_21,
    "barrainkua.equation-1": _equation_1,
    "barrainkua.proposition-2.3": _proposition_23,
    "barrainkua.equation-3": _equation_3,
    "barrainkua.equations-5-6": _equations_5_6,
    "barrainkua.tables-1-and-12.1": _tables_agree,
    "barrainkua.figure-15.1": _figure_151,
    "barrainkua.figure-15.2": _figure_152,
    "barrainkua.figure-15.3": _figure_153,
}
