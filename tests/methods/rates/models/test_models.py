"""Several models on the same people. Witnesses: R's pROC for AUC, scipy's paired t for Brier
scores, fs.madd and fs.abroca for the values of one model, calls with two for several, simulation
for directions and coverage."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, t, ttest_rel

import fairstats as fs
from fairstats.ground.errors import DataWarning, InsufficientEvidenceWarning
from fairstats.ground.registry import find_metric
from fairstats.ground.rsession import call
from fairstats.numerics.paired.distance import madd as paired_madd

CELLS = ("111", "110", "101", "100", "011", "010", "001", "000")
METRICS = (
    "disparate_impact",
    "equal_opportunity_difference",
    "average_odds_difference",
    "f1_ratio",
)


@pytest.fixture(scope="module")
def people() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    n = 700
    group = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])
    y = rng.integers(0, 2, n)
    base = rng.standard_normal(n) + y
    score = {
        name: 1 / (1 + np.exp(-(base + 0.5 * rng.standard_normal(n) + shift * (group == "b"))))
        for name, shift in (("logit", 0.0), ("forest", 0.6), ("tree", -0.3))
    }
    pred = {name: (s > 0.6).astype(int) for name, s in score.items()}
    return {"y": y, "group": group, "score": score, "pred": pred}


def compare(p: dict[str, Any], **options: Any) -> fs.results.ModelComparison:
    given: dict[str, Any] = {
        "sensitive_features": p["group"],
        "reference": "a",
        "rng": 1,
        **options,
    }
    return fs.compare_models(p["y"], p["pred"], score=p["score"], **given)


def test_a_mapping_is_every_pair_of_two(people: dict[str, Any]) -> None:
    """The change of each pair is that of the call with two columns.

    Adjusted over all of the metric.
    """
    result = compare(people, metrics=METRICS)
    assert result.models == ("logit", "forest", "tree")
    assert len(result.comparisons) == len(METRICS) * 3 * 2
    for c in result.comparisons:
        one = fs.compare_models(
            people["y"],
            people["pred"][c.baseline],
            people["pred"][c.model],
            sensitive_features=people["group"],
            reference="a",
            metrics=c.metric.removesuffix("_change"),
        )[c.group]
        assert (c.estimate, c.pvalue) == (one.estimate, one.pvalue)
        assert c.confidence_interval == one.confidence_interval
        wide = c.simultaneous
        assert wide.low <= c.confidence_interval.low <= c.confidence_interval.high <= wide.high
        assert c.pvalue_adjusted >= c.pvalue
    against = compare(people, metrics="disparate_impact", baseline="forest")
    assert {(c.model, c.baseline) for c in against.comparisons} == {
        ("logit", "forest"),
        ("tree", "forest"),
    }


def test_a_seed_is_told_where_something_is_drawn(people: dict[str, Any]) -> None:
    """Without one the same call gives the same result, settings and all."""
    rows = {"sensitive_features": people["group"], "score": people["score"], "n_resamples": 100}
    one, other = (fs.compare_models(people["y"], people["pred"], **rows) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert one.settings.seed is None
    drawn = fs.compare_models(people["y"], people["pred"], metrics=["auc", "madd"], **rows)
    again = fs.compare_models(
        people["y"], people["pred"], metrics=["auc", "madd"], rng=drawn.settings.seed, **rows
    )
    assert again.to_dict() == drawn.to_dict()


def test_values_of_one_model_are_its_own_metric(people: dict[str, Any]) -> None:
    result = compare(people, metrics=["disparate_impact", "equalized_odds_difference", "accuracy"])
    for name, pred in people["pred"].items():
        alone = fs.disparate_impact(pred, sensitive_features=people["group"], reference="a")
        own = [v for v in result.values if v.model == name and v.metric == "disparate_impact"]
        assert [(v.estimate, v.verdict) for v in own] == [
            (c.estimate, c.verdict) for c in alone.comparisons
        ]
        right = [v.estimate for v in result.values if v.model == name and v.metric == "accuracy"]
        wanted = [(pred == people["y"])[people["group"] == g].mean() for g in "abc"]
        assert right == pytest.approx(wanted)
    frame = result.values_frame()
    assert set(frame["metric"]) == {
        "disparate_impact",
        "tpr_difference",
        "fpr_difference",
        "accuracy",
    }


@pytest.mark.r("pROC")
def test_auc_against_proc(people: dict[str, Any]) -> None:
    """R's pROC 1.18 live: AUCs, DeLong's test of two correlated curves and its interval, to
    1e-8.
    """
    call("base::source", str(Path(__file__).parents[3] / "r" / "proc_auc.R"))
    for two in (("logit", "forest"), ("logit", "tree")):
        scores = {name: np.round(people["score"][name], 2) for name in two}  # with ties
        result = fs.compare_models(
            people["y"], score=scores, metrics="auc", sensitive_features=people["group"]
        )
        for g in ("a", "b", "c", "all rows"):
            rows = np.ones(people["y"].size, bool) if g == "all rows" else people["group"] == g
            found = call(
                "proc_change",
                people["y"][rows].astype(float),
                *(scores[name][rows] for name in two),
            )
            change = result[g]
            value = next(v for v in result.values if (v.group, v.model) == (g, two[0]))
            ours = (
                change.before,
                change.after,
                change.statistic,
                change.pvalue,
                *change.confidence_interval,
                *value.confidence_interval,
            )
            assert ours == pytest.approx(list(found), abs=1e-8), (two, g)


def test_brier_scores_by_paired_t(people: dict[str, Any]) -> None:
    result = compare(people, metrics="brier", baseline="logit")
    loss = {name: (s - people["y"]) ** 2 for name, s in people["score"].items()}
    for c in result.comparisons:
        rows = (
            np.ones(people["y"].size, bool) if c.group == "all rows" else people["group"] == c.group
        )
        wanted = ttest_rel(loss[c.model][rows], loss[c.baseline][rows])
        assert (c.statistic, c.pvalue) == pytest.approx((wanted.statistic, wanted.pvalue), rel=1e-9)
        ends = wanted.confidence_interval(0.95)
        assert tuple(c.confidence_interval) == pytest.approx((ends.low, ends.high), rel=1e-9)


def test_limits_of_a_brier_score_are_shares() -> None:
    """Losses 1, 1, 1, ¼, twice in each group: .8125, whose limit by Student's t would be 1.10."""
    y = np.tile([0, 1], 8)
    wrong = np.where(np.arange(16) % 4 == 3, 0.5, 1.0 - y)
    found = fs.compare_models(
        y,
        score={"wrong": wrong, "right": 1.0 - wrong},
        metrics="brier",
        sensitive_features=np.repeat([0, 1], 8),
    ).values_frame()
    own = found[(found["model"] == "wrong") & (found["group"] != "all rows")]
    assert own["estimate"].tolist() == [0.8125] * 2
    low = 0.8125 - t(7).ppf(0.975) * np.sqrt(0.75**2 * 3 / 16 * 8 / 7 / 8)
    assert own["ci_low"].tolist() == pytest.approx([low] * 2, rel=1e-12)
    assert own["ci_high"].tolist() == [1.0] * 2


