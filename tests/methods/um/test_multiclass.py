"""Several classes: the paper's formulas by loops, its misprint, two classes against
um_posterior.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning
from fairstats.methods.um.joint import paired_prior
from fairstats.methods.um.metrics import CLASS_METRICS, as_objectives


@pytest.fixture(scope="module")
def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    y = rng.choice(["x", "y", "z"], 500, p=[0.5, 0.3, 0.2])
    predicted = np.where(rng.random(500) < 0.7, y, rng.choice(["x", "y", "z"], 500))
    return y, predicted, rng.choice(["a", "b", "c"], 500)


def by_loops(y: np.ndarray, p: np.ndarray, g: np.ndarray) -> dict[str, float]:
    """Equations 4 to 16 as they are printed, cell by cell."""
    groups = np.unique(g)
    classes = np.unique(y)
    cell = {
        (s, j): (
            ((y == j) & (p == j) & (g == s)).sum(),
            ((y != j) & (p == j) & (g == s)).sum(),
            ((y == j) & (p != j) & (g == s)).sum(),
            ((y != j) & (p != j) & (g == s)).sum(),
        )
        for s in groups
        for j in classes
    }
    ar = {k: (tp + fp) / (tp + fp + fn + tn) for k, (tp, fp, fn, tn) in cell.items()}
    tpr = {k: tp / (tp + fn) for k, (tp, fp, fn, tn) in cell.items()}

    def widest(values: Any) -> float:
        found = list(values)
        return max(abs(u - v) for u in found for v in found)

    micro_ar = [
        sum(sum(cell[s, j][:2]) for j in classes) / sum(sum(cell[s, j]) for j in classes)
        for s in groups
    ]
    micro_tpr = [
        sum(cell[s, j][0] for j in classes) / sum(cell[s, j][0] + cell[s, j][2] for j in classes)
        for s in groups
    ]
    within = {(s, j): (y[g == s] == j).mean() for s in groups for j in classes}
    return {
        "accuracy": (y == p).mean(),
        "demographic_parity_micro": widest(micro_ar),
        "equal_opportunity_micro": widest(micro_tpr),
        "demographic_parity_macro": sum(
            (y == j).mean() * widest(ar[s, j] for s in groups) for j in classes
        ),
        "equal_opportunity_macro": sum(
            (y == j).mean() * widest(tpr[s, j] for s in groups) for j in classes
        ),
        "demographic_parity_macro_micro": widest(
            sum(within[s, j] * ar[s, j] for j in classes) for s in groups
        ),
        "equal_opportunity_macro_micro": widest(
            sum(within[s, j] * tpr[s, j] for j in classes) for s in groups
        ),
    }


def test_formulas_are_the_printed_ones(columns: Any) -> None:
    frame = fs.um_multiclass(*columns[:2], sensitive_features=columns[2], rng=1).to_frame()
    expected = by_loops(*columns)
    every = frame[frame["group"].isin(["all", "largest gap"])]
    assert dict(zip(every["metric"], every["observed"], strict=True)) == pytest.approx(
        expected, abs=1e-12
    )
    assert set(expected) == {"accuracy", *CLASS_METRICS}
    own = frame[~frame["group"].isin(["all", "largest gap"])].set_index("group")["observed"]
    y, p, g = columns
    assert own.to_dict() == pytest.approx({k: (y == p)[g == k].mean() for k in "abc"}, abs=1e-12)


def test_misprint_5_micro_demographic_parity_is_always_zero(columns: Any) -> None:
    result = fs.um_multiclass(*columns[:2], sensitive_features=columns[2], rng=1, draws=1_000)
    assert np.abs(result.metric("demographic_parity_micro")).max() < 1e-12
    assert "Prefer _macro" in " ".join(result.summary().split())


def test_how_far_the_prior_moves_three_classes() -> None:
    """What the docstring says of 60 rows, 48 right.

    (48 + 2α)/(60 + 4α), a beta law, in closed form.
    """
    y = np.repeat([0, 1, 2], 20)
    p = np.where(np.arange(60) % 5 == 0, (y + 1) % 3, y)
    y = np.tile(y, 2)
    p = np.tile(p, 2)
    group = np.repeat(["a", "b"], 60)
    for prior, moved in (("uniform", -0.01875), ("jeffreys", -0.00968), ("perks", -0.00492)):
        found = fs.um_multiclass(y, p, sensitive_features=group, prior=prior, draws=40_000, rng=1)
        own = found.metric("accuracy", by_group=True)[:, 0]
        assert own.mean() - 0.8 == pytest.approx(moved, abs=0.001)  # Monte Carlo error .0003
        if prior == "uniform":
            assert own.std() == pytest.approx(0.0513, abs=0.001)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_accuracy_has_the_prior_of_two_classes(n_classes: int) -> None:
    """Witness: Beta(2α + hits, 2α + errors), the law of sums of Dirichlet cells, by
    Kolmogorov–Smirnov.
    """
    y = np.tile(np.arange(n_classes), 100)[:100]
    p = np.where(np.arange(100) < 96, y, (y + 1) % n_classes)
    group = np.repeat(["a", "b"], 100)
    for name, alpha in (("uniform", 1.0), ("jeffreys", 0.5), ("perks", 0.25)):
        found = fs.um_multiclass(
            np.tile(y, 2), np.tile(p, 2), sensitive_features=group, prior=name, rng=1
        )
        law = stats.beta(2 * alpha + 96, 2 * alpha + 4)
        assert stats.kstest(found.metric("accuracy", by_group=True)[:, 0], law.cdf).pvalue > 1e-3
        notes = " ".join(found.notes())
        assert f"Beta({2 * alpha:g}, {2 * alpha:g})" in notes
        assert ("Fewer than 10 errors (or as few hits) in a, b" in notes) == (name != "jeffreys")


@pytest.mark.slow
def test_coverage_with_few_errors_is_that_of_the_note() -> None:
    """Three classes, 4 groups of 100, accuracy .95: the docstring's .73 and .94, the four standard
    errors of 400 samples (.09, .05); 4α/J² a cell covered .51."""
    rng = np.random.default_rng(2)
    held = {"uniform": 0, "perks": 0}
    y = np.tile([0, 1, 2, 0], 100)
    group = np.repeat(np.arange(4), 100)
    for run in range(400):
        p = np.where(rng.random(400) < 0.95, y, (y + 1) % 3)
        for name in held:
            found = fs.um_multiclass(y, p, sensitive_features=group, prior=name, draws=500, rng=run)
            draws = np.sort(found.metric("accuracy"))
            width = draws[475:] - draws[:-475]
            low = int(width.argmin())
            held[name] += draws[low] <= 0.95 <= draws[low + 475]
    assert held["uniform"] / 400 == pytest.approx(0.73, abs=0.09)
    assert held["perks"] / 400 == pytest.approx(0.94, abs=0.05)


def test_a_class_without_rows_in_a_group_is_said() -> None:
    y = np.array(["x", "y", "z"] * 20 + ["x", "y"] * 20)
    group = np.repeat(["a", "b"], [60, 40])
    with pytest.warns(InsufficientEvidenceWarning, match="'b' has no rows of class 'z'"):
        found = fs.um_multiclass(y, y, sensitive_features=group, rng=1, draws=500)
    assert "'b' has no rows of class 'z'" in found.summary().replace("\n", " ")
    other = fs.um_multiclass(
        y[:60], y[:60], sensitive_features=np.repeat(["a", "b"], 30), rng=1, draws=500
    )
    assert not any("has no rows" in note for note in other.notes())


def test_two_classes_are_the_two_class_posterior() -> None:
    """Witness: the largest gap of accuracy of um_posterior.

    Kolmogorov–Smirnov of independent draws.
    """
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    g = rng.integers(0, 2, 400)
    p = np.where(rng.random(400) < 0.8, y, 1 - y)
    several = fs.um_multiclass(y, p, sensitive_features=g, rng=1)
    two = fs.um_posterior(y, p, sensitive_features=g, rng=2)
    for name, other in (("equal_opportunity_micro", "accuracy_max"), ("accuracy", "accuracy")):
        assert stats.ks_2samp(several.metric(name), two.metric(other)).pvalue > 1e-3


@pytest.mark.parametrize("target", ["parameter", "predictive"])
def test_round_trip_and_targets(columns: Any, target: Any) -> None:
    result = fs.um_multiclass(*columns[:2], sensitive_features=columns[2], rng=1, target=target)
    back = fs.results.UmPosterior.from_dict(json.loads(json.dumps(result.to_dict())))
    name = "equal_opportunity_macro"
    assert np.array_equal(back.metric(name), result.metric(name), equal_nan=True)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"y_true": ["x"] * 20}, "y_true, y_pred"),
        ({"y_true": ["x"] * 500, "y_pred": ["x"] * 500}, "y_true"),
        ({"sensitive_features": ["a"] * 500}, "sensitive_features"),
        ({"prior": 0}, "prior"),
        ({"prior": "1"}, "prior"),
        ({"draws": 1}, "draws"),
        ({"target": "mean"}, "target"),
    ],
)
def test_refuses(columns: Any, change: dict[str, Any], argument: str) -> None:
    given = {"y_true": columns[0], "y_pred": columns[1], "sensitive_features": columns[2], **change}
    with pytest.raises(InputError) as problem:
        fs.um_multiclass(given.pop("y_true"), given.pop("y_pred"), **given)
    assert problem.value.argument == argument


def test_a_class_that_a_group_hardly_has() -> None:
    """Under "predictive" many drawn test sets lack the class in that group."""
    y = np.array(["x", "y"] * 30 + ["x"] * 29 + ["y"])
    result = fs.um_multiclass(
        y, y, sensitive_features=["a"] * 60 + ["b"] * 30, target="predictive", rng=1
    )
    with pytest.warns(InsufficientEvidenceWarning, match="equal_opportunity_macro: .* undefined"):
        draws = result.metric("equal_opportunity_macro")
    assert 0.05 < np.isnan(draws).mean() < 0.6


def test_missing_values_and_unknown_metrics(columns: Any) -> None:
    y = columns[0].astype(object)
    y[3] = None
    with pytest.raises(InputError, match="missing values"):
        fs.um_multiclass(y, columns[1], sensitive_features=columns[2])
    result = fs.um_multiclass(*columns[:2], sensitive_features=columns[2])
    with pytest.raises(InputError, match="equal_opportunity_macro"):
        result.metric("predictive_parity")
    plain = result.metric("equal_opportunity")
    macro = result.metric("equal_opportunity_macro")
    assert np.array_equal(plain, macro)


def test_counts_of_two_classes_are_those_of_their_rows() -> None:
    """Witness: the same rows, and their tally."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 300)
    p = rng.integers(0, 2, 300)
    g = np.repeat(["a", "b"], [200, 100])
    frame = pd.DataFrame({"y": y, "p": p, "g": g})
    rows = fs.um_multiclass(y, p, sensitive_features=g, rng=1)
    counted = fs.um_multiclass(
        counts=fs.tally(frame, y_true="y", y_pred="p", sensitive_features="g"), rng=1
    )
    assert np.array_equal(rows.counts.totals, counted.counts.totals)
    assert np.array_equal(
        rows.metric("equal_opportunity_macro"), counted.metric("equal_opportunity_macro")
    )
    with pytest.raises(InputError, match="both counts and rows"):
        fs.um_multiclass(y, counts=counted)


