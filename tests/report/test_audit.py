"""What an audit computes from which columns, for which groups, in which families."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.ground.registry import METRICS
from fairstats.report.audit import audit
from fairstats.report.report import AuditReport

#: Rows of the rates where predictions and outcomes are there.
RATES = {
    name
    for metric in METRICS.values()
    if metric.audit == "yes" and set(metric.needs) <= {"predictions", "labels"}
    for name in metric.row_names
} | {"disparate_impact_amplification"}
POSTERIORS = {
    "accuracy",
    "demographic_parity",
    "equal_opportunity",
    "predictive_equality",
    "predictive_parity",
}


def metrics(report: AuditReport) -> set[str]:
    return set(report.to_frame()["metric"])


def statement(report: AuditReport, title: str) -> str:
    return {s.title: s.text for s in report.statements}[title]


# ---------------------------------------------------------------- which methods run


def test_predictions_only(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features="region")
    assert metrics(report) == {
        "disparate_impact",
        "demographic_parity_difference",
        "demographic_parity_max",
    }


def test_outcomes_only(frame: pd.DataFrame) -> None:
    report = audit(frame, y_true="repaid", sensitive_features="region", pos_label="yes")
    assert metrics(report) == {"disparate_impact_labels", "demographic_parity_difference_labels"}
    share = frame["repaid"].eq("yes").groupby(frame["region"]).mean()
    row = (
        report.to_frame().query("metric == 'disparate_impact_labels' and group == 'south'").iloc[0]
    )
    assert row["estimate"] == pytest.approx(share["south"] / share["north"], rel=1e-12)


def test_predictions_and_outcomes(audit_all: Any, frame: pd.DataFrame) -> None:
    assert metrics(audit_all(frame)) == RATES | POSTERIORS


def test_score_adds_abroca_and_madd(audit_all: Any, frame: pd.DataFrame) -> None:
    found = metrics(audit_all(frame, score="score"))
    of_scores = {"abroca", "madd", "madd_max"}
    assert found == RATES | POSTERIORS | of_scores


def test_score_without_outcomes_is_said(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", score="score", sensitive_features="region")
    assert "abroca" not in metrics(report)
    assert any("ABROCA needs the outcomes" in note for note in report.notes)


def test_values_are_those_of_the_functions(audit_all: Any, frame: pd.DataFrame) -> None:
    table = audit_all(frame, reference="north").to_frame().set_index(["metric", "group"])
    columns: dict[str, Any] = {
        "sensitive_features": frame["region"],
        "reference": "north",
        "pos_label": {"y_true": "yes", "y_pred": 1},
    }
    y_true = frame["repaid"]
    y_pred = frame["granted"]
    for result in (
        fs.conditional_accuracy(y_true, y_pred, label=0, **columns),
        fs.predictive_parity_difference(y_true, y_pred, **columns),
        fs.equalized_odds_difference(y_true, y_pred, agg="max", **columns),
    ):
        for row in result.rows():
            mine = table.loc[(row["metric"], row["group"])]
            for key in ("estimate", "ci_low", "ci_high", "pvalue"):
                assert mine[key] == pytest.approx(row[key], rel=1e-12)


@pytest.mark.parametrize(
    ("method", "ratio", "difference"),
    [
        ("score", "score", "score"),
        ("koopman", "koopman", "mee"),
        ("delta", "delta", "delta"),
        ("log", "log", "score"),
    ],
)
def test_method_goes_to_ratios_and_differences(
    frame: pd.DataFrame, method: Any, ratio: str, difference: str
) -> None:
    table = audit(frame, y_pred="granted", sensitive_features="region", method=method).to_frame()
    used = table.groupby("metric")["method"].first()
    assert (used["disparate_impact"], used["demographic_parity_difference"]) == (ratio, difference)


def test_bootstrap_runs_where_it_can(audit_all: Any, frame: pd.DataFrame) -> None:
    used = audit_all(frame, method="bootstrap").to_frame().groupby("metric")["method"].first()
    assert "bootstrap" in used["disparate_impact"]
    assert "bootstrap" not in used["average_odds_difference"]


def test_same_seed_same_numbers(audit_all: Any, frame: pd.DataFrame) -> None:
    first, second = (audit_all(frame, score="score", method="bootstrap", rng=5) for _ in range(2))
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
    assert first.settings.seed == 5


def test_seed_is_reported_when_none_was_given(audit_all: Any, frame: pd.DataFrame) -> None:
    report = audit_all(frame, score="score", rng=None)
    again = audit_all(frame, score="score", rng=report.settings.seed)
    pd.testing.assert_frame_equal(report.to_frame(), again.to_frame())


# ---------------------------------------------------------------- groups


def test_each_attribute_and_their_intersection(report: AuditReport) -> None:
    sets = list(dict.fromkeys(report.to_frame()["sensitive_features"]))
    assert sets == ["region", "sex", "region & sex"]
    assert [table.attributes for table in report.tables] == [
        ("region",),
        ("sex",),
        ("region", "sex"),
    ]
    crossed = report.to_frame().query(
        "sensitive_features == 'region & sex' and metric == 'disparate_impact'"
    )
    assert set(crossed["reference"]) == {"north & m"}
    assert len(crossed) == 5


def test_intersections_can_be_left_out(frame: pd.DataFrame) -> None:
    report = audit(
        frame, y_pred="granted", sensitive_features=["region", "sex"], intersections=False
    )
    assert set(report.to_frame()["sensitive_features"]) == {"region", "sex"}


def test_reference_of_an_intersection_by_name(frame: pd.DataFrame) -> None:
    report = audit(
        frame,
        y_pred="granted",
        sensitive_features=["region", "sex"],
        reference={"sex": "f", "region & sex": "west & f"},
    )
    table = (
        report.to_frame()
        .query("metric == 'disparate_impact'")
        .groupby("sensitive_features")["reference"]
        .first()
    )
    assert table.to_dict() == {"region": "north", "sex": "f", "region & sex": "west & f"}
    assert "region: north (the largest group)" in statement(report, "Reference groups")


def test_all_pairs(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features="region", comparisons="all")
    assert len(report.to_frame().query("metric == 'disparate_impact'")) == 3
    assert (
        statement(report, "Reference groups") == "All pairs of groups are compared with each other."
    )


def test_highest_reference_is_said(frame: pd.DataFrame) -> None:
    report = audit(frame, y_pred="granted", sensitive_features="region", reference="highest")
    assert "chosen by the data" in statement(report, "Reference groups")


@pytest.mark.parametrize("kind", ["polars", "polars lazy", "pyarrow"])
def test_any_frame(audit_all: Any, frame: pd.DataFrame, kind: str) -> None:
    if kind == "pyarrow":
        other: Any = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    else:
        polars = pytest.importorskip("polars")
        other = polars.DataFrame(frame.to_dict("list"))
        other = other.lazy() if "lazy" in kind else other
    pd.testing.assert_frame_equal(audit_all(other).to_frame(), audit_all(frame).to_frame())


# ---------------------------------------------------------------- families


def test_family_audit_is_holm_over_all(audit_all: Any, frame: pd.DataFrame) -> None:
    table = audit_all(frame, family="audit").to_frame()
    judged = table[np.isfinite(table["pvalue"])]
    expected = multipletests(judged["pvalue"], method="holm")[1]
    np.testing.assert_allclose(judged["pvalue_adjusted"], expected, rtol=1e-12)


def test_family_audit_with_a_chosen_reference_counts_what_could_be_chosen(
    frame: pd.DataFrame,
) -> None:
    table = audit(
        frame, y_pred="granted", sensitive_features="region", reference="highest", family="audit"
    ).to_frame()
    row = table[table["metric"] == "disparate_impact"].iloc[0]
    assert row["pvalue_adjusted"] == pytest.approx(
        min(1.0, row["pvalue"] * 1.5 * len(table)), rel=1e-12
    )


def test_family_is_said(audit_all: Any, frame: pd.DataFrame) -> None:
    assert "Holm over all p-values" in statement(audit_all(frame, family="audit"), "p-values")
    assert "within one metric" in statement(audit_all(frame), "p-values")


def test_several_models_are_compared_in_a_section(tmp_path: Path) -> None:
    """The section is what `compare_models` gives; the first model is the one that is audited."""
    rng = np.random.default_rng(4)
    n = 400
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], n), "y": rng.integers(0, 2, n)})
    for k in range(2):
        frame[f"s{k}"] = np.round(rng.random(n), 3)
        frame[f"p{k}"] = (frame[f"s{k}"] > 0.5).astype(int)
    columns: dict[str, Any] = {
        "y_true": "y",
        "sensitive_features": "g",
        "rng": 1,
        "n_resamples": 199,
    }
    both = {"y_pred": {"one": "p0", "two": "p1"}, "score": {"one": "s0", "two": "s1"}}
    report = audit(frame, **both, **columns)
    section = next(s for s in report.sections if s.key == "models")
    (found,) = section.results
    assert found.models == ("one", "two")
    own = fs.compare_models(
        frame["y"],
        {"one": frame["p0"], "two": frame["p1"]},
        sensitive_features=frame["g"],
        metrics=["disparate_impact", "accuracy"],
        baseline="one",
    )
    by_name = {(c.metric, c.group): c for c in found.comparisons}
    for c in own.comparisons:
        assert by_name[c.metric, c.group].confidence_interval == c.confidence_interval
    alone = audit(frame, y_pred="p0", score="s0", **columns)
    assert report.verdicts == alone.verdicts
    path = tmp_path / "report.json"
    report.to_json(path)
    assert AuditReport.from_json(path).to_frame().equals(report.to_frame())
    assert "Models on the same people" in report.summary(full=True)
    with pytest.raises(fs.InputError, match="two models or more"):
        audit(frame, y_pred={"one": "p0"}, **columns)


def test_a_mitigation_has_its_section(tmp_path: Path) -> None:
    """What `evaluate` returned stands in the report as it is, and adds no verdict."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"g": np.repeat(["a", "b"], 200), "h": np.tile(["u", "v"], 200)})
    frame["s"] = np.concatenate([rng.beta(2, 3, 200), rng.beta(3, 2, 200)])
    frame["y"] = (rng.random(400) < frame["s"]).astype(int)
    fit = np.arange(400) % 2 == 0
    mitigator = fs.MaddMitigator(n_lambdas=11, bandwidth=0.2, random_state=1)
    mitigator.fit(frame["s"][fit], frame["y"][fit], sensitive_features=frame["g"][fit])
    effect = mitigator.evaluate(
        frame["s"][~fit], frame["y"][~fit], sensitive_features=frame["g"][~fit], n_resamples=99
    )
    asked: dict[str, Any] = {
        "y_true": "y",
        "sensitive_features": ["h", "g"],
        "rng": 1,
        "intersections": False,
    }
    report = audit(frame, **asked, mitigation=effect)
    own = [
        (s.attributes, s.results) for s in report.sections if s.key == "mitigation" and s.results
    ]
    assert [attributes for attributes, _ in own] == [("g",)]
    assert own[0][1][0].to_frame().equals(effect.to_frame())
    assert report.verdicts == audit(frame, **asked).verdicts
    path = tmp_path / "report.json"
    report.to_json(path)
    assert AuditReport.from_json(path).to_frame().equals(report.to_frame())
    assert "MADD mitigation" in report.summary(full=True)
    with pytest.raises(fs.InputError, match="`mitigation`"):
        audit(frame, **asked | {"sensitive_features": "h"}, mitigation=effect)
    with pytest.raises(fs.InputError, match="`mitigation`"):
        audit(frame, **asked, mitigation=0.5)