def test_accuracy_of_weighted_rows_is_an_estimate_alone(people: dict[str, Any]) -> None:
    """Wilson's interval is of counts: sums of weights are none, whatever their size."""
    weight = np.linspace(1, 2, 700)
    y = people["y"]
    group = people["group"]
    two = {name: people["pred"][name] for name in ("logit", "forest")}
    options: dict[str, Any] = {"sensitive_features": group, "metrics": "accuracy"}
    found = fs.compare_models(y, two, sample_weight=weight, **options).values_frame()
    for v in found.itertuples():
        rows = group == v.group
        assert v.estimate == pytest.approx(
            np.average((two[v.model] == y)[rows], weights=weight[rows])
        )
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)
    assert (
        fs.compare_models(y, two, **options)
        .values_frame()[["ci_low", "ci_high"]]
        .notna()
        .all(axis=None)
    )


@pytest.mark.parametrize(("rows", "verdict"), [(12, "undecided"), (400, "satisfied")])
def test_scores_without_an_error_are_no_certainty(rows: int, verdict: str) -> None:
    """No draw moves their curves.

    Witness: (1 − d/2)²ᵏ = .025, k rows of a label; fs.abroca's verdict.
    """
    y = np.tile([0, 1], 2 * rows)
    group = np.repeat(["a", "b"], 2 * rows)
    perfect = np.where(y == 1, 0.9, 0.1)
    other = np.clip(perfect + np.random.default_rng(1).normal(0, 0.3, y.size), 0, 1)
    found = fs.compare_models(
        y,
        score={"perfect": perfect, "other": other},
        metrics="abroca",
        sensitive_features=group,
        rng=1,
    ).values_frame()
    own = found[found["model"] == "perfect"].iloc[0]
    assert (own["estimate"], own["ci_low"]) == (0, 0)
    assert own["ci_high"] == pytest.approx(2 - 2 * 0.025 ** (1 / (2 * rows)))
    with pytest.warns(fs.FairstatsWarning, match="without an error"):
        alone: Any = fs.abroca(y, perfect, sensitive_features=group, rng=1)
    assert own["verdict"] == alone.verdict == verdict