def test_two_models_of_several_classes_are_compared_by_row(columns: Any) -> None:
    """Witness: the joint Dirichlet by hand.

    Each model keeps its own posterior, and equals never differ.
    """
    y, p, g = columns
    other = np.where(np.random.default_rng(6).random(y.size) < 0.3, y, p)
    first, second = (fs.um_multiclass(y, hat, sensitive_features=g, rng=1) for hat in (p, other))
    metrics = ("accuracy", "demographic_parity", "equal_opportunity_micro")
    paired, apart = (
        fs.um_compare(first, second, metrics=metrics, paired=w, rng=2) for w in ("auto", False)
    )
    assert paired.paired
    assert paired.joint.cells is not None
    assert paired.joint.cells.shape == (3, 27)
    gap = first.metric("accuracy").mean() - second.metric("accuracy").mean()
    assert paired.delta_mean[0] == pytest.approx(gap, abs=5 * apart.delta_sd[0] / np.sqrt(10_000))
    assert paired.delta_sd[0] < 0.8 * apart.delta_sd[0]
    draws = paired.joint._draw_objectives(as_objectives(metrics, first.groups, True))
    for k, posterior in enumerate((first, second)):
        accuracy = draws[:, k, 0]
        own = posterior.metric("accuracy")
        assert accuracy.mean() == pytest.approx(own.mean(), abs=5 * own.std() * np.sqrt(2 / 10_000))
        assert accuracy.std() == pytest.approx(own.std(), rel=5 / np.sqrt(10_000))
    equal = fs.um_compare(first, first, metrics=metrics, rng=2)
    assert np.abs(equal.delta_mean).max() < 5 * equal.delta_sd.max() / np.sqrt(10_000)
    back = fs.results.UmComparison.from_dict(json.loads(json.dumps(paired.to_dict())))
    assert np.array_equal(back.delta, paired.delta)
    prior = paired_prior(first.prior, 2, 3).reshape(3, 3, 3, 3)
    assert np.allclose(prior.sum(axis=3).reshape(3, 9), first.prior)
    assert np.allclose(prior.sum(axis=2).reshape(3, 9), first.prior)