@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
@pytest.mark.parametrize(
    ("asked", "madd", "models", "area"),
    [(None, 1_999, 999, 999), (150, 150, 150, 150)],
    ids=["defaults", "given"],
)
def test_choices_reach_every_section(
    frame: pd.DataFrame, asked: Any, madd: int, models: int, area: int
) -> None:
    """Written down: margins, levels, numbers of draws.

    MADD and posteriors as by their functions.
    """
    few = frame[:240].assign(second=np.where(np.arange(240) % 5 > 0, frame["granted"][:240], 0))
    report = audit(
        few,
        y_true="repaid",
        y_pred={"m": "granted", "n": "second"},
        score="score",
        sensitive_features="region",
        pos_label={"y_true": "yes", "y_pred": 1},
        threshold=0.7,
        margin=0.05,
        confidence_level=0.9,
        adjust="hommel",
        comparisons="all",
        n_resamples=asked,
        rng=3,
    )
    found = {section.key: section.results for section in report.sections}
    for result in found["rates"]:
        s: Any = result.settings  # type: ignore[attr-defined]
        assert (s.confidence_level, s.adjust, s.comparisons) == (0.9, "hommel", "all")
        assert s.threshold in (0.7, None)
        assert s.margin in (0.05, None)
        assert (s.threshold, s.margin) != (None, None)
        if isinstance(result, fs.results.AbrocaResult):
            assert (s.n_resamples, s.seed) == (area, 3)
    (compared,), (distance,), (posterior,) = (found[key] for key in ("models", "madd", "um"))
    s = compared.settings  # type: ignore[attr-defined]
    assert (s.threshold, s.margin, s.n_resamples, s.confidence_level) == (0.7, 0.05, models, 0.9)
    s = distance.settings  # type: ignore[attr-defined]
    assert (s.margin, s.n_resamples, s.comparisons, s.adjust) == (0.1, madd, "all", "hommel")
    alone = fs.madd(
        few["score"],
        sensitive_features=few["region"],
        comparisons="all",
        margin=0.1,
        confidence_level=0.9,
        adjust="hommel",
        n_resamples=madd,
        rng=3,
    )
    pd.testing.assert_frame_equal(distance.to_frame(), alone.to_frame())
    assert all(c.curve is None for c in distance.comparisons)
    exact = fs.um_posterior(
        few["repaid"] == "yes",
        few["granted"] == 1,
        sensitive_features=few["region"],
        draws=10_000,
        rng=3,
    )
    names = (
        "accuracy",
        "demographic_parity",
        "equal_opportunity",
        "predictive_equality",
        "predictive_parity",
    )
    pd.testing.assert_frame_equal(posterior.to_frame(), exact.to_frame(names, prob=0.9, rope=0.05))