def test_madd_and_abroca_are_those_of_one_model(people: dict[str, Any]) -> None:
    """Estimates as fs.madd on the same blind grid, and fs.abroca; intervals hold the estimate."""
    result = compare(people, metrics=["madd", "abroca"], n_resamples=199)
    for v in result.values:
        rows = np.isin(people["group"], [v.group, v.reference])
        score = people["score"][v.model][rows]
        group = people["group"][rows]
        y = people["y"][rows]
        if v.metric == "madd":
            alone: Any = fs.madd(score, sensitive_features=group, n_resamples=99, rng=1)
            assert v.estimate == pytest.approx(alone.comparisons[0].estimate, abs=1e-12)
        else:
            alone = fs.abroca(y, score, sensitive_features=group, n_resamples=100, rng=1)
            assert v.estimate == pytest.approx(alone.estimate, abs=1e-12)
        assert v.estimate in v.confidence_interval
    for c in result.comparisons:
        assert c.estimate == pytest.approx(c.after - c.before)
        assert c.estimate in c.confidence_interval
        assert (c.pvalue <= 0.05) == (0 not in c.confidence_interval)
    again = compare(people, metrics=["madd", "abroca"], n_resamples=199)
    assert again.to_frame().equals(result.to_frame())


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [(0.1, "violated"), (0.2, "undecided"), (0.35, "satisfied"), (0.99, "satisfied")],
)
def test_madd_is_judged_against_twice_the_margin(margin: float, verdict: str) -> None:
    """Shares .5 and .7 of the high score are a MADD of .4: as a gap of .2 in what scores decide."""
    high = np.concatenate([np.arange(400) < 200, np.arange(400) < 280])
    score = {"one": np.where(high, 0.9, 0.1), "two": np.where(high, 0.8, 0.2)}
    group = np.repeat(["a", "b"], 400)
    found = fs.compare_models(
        score=score, metrics="madd", sensitive_features=group, margin=margin, n_resamples=199, rng=1
    ).values
    assert [v.estimate for v in found] == pytest.approx([0.4, 0.4], abs=1e-12)
    assert [v.verdict for v in found] == [verdict] * 2


def test_scores_of_one_model_compare_nothing(people: dict[str, Any]) -> None:
    """Two models' predictions beside one model's scores: quantities of scores are not there."""
    two = {name: people["pred"][name] for name in ("logit", "forest")}
    given: dict[str, Any] = {
        "score": {"logit": people["score"]["logit"]},
        "sensitive_features": people["group"],
    }
    every = fs.compare_models(people["y"], two, metrics="all", **given)
    assert not {"auc", "brier", "madd", "abroca"} & set(
        every.to_frame()["metric"].str.removesuffix("_change")
    )
    for name in ("auc", "madd"):
        with pytest.raises(
            fs.InputError, match="`score`: got those of 'logit' alone; allowed: scores of every"
        ):
            fs.compare_models(people["y"], two, metrics=name, **given)


def test_pairing_shortens_the_interval_of_madd() -> None:
    """Nearly the same scores: the change is known far better than two intervals that overlap
    allow.
    """
    rng = np.random.default_rng(2)
    z = rng.standard_normal((2, 800))
    z[0] += 0.6
    scores = tuple(norm.cdf(np.stack([x, x - 0.3 * (k == 0)])) for k, x in enumerate(z))
    found: Any = paired_madd(scores, [(1, 0)], 0.2, 499, rng)  # type: ignore[arg-type]
    low, high = found.changes[1, 0].shift.limits(1.96)
    (a_low, a_high), (b_low, b_high) = (p.limits(1.96) for p in found.level.parts)
    assert high - low < 0.8 * np.hypot(a_high - a_low, b_high - b_low)
    assert low < found.changes[1, 0].shift.estimate < high < 0


def test_the_same_scores_change_nothing_and_have_an_interval(people: dict[str, Any]) -> None:
    same = {**people, "score": {"one": people["score"]["tree"], "two": people["score"]["tree"]}}
    same["pred"] = {"one": people["pred"]["tree"], "two": people["pred"]["tree"]}
    result = compare(same, metrics="all", n_resamples=100)
    for c in result.comparisons:
        metric = find_metric(c.metric.removesuffix("_change"))
        ratio = metric is not None and metric.contrast == "ratio"
        low, high = c.confidence_interval
        assert c.estimate == (1.0 if ratio else 0.0)
        assert low < c.estimate < high < 1.5
        assert c.pvalue == 1.0
        assert c.verdict == "undecided"