def test_what_does_not_go_together(columns: Any) -> None:
    y, p, g = columns
    several = fs.um_multiclass(y, p, sensitive_features=g, rng=1)
    two = fs.um_posterior(y == "x", p == "x", sensitive_features=g, rng=1)
    with pytest.raises(InputError, match="classes"):
        fs.um_compare(several, two)
    with pytest.raises(InputError, match="macro"):
        fs.um_compare(several, several, metrics="tpr")
    assert "Differences are group" not in " ".join(several.notes())
    many = np.arange(600) % 12
    crowd = fs.um_multiclass(many, many, sensitive_features=np.arange(600) // 300, rng=1, draws=200)
    ranked = fs.um_compare({"a": crowd, "b": crowd}, rng=1, metrics="accuracy")
    assert "1,000 cells" in ranked.joint.reason


def test_region_plot_and_arviz_of_several_classes(columns: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    result = fs.um_multiclass(*columns[:2], sensitive_features=columns[2], rng=1, draws=2_000)
    region = result.hdr(["accuracy", "equal_opportunity"], backend="scipy")
    centre = [result.metric(m).mean() for m in ("accuracy", "equal_opportunity")]
    assert region.contains(np.array([centre]))[0]
    assert result.plot().get_xlabel() == "accuracy"
    pytest.importorskip("arviz")
    assert result.to_arviz()["posterior"]["pi"].shape[-2:] == (3, 9)


@pytest.mark.filterwarnings("ignore:the relative correlation")
def test_estimators_of_several_classes() -> None:
    """Witness: the out-of-fold predictions counted by hand, and `um_multiclass` of them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 2))
    group = rng.choice(["a", "b"], 240)
    y = np.array(["low", "mid", "high"])[
        np.digitize(X[:, 0] + 0.5 * rng.normal(size=240), [-0.5, 0.5])
    ]
    models = {
        "logit": LogisticRegression(),
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
    }
    found = fs.um_compare_estimators(
        models,
        X,
        y,
        sensitive_features=group,
        cv=4,
        n_half_splits=2,
        rng=1,
        progress=False,
        draws=2_000,
        reference_estimator=DecisionTreeClassifier(max_depth=3, random_state=0),
    )
    logit = found.posteriors["logit"]
    assert logit.classes == tuple(dict.fromkeys(y))
    assert logit.cross_validation is not None
    assert logit.cross_validation.fold_cells.shape == (4, 2, 9)
    rows = logit._rows
    assert rows is not None
    labels = np.array(logit.classes)
    assert np.array_equal(labels[rows.y_true], y)
    again = fs.um_multiclass(y, labels[rows.y_pred], sensitive_features=group, rng=1)
    assert np.array_equal(logit.cross_validation.fold_cells.sum(axis=0), again.counts.totals)
    for rank in found.rankings:
        assert rank.metrics == ("accuracy", "equal_opportunity")
        assert rank.better[0, 1] > rank.better[1, 0]
    with pytest.raises(InputError, match="3 classes"):
        fs.um_compare_estimators(
            models, X, y, sensitive_features=group, target="algorithm", cv=4, rng=1, progress=False
        )


@pytest.mark.r
def test_the_cross_check_says_that_it_has_no_twin(columns: Any) -> None:
    several = fs.um_multiclass(*columns[:2], sensitive_features=columns[2], rng=1, draws=500)
    compared = fs.um_compare(several, several, rng=1)
    ranked = fs.um_compare({"a": several, "b": several}, rng=1)
    for result in (several, compared, ranked):
        checks = fs.crosscheck(result).checks
        assert checks
        assert all("several classes" in check.note for check in checks)