@pytest.mark.parametrize("number", [0, 99, 150.5, True])
def test_too_few_resamples_are_refused(frame: pd.DataFrame, number: Any) -> None:
    """Written down: the least number, in an audit of anything; 0 stands for no default."""
    with pytest.raises(fs.InputError, match="`n_resamples`: got .*; allowed: a whole number ≥ 100"):
        audit(frame, y_pred="granted", sensitive_features="region", n_resamples=number)


def test_scores_of_another_scale_are_those_from_0_to_1(tmp_path: Path) -> None:
    """Risks from 10 (worst) to 1 give the report of their places between both, from rows, from a
    lazy table, and from the counts of both.
    """
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 400), "y": rng.integers(0, 2, 400)})
    frame["decile"] = rng.integers(1, 11, 400)
    frame["place"] = (frame["decile"] - 10) / (1 - 10)
    options = {"y_true": "y", "sensitive_features": "g", "rng": 1}
    expected = fs.audit(frame, score="place", **options)
    scale = {"score": "decile", "score_range": (10, 1)}
    found = fs.audit(frame, **scale, **options)
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())
    found.to_json(tmp_path / "r.json")
    assert type(found).from_json(tmp_path / "r.json").columns.score_range == (10, 1)
    counted = [
        fs.audit(frame, engine="polars", **named, **options)
        for named in (scale, {"score": "place"})
    ]
    # The engine's quotients may differ in the last bit, and lie in the next cell of the grid.
    pd.testing.assert_frame_equal(counted[0].to_frame(), counted[1].to_frame(), atol=1e-3)
    with pytest.raises(fs.InputError, match="`score_range`.*the worse end first"):
        fs.audit(frame, score="decile", score_range=(1, 1), **options)


def test_koopman_has_no_exact_test() -> None:
    """Of an audit that has them by default: of groups of thirty, in every kind of row."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "group": np.repeat(["a", "b", "c"], 30),
            "label": rng.integers(0, 2, 90),
            "chosen": (rng.random(90) < np.repeat([0.3, 0.5, 0.8], 30)).astype(int),
        }
    )
    asked: dict[str, Any] = {
        "y_true": "label",
        "y_pred": "chosen",
        "sensitive_features": "group",
        "rng": 1,
    }

    def exact_rows(report: AuditReport) -> set[str]:
        return {
            comparison.metric
            for section in report.sections
            for result in section.results
            for comparison in getattr(result, "comparisons", ())
            if getattr(getattr(comparison, "procedure", None), "exact", False)
            and comparison.metric in METRICS
        }

    by_default = exact_rows(audit(frame, **asked))
    assert "disparate_impact" in by_default
    assert any(METRICS[metric].contrast == "gap" for metric in by_default)
    assert exact_rows(audit(frame, method="koopman", **asked)) == set()