def test_weights_and_clusters_without_a_changed_decision(people: dict[str, Any]) -> None:
    """Tango's limits with as many rows as clusters.

    Copying rows within clusters changes nothing.
    """
    n = people["y"].size
    options: dict[str, Any] = {"reference": "a", "metrics": "demographic_parity_difference"}
    pred = people["pred"]["logit"]
    group = people["group"]
    unit = np.arange(n) // 4
    once = fs.compare_models(None, pred, pred, sensitive_features=group, cluster=unit, **options)
    twice = [np.repeat(column, 2) for column in (pred, group, unit)]
    copied = fs.compare_models(
        None, twice[0], twice[0], sensitive_features=twice[1], cluster=twice[2], **options
    )
    for c, other in zip(once.comparisons, copied.comparisons, strict=True):
        assert c.estimate == 0
        assert tuple(c.confidence_interval) == pytest.approx(
            tuple(other.confidence_interval), rel=1e-9
        )
        assert -0.2 < c.confidence_interval.low < 0 < c.confidence_interval.high < 0.2
    with pytest.warns(fs.FairstatsWarning, match="5 effective clusters"):
        few = fs.compare_models(
            None,
            pred,
            pred,
            sensitive_features=np.repeat(["a", "b"], n // 2),
            cluster=np.repeat(np.arange(10), n // 10),
            **options,
        )
    assert few.verdict == "insufficient evidence"


def test_the_highest_reference_counts_what_could_have_been_chosen(people: dict[str, Any]) -> None:
    result = compare(
        people, metrics="demographic_parity_difference", baseline="logit", reference="highest"
    )
    named = compare(
        people,
        metrics="demographic_parity_difference",
        baseline="logit",
        reference=result.reference,
    )
    rates = {g: people["pred"]["logit"][people["group"] == g].mean() for g in "abc"}
    assert result.reference == max(rates, key=rates.__getitem__)
    for c, other in zip(result.comparisons, named.comparisons, strict=True):
        assert c.confidence_interval.low < other.confidence_interval.low
        assert c.pvalue_adjusted == min(6 * other.pvalue, 1)  # two models, three pairs of groups


def test_a_model_is_judged_against_the_highest_as_it_is_by_itself(people: dict[str, Any]) -> None:
    """Over all pairs: interval and verdict of the public function, never those of a named
    reference.
    """
    chosen = {"reference": "highest", "baseline": "logit", "n_resamples": 199}
    result = compare(people, metrics=["disparate_impact", "madd", "abroca"], **chosen)
    assert any("hold over all pairs of groups" in note for note in result.notes())
    own = [v for v in result.values if v.model == "logit"]
    alone = fs.disparate_impact(
        y_pred=people["pred"]["logit"], sensitive_features=people["group"], reference="highest"
    )
    assert alone.reference == result.reference
    for c, v in zip(alone.comparisons, own, strict=False):
        assert (v.group, v.verdict, v.pvalue_verdict_adjusted) == (
            c.group,
            c.verdict,
            c.pvalue_verdict_adjusted,
        )
        assert tuple(v.confidence_interval) == tuple(c.confidence_interval)
    named = compare(people, metrics=result.metrics, **{**chosen, "reference": result.reference})
    for v, other in zip(result.values, named.values, strict=True):
        wide = v.confidence_interval
        narrow = other.confidence_interval
        assert (wide.low, -wide.high) <= (narrow.low, -narrow.high)
        assert wide.high - wide.low > narrow.high - narrow.low
        if v.metric != "disparate_impact":
            assert v.pvalue_verdict_adjusted == pytest.approx(min(3 * other.pvalue_verdict, 1))


def test_a_change_is_said_over_its_family_or_alone(people: dict[str, Any]) -> None:
    """Verdicts rest on limits of `simultaneous`, those of ``adjust="none"`` on the interval
    itself.
    """
    metrics = ["accuracy", "demographic_parity_difference"]
    family, alone = (compare(people, metrics=metrics, adjust=how) for how in ("holm", "none"))
    accuracy = [c for c in family.comparisons if c.metric == "accuracy_change"]
    assert {c.verdict for c in accuracy} > {"undecided"}
    for c in accuracy:
        low, high = c.simultaneous
        assert c.verdict == ("better" if low > 0 else "worse" if high < 0 else "undecided")
        assert tuple(c.distance_interval) == (low, high)
    for c in (c for c in alone.comparisons if c.metric == "accuracy_change"):
        assert tuple(c.distance_interval) == tuple(c.confidence_interval)
    for c, other in zip(family.comparisons, alone.comparisons, strict=True):
        one = other.distance_interval
        more = c.distance_interval
        assert more.low < one.low <= one.high < more.high


EIGHT = {"a": (60, 12, 9, 30, 14, 8, 11, 70), "b": (40, 5, 20, 35, 10, 3, 16, 60)}


def test_changes_are_told_whole(people: dict[str, Any]) -> None:
    """Of two models by before and after, of several by their names; single groups for accuracy."""
    counts = fs.results.PairedCounts.from_counts(EIGHT)
    two = fs.compare_models(counts=counts, reference="a", metrics=["disparate_impact", "accuracy"])
    several = compare(people, metrics="demographic_parity_difference", baseline="logit")
    whys = set()
    for result, names in ((two, ("before", "after")), (several, None)):
        for c, said in zip(result.comparisons, result.sentences(), strict=True):
            low, high = c.confidence_interval
            who = f"{c.group} against {c.reference}" if c.reference else c.group
            first, then = names or (f"with {c.baseline}", f"with {c.model}")
            named = "" if names else f", {c.model} against {c.baseline}"
            null = int(c.metric == "disparate_impact_change")
            why = ""
            if c.verdict == "undecided" and null not in c.confidence_interval:
                why = (
                    f" The interval leaves out {null}, so that there is a change; but the values"
                    " may lie on different sides of parity, and which of them is closer to it is"
                    " open."
                )
                if null in c.simultaneous:
                    why = (
                        f" Alone its interval leaves out {null}; over all changes of the metric it"
                        " does not."
                    )
            whys.add(why[:7])
            assert (
                said == f"{who}{named}: {c.metric.removesuffix('_change')} {c.before:.3f} {first},"
                f" {c.after:.3f} {then}; change {c.estimate:.3f} (95% interval {low:.3f} to"
                f" {high:.3f}): {c.verdict}.{why}"
            )
    assert {"", " The in"} <= whys


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (
            {"metrics": "disparate_impact"},
            [
                (
                    "The estimate is after / before; the interval uses that all models saw the same"
                    " rows."
                ),
                (
                    "p-values adjusted by holm; what is said to change is shown over all changes of"
                    " a metric at once."
                ),
            ],
        ),
        (
            {"metrics": ["demographic_parity_difference", "disparate_impact"], "adjust": "none"},
            [
                (
                    "The estimate is after − before (of ratios after / before); the interval uses"
                    " that all models saw the same rows."
                ),
                "p-values not adjusted; what is said to change is shown each by itself.",
            ],
        ),
        (
            {
                "metrics": "demographic_parity_difference",
                "reference": "highest",
                "baseline": "forest",
            },
            [
                (
                    "The estimate is after − before; the interval uses that all models saw the same"
                    " rows."
                ),
                (
                    "Reference: {highest}, the highest selection rate under forest, chosen by the"
                    " data: intervals, p-values and verdicts hold over all pairs of groups."
                ),
                (
                    "p-values adjusted by bonferroni over all pairs; what is said to change is"
                    " shown over all changes of a metric at once."
                ),
            ],
        ),
    ],
    ids=["ratio", "both", "highest"],
)
def test_notes_on_changes(
    people: dict[str, Any], options: dict[str, Any], wanted: list[str]
) -> None:
    """By hand, in this order; the highest selection rate counted by group."""
    rates = {g: people["pred"]["forest"][people["group"] == g].mean() for g in "abc"}
    highest = max(rates, key=rates.__getitem__)
    assert compare(people, **options).notes() == [note.format(highest=highest) for note in wanted]


def test_a_largest_gap_moves_within_what_its_gaps_allow(people: dict[str, Any]) -> None:
    gap = compare(people, metrics="demographic_parity_max", baseline="logit")
    every = compare(
        people, metrics="demographic_parity_difference", baseline="logit", comparisons="all"
    )
    for c in gap.comparisons:
        own = [d for d in every.comparisons if d.model == c.model]
        assert c.before == pytest.approx(max(abs(d.before) for d in own))
        assert c.after == pytest.approx(max(abs(d.after) for d in own))
        low, high = c.confidence_interval
        assert low <= c.estimate <= high


def test_two_groups_have_one_gap_and_its_limits() -> None:
    cells = {"a": (60, 12, 9, 30, 14, 8, 11, 70), "b": (40, 5, 20, 35, 10, 3, 16, 60)}
    counts = fs.results.PairedCounts.from_counts(cells)
    gap = fs.compare_models(counts=counts, metrics="demographic_parity_max").comparisons[0]
    one = fs.compare_models(counts=counts, metrics="demographic_parity_difference").comparisons[0]
    assert tuple(gap.confidence_interval) == pytest.approx(tuple(one.distance_interval), rel=1e-9)


def test_it_survives_json_and_draws(people: dict[str, Any]) -> None:
    result = compare(
        people,
        metrics=["equalized_odds_difference", "disparate_impact", "auc", "madd"],
        n_resamples=100,
    )
    again = fs.results.ModelComparison.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.to_frame().equals(result.to_frame())
    assert again.values_frame().equals(result.values_frame())
    assert len(result.sentences()) == len(result.comparisons)
    assert "forest against logit" in result.sentences()[0]
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    forest = result.plot(metric="disparate_impact")
    labels = [t.get_text() for t in forest.get_yticklabels()]
    assert labels[:3] == ["b / a: logit", "b / a: forest", "b / a: tree"]
    table = result.plot(kind="table")
    assert [t.get_text() for t in table.get_yticklabels()] == ["logit", "forest", "tree"]
    assert all(t.get_text()[-1] in "✗?✓–" for t in table.texts)
    with pytest.raises(fs.InputError, match="`metric`"):
        result.plot(metric="brier")
    plt.close("all")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"metrics": "auc", "score": None}, "`score`: got none"),
        ({"metrics": "accuracy", "y_true": None}, "`y_true`: got none"),
        ({"metrics": "madd", "sample_weight": np.linspace(1, 2, 700)}, "weights or clusters"),
        ({"metrics": "nothing"}, "`metrics`: got 'nothing'"),
        ({"metrics": "disparate_impact_labels"}, "`metrics`"),
        ({"metrics": []}, "`metrics`"),
        ({"baseline": "other"}, "`baseline`"),
        ({"y_pred": {"one": np.zeros(700)}, "score": None}, "one model"),
        ({"score": np.zeros(700)}, "`score`: got ndarray"),
        ({"pos_label": {"z": 1}}, "`pos_label`"),
    ],
)
def test_what_cannot_be_used(people: dict[str, Any], options: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {
        "y_true": people["y"],
        "y_pred": people["pred"],
        "score": people["score"],
    }
    given |= {"sensitive_features": people["group"], **options}
    with pytest.raises(fs.InputError, match=text):
        fs.compare_models(**given)


def test_scores_under_weights_are_left_out_aloud(people: dict[str, Any]) -> None:
    options: dict[str, Any] = {
        "sensitive_features": people["group"],
        "score": people["score"],
        "reference": "a",
    }
    with pytest.warns(
        fs.FairstatsWarning, match="auc, brier, madd, abroca are left out.*Without sample_weight="
    ):
        found = fs.compare_models(
            people["y"],
            people["pred"],
            metrics="all",
            sample_weight=np.linspace(1, 2, 700),
            **options,
        )
    assert not {row.metric for row in found.comparisons} & {"auc_change", "madd_change"}
    with pytest.raises(fs.InputError, match="or sample_weight= and cluster="):
        fs.compare_models(
            people["y"], metrics="auc", sample_weight=np.linspace(1, 2, 700), **options
        )


def test_a_row_that_one_model_lacks_counts_for_none(people: dict[str, Any]) -> None:
    pred = {name: p.astype(object) for name, p in people["pred"].items()}
    pred["tree"][3] = None
    options: dict[str, Any] = {"reference": "a", "metrics": "disparate_impact"}
    with pytest.raises(fs.InputError, match="missing"):
        fs.compare_models(people["y"], pred, sensitive_features=people["group"], **options)
    with pytest.warns(fs.FairstatsWarning, match="1 of 700 rows left out"):
        found = fs.compare_models(
            people["y"], pred, sensitive_features=people["group"], missing="drop", **options
        )
    keep = np.arange(700) != 3
    wanted = fs.compare_models(
        people["y"][keep],
        {n: p[keep] for n, p in people["pred"].items()},
        sensitive_features=people["group"][keep],
        **options,
    )
    assert found.to_frame().equals(wanted.to_frame())


#: Sizes, rates before and after (group, reference), share of decisions that change either way.
DIRECTIONS = (
    ((150, 1_500), (0.3, 0.5), (0.3, 0.5), 0.05),
    ((150, 1_500), (0.3, 0.5), (0.33, 0.5), 0.01),
    ((500, 500), (0.4, 0.5), (0.5, 0.4), 0.005),
)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "before", "after", "changed"), DIRECTIONS)
def test_the_direction_is_wrong_in_at_most_five_percent(
    sizes: Any, before: Any, after: Any, changed: float
) -> None:
    """300 samples: at most .05 + 3 binomial standard errors; coverage at least .935 less three."""
    rng = np.random.default_rng(17)
    runs = 300
    shares = []
    for a, b in zip(before, after, strict=True):
        both = min(a, b) - changed
        shares.append(np.array([both, a - both, b - both, 1 + both - a - b]))
    moved = abs(np.log(after[0] / after[1])) - abs(np.log(before[0] / before[1]))
    truth = (after[0] / after[1]) / (before[0] / before[1])
    wrong = hits = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            cells = {
                name: tuple(int(v) for v in (*rng.multinomial(n, p), 0, 0, 0, 0))
                for name, n, p in zip("ab", sizes, shares, strict=True)
            }
            counts = fs.results.PairedCounts.from_counts(cells)
            c = fs.compare_models(counts=counts, reference="b").comparisons[0]
            hits += truth in c.confidence_interval
            wrong += {"closer to parity": moved > -1e-9, "further from parity": moved < 1e-9}.get(
                c.verdict, False
            )
    assert wrong / runs <= 0.088
    assert hits / runs >= 0.892


def test_a_group_without_rows_is_insufficient_evidence() -> None:
    """A division by zero once: no rows, no rate, and every value of the change is possible."""
    y = [1, 0] * 10
    a = [1, 1, 0, 0] * 5
    b = [1, 0, 0, 1] * 5
    for metric in ("disparate_impact", "demographic_parity_difference"):
        with pytest.warns(fs.FairstatsWarning, match="change: z: no rows|models: z: no rows"):
            found = fs.compare_models(
                y, a, b, sensitive_features=["g", "h"] * 10, groups=["g", "h", "z"], metrics=metric
            )
        row = found.to_frame().query("group == 'z'").iloc[0]
        assert np.isnan(row["estimate"])
        assert row["ci_high"] == np.inf
        assert row["verdict"] == "insufficient evidence"


@pytest.mark.parametrize("cluster", [None, np.repeat(np.arange(30), 10)], ids=["rows", "clusters"])
def test_the_group_is_named_that_has_a_rate_of_0(cluster: Any) -> None:
    group = np.repeat(["a", "b"], [200, 100])
    pred = np.tile([1, 0], 150)
    none = np.where(group == "b", 0, pred)
    rows = {
        "sensitive_features": group,
        "reference": "a",
        "metrics": "disparate_impact",
        "cluster": cluster,
    }
    kind = DataWarning if cluster is None else InsufficientEvidenceWarning
    with pytest.warns(kind, match="b: a rate of 0"):
        result = fs.compare_models(None, none, pred, **rows)
    (c,), (said,) = result.comparisons, result.sentences()
    assert c.note.startswith("b: a rate of 0: ")
    assert "inf" not in said.replace("infinite", "")
    judged = c.verdict != "insufficient evidence"
    assert judged == (cluster is None)
    assert ("no finite change (95% interval " in said) == judged


@pytest.mark.parametrize(("changed", "symmetric"), [(19, False), (22, True)])
def test_weighted_changes_of_fewer_than_twenty_units_are_by_score(
    changed: int, symmetric: bool
) -> None:
    """Linearised intervals of a difference are symmetric; those by score (19 changes) are not."""
    g = np.repeat(["a", "b"], 400)
    first = np.random.default_rng(1).integers(0, 2, 800)
    second = first.copy()
    for group, rows in (("a", changed), ("b", 30)):
        second[np.flatnonzero((g == group) & (first == 0))[:rows]] = 1
    found = fs.compare_models(
        None,
        first,
        second,
        sensitive_features=g,
        sample_weight=np.tile([0.9, 1.1], 400),
        metrics="demographic_parity_difference",
    )
    (change,) = found.comparisons
    low, high = change.confidence_interval
    assert ((low + high) / 2 == pytest.approx(change.estimate, abs=1e-9)) == symmetric


@pytest.mark.parametrize(("changed", "same"), [(4, False), (7, True)])
def test_few_changed_units_are_worth_what_their_group_is(
    changed: int, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variance of fewer than five changed units is not asked how many rows they are worth."""
    g = np.repeat(["a", "b"], 400)
    first = np.random.default_rng(1).integers(0, 2, 800)
    weight = np.tile([0.5, 1.5], 400)
    second = first.copy()
    for group in "ab":
        # half light, half heavy ones, so that they count as four fifths
        for w, rows in ((0.5, (changed + 1) // 2), (1.5, (changed + 1) // 2)):
            second[np.flatnonzero((g == group) & (first == 0) & (weight == w))[:rows]] = 1
    given = {
        "sensitive_features": g,
        "sample_weight": weight,
        "metrics": "demographic_parity_difference",
    }
    (change,) = fs.compare_models(None, first, second, **given).comparisons
    monkeypatch.setattr("fairstats.numerics.paired.rate.FEW_CHANGED", 0.0)
    (other,) = fs.compare_models(None, first, second, **given).comparisons
    assert (list(change.confidence_interval) == list(other.confidence_interval)) == same


def test_a_group_whose_weights_are_0_has_rows() -> None:
    group = np.repeat(["a", "b"], 50)
    pred = np.tile([1, 0], 50)
    weight = np.repeat([1.0, 0.0], 50)
    rows = {"sensitive_features": group, "reference": "a", "sample_weight": weight}
    with pytest.warns(InsufficientEvidenceWarning, match="b: all weights of rows are 0"):
        fs.compare_models(None, pred, 1 - pred, metrics="disparate_impact", **rows)
    with pytest.warns(
        InsufficientEvidenceWarning, match="b: all weights of rows are 0, so no selection rate"
    ):
        fs.disparate_impact(pred, **rows)
    with pytest.warns(
        InsufficientEvidenceWarning, match="b: all weights of rows are 0, so no score dist"
    ):
        fs.madd(np.linspace(0, 1, 100), comparisons="reference", n_resamples=99, rng=1, **rows)


def test_one_effective_cluster_is_one() -> None:
    group = np.repeat(["a", "b"], 50)
    pred = np.tile([1, 0], 50)
    rows = {"sensitive_features": group, "reference": "a", "cluster": group}
    with pytest.warns(InsufficientEvidenceWarning, match="b: 1 effective cluster, too few"):
        fs.compare_models(None, pred, 1 - pred, metrics="disparate_impact", **rows)
    with pytest.warns(InsufficientEvidenceWarning, match="b: 1 effective cluster, too few"):
        fs.disparate_impact(pred, **rows)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.InsufficientEvidenceWarning")
@pytest.mark.parametrize("metric", ["madd", "abroca"])
def test_a_distance_without_an_answer_names_the_group_that_is_too_small(metric: str) -> None:
    """Six rows beside 200: the reference has enough."""
    rng = np.random.default_rng(1)
    y = np.arange(206) % 2
    group = np.repeat(["large", "small"], [200, 6])
    score = {"one": rng.random(206), "two": rng.random(206)}
    found = fs.compare_models(
        y, score=score, metrics=metric, sensitive_features=group, reference="large", rng=1
    )
    (change,) = found.comparisons
    assert change.note.startswith("small: fewer than 10 rows")


@pytest.mark.parametrize("neighbours", [0, 1])
def test_limits_do_not_jump_where_scores_agree_nearly_everywhere(neighbours: int) -> None:
    """D18: the AUC of a score with itself, and with one of 113 scores moved.

    Once ±.0995 beside ±.0008. The change is exactly that of the pairs that the score has passed,
    0 or 1 of those of both labels; the limits are those of scores that are alike.
    """
    rng = np.random.default_rng(6)
    y = (rng.random(113) < 0.5).astype(int)
    score = rng.permutation(np.linspace(0.1, 0.9, 113))
    group = np.repeat(["a", "b"], [60, 53])
    moved = score.copy()
    # the first score of label 1 whose next higher one has label 0
    order = np.argsort(score)
    place = next(i for i in range(112) if y[order[i]] == 1 and y[order[i + 1]] == 0)
    step = 0.8 / 112
    moved[order[place]] += (neighbours + 0.5) * step
    options: dict[str, Any] = {"sensitive_features": group, "metrics": "auc"}
    same = fs.compare_models(y, score={"A": score, "B": score.copy()}, **options)
    other = fs.compare_models(y, score={"A": score, "B": moved}, **options)
    for alike, change in zip(same.comparisons, other.comparisons, strict=True):
        assert alike.estimate == 0
        width = change.confidence_interval.high - change.confidence_interval.low
        width_alike = alike.confidence_interval.high - alike.confidence_interval.low
        assert width == pytest.approx(width_alike, rel=0.25)
        assert change.confidence_interval.low < change.estimate < change.confidence_interval.high
    of_all = other.comparisons[-1]
    pairs = int(y.sum()) * int((1 - y).sum())
    assert of_all.estimate == pytest.approx(neighbours / pairs, abs=1e-12)
