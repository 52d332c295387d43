"""Adverse impact.

Witnesses: Morris (2017), statsmodels, enumeration, every assignment of the unknown, live R.
"""

from __future__ import annotations

import math
import warnings
from decimal import Decimal, localcontext
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact, hypergeom
from statsmodels.stats.proportion import proportion_effectsize, proportions_ztest

import fairstats as fs
from fairstats.methods.rates.employment.adverse_impact import impact_figures
from fairstats.results import AdverseImpact

TABLES = st.tuples(*(st.integers(0, 12) for _ in range(4))).filter(
    lambda t: t[0] + t[1] > 0 and t[2] + t[3] > 0
)


@pytest.fixture
def people() -> pd.DataFrame:
    """Two steps, two jobs, some people without race."""
    rng = np.random.default_rng(5)
    n = 900
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["W", "B", "H"], n, p=[0.6, 0.25, 0.15]).astype(object),
            "job": rng.choice(["x", "y"], n),
            "score": rng.integers(0, 40, n),
        }
    )
    frame["screen"] = (rng.random(n) < 0.6 - 0.15 * (frame["race"] == "B")).astype(int)
    offer = (rng.random(n) < 0.5 - 0.1 * (frame["sex"] == "F")).astype(float)
    frame["offer"] = np.where(frame["screen"] == 1, offer, np.nan)
    frame.loc[:20, "race"] = None
    return frame


def quiet(*args: Any, **options: Any) -> AdverseImpact:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return fs.adverse_impact(*args, **options)


def test_the_example_of_morris() -> None:
    row = fs.adverse_impact({"women": (2, 8), "men": (15, 10)}).to_frame().iloc[0]
    assert (row["group"], row["reference"]) == ("women", "men")
    assert round(row["z"], 3) == -2.139
    assert round(row["z_pvalue"], 4) == 0.0324
    assert row["phi"] == pytest.approx(row["z"] / math.sqrt(35))


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        (
            {"women": (2, 8), "men": (15, 10)},
            (
                " The rate is below 0.8 of the reference's (significance: practical and"
                " statistical), z = -2.14, Fisher's p = 0.0599; 3 selections moved would reach 0.8,"
                " 2.9 the pooled rate."
            ),
        ),
        (
            {"women": (170, 830), "men": (200, 800)},
            (
                " The rate is at least 0.8 of the reference's "
                "(significance: neither), z = -1.73, Fisher's p = 0.0948."
            ),
        ),
        (
            {"women": (8, 12), "men": (10, 10)},
            (
                " The rate is at least 0.8 of the reference's (significance: neither), z = -0.64,"
                " Fisher's p = 0.751; one other decision would put the ratio on the other side"
                " of it."
            ),
        ),
        (
            {"women": (3, 7), "men": (8, 12)},
            (
                " The rate is below 0.8 of the reference's (significance: practical only), z ="
                " -0.54, Fisher's p = 0.702; 1 selection moved would reach 0.8, 0.7 the pooled"
                " rate; one other decision would put the ratio on the other side of it."
            ),
        ),
    ],
    ids=["both", "neither", "four fifths", "one decision"],
)
def test_what_practitioners_are_told(counts: dict[str, tuple[int, int]], wanted: str) -> None:
    """The end of the sentence; z by the pooled rate, p by SciPy's Fisher test, shortfalls n₀K/N −
    k₀.
    """
    result = fs.adverse_impact(counts)
    (k0, f0), (k1, f1) = counts.values()
    n0 = k0 + f0
    n1 = k1 + f1
    pooled = (k0 + k1) / (n0 + n1)
    z = (k0 / n0 - k1 / n1) / math.sqrt(pooled * (1 - pooled) * (1 / n0 + 1 / n1))
    p = fisher_exact([[k0, f0], [k1, f1]])[1]
    assert f"z = {z:.2f}, Fisher's p = {p:.3g}" in wanted
    if "moved" in wanted:
        assert f"{n0 * pooled - k0:.1f} the pooled rate" in wanted
    (said,) = result.sentences()
    assert said.startswith("group: women against men: ")
    assert said.endswith(wanted)


@pytest.mark.parametrize(
    ("n", "who"),
    [
        (1, "1 person of unknown category or outcome is"),
        (1_200, "1,200 people of unknown category or outcome are"),
    ],
)
def test_people_of_unknown_category_are_told(n: int, who: str) -> None:
    """In the notes, by number; the other notes stand whether there are any or not."""
    counts = {"sex": {"women": (170, 830), "men": (200, 800)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        notes = fs.adverse_impact(counts, unknown=n).notes()
    assert notes[2:] == [f"sex: {who} in no rate; the bounds say what they could change."]
    assert fs.adverse_impact(counts).notes() == notes[:2]
    assert notes[0].startswith(
        "Ratio of rates to the reference, threshold 0.8; intervals and verdicts count"
    )
    assert notes[1].endswith("Nothing here is a finding of law.")


def test_four_fifths_itself_are_enough() -> None:
    """29 CFR 1607.4 D: a rate *less* than four-fifths; 40% against 50% is just that."""
    found = fs.adverse_impact({"women": (400, 600), "men": (500, 500)})
    assert found.to_frame().loc[0, ["estimate", "reading"]].tolist() == [0.8, "statistical only"]
    assert (
        " The rate is at least 0.8 of the reference's (significance: statistical only)"
        in found.sentences()[0]
    )
    assert "selections moved" not in found.sentences()[0]


@settings(max_examples=60)
@given(table=TABLES)
def test_figures_against_statsmodels_and_enumeration(table: tuple[int, int, int, int]) -> None:
    k0, f0, k1, f1 = table
    n0 = k0 + f0
    n1 = k1 + f1
    total = sum(table)
    hits = k0 + k1
    found = impact_figures((k0, n0, k1, n1), 0.8, 0.95)
    every = hypergeom.pmf(np.arange(n0 + 1), total, hits, n0)
    own = every[k0]
    fisher = every[every <= own * (1 + 1e-7)].sum()
    assert found.fisher == pytest.approx(fisher, rel=1e-6, abs=1e-9)
    assert found.mid_p == pytest.approx(fisher - own / 2, rel=1e-6, abs=1e-9)
    assert found.cohen_h == pytest.approx(proportion_effectsize(k0 / n0, k1 / n1), abs=1e-12)
    if 0 < hits < total:
        z, p = proportions_ztest([k0, k1], [n0, n1])
        assert (found.z, found.z_pvalue) == pytest.approx((z, p), rel=1e-9)
    else:
        assert math.isnan(found.z)
    assert (k0 + found.shortfall) / n0 == pytest.approx(hits / total)


@pytest.mark.parametrize(
    "table", [(19825, 40542, 189789, 385751), (697, 2582, 326, 666), (0, 900, 700, 1000)]
)
def test_fisher_of_large_tables_keeps_its_digits(table: tuple[int, int, int, int]) -> None:
    """Witness: exact ratios of whole numbers, to forty digits.

    Factorials lose eleven of sixteen here.
    """
    k0, n0, k1, n1 = table
    hits = k0 + k1
    first = max(0, k0 + k1 - n1)
    with localcontext() as context:
        context.prec = 40
        weights = [Decimal(1)]
        for k in range(first, min(n0, hits)):
            weights.append(weights[-1] * ((hits - k) * (n0 - k)) / ((k + 1) * (n1 - hits + k + 1)))
        own = weights[k0 - first]
        total = sum(weights)
        fisher = sum(w for w in weights if w <= own * (1 + Decimal("1e-7"))) / total
        mid = fisher - own / total / 2
    found = impact_figures(table, 0.8, 0.95)
    assert (found.fisher, found.mid_p) == pytest.approx((float(fisher), float(mid)), rel=1e-13)


def test_fisher_far_beyond_all_numbers_is_zero() -> None:
    """log₁₀ p is about −3 million: no floating-point number is so small."""
    assert impact_figures((0, 10_000_000, 9_000_000, 10_000_000), 0.8, 0.95).fisher == 0.0


@settings(max_examples=60)
@given(table=TABLES)
def test_fewest_moved_and_changed_decisions_by_trying_all(table: tuple[int, int, int, int]) -> None:
    k0, f0, k1, f1 = table
    n0 = k0 + f0
    n1 = k1 + f1
    found = impact_figures((k0, n0, k1, n1), 0.8, 0.95)

    def below(a: int, b: int) -> bool | None:
        return None if a == b == 0 else 5 * a * n1 < 4 * b * n0

    moved = next((s for s in range(k1 + 1) if not below(k0 + s, k1 - s)), None)
    assert found.shortfall_four_fifths == (None if k0 == k1 == 0 else moved)
    other = [(k0 + 1, k1), (k0 - 1, k1), (k0, k1 + 1), (k0, k1 - 1)]
    other = [(a, b) for a, b in other if 0 <= a <= n0 and 0 <= b <= n1]
    assert found.one_decision == any(below(a, b) not in (None, below(k0, k1)) for a, b in other)
    if k1 > 0 and k0 < n0:
        assert found.flip_flop == (k0 * n1 < k1 * n0 and (k0 + 1) * n1 > (k1 - 1) * n0)


@pytest.mark.parametrize(("table", "same"), [((40, 100, 60, 110), 0.02), ((3, 20, 9, 30), 1e-12)])
def test_power_is_that_of_the_plan(table: tuple[int, int, int, int], same: float) -> None:
    """Exact where few are expected, else by the formula.

    Within .02, which planning states for it.
    """
    _, n0, k1, n1 = table
    plan = fs.power_ratio(k1 / n1, 0.8, n=n0, n_reference=n1, alternative="two-sided")
    assert impact_figures(table, 0.8, 0.95).power == pytest.approx(plan.power, abs=same)


def test_ratios_are_those_of_disparate_impact() -> None:
    counts = {"a": (40, 60), "b": (20, 60), "c": (30, 30)}
    mine = fs.adverse_impact(counts).to_frame()
    theirs = fs.disparate_impact(counts=counts, reference="highest").to_frame()
    for name in ("estimate", "ci_low", "ci_high", "pvalue_adjusted", "verdict", "bound_low"):
        assert mine[name].tolist() == theirs[name].tolist()


def test_tables_of_a_process(people: pd.DataFrame) -> None:
    result = quiet(people, selected=["screen", "offer"], sex="sex", race="race")
    assert [t.name for t in result.tables] == [
        f"{by}, {step}"
        for step in ("overall", "screen", "offer")
        for by in ("sex", "race", "sex & race")
    ]
    whole, screen, offer = (t for t in result.tables if t.by == ("sex",))
    passed = people[people["screen"] == 1]
    for table, rows, column in (
        (screen, people, "screen"),
        (offer, passed, "offer"),
        (whole, people, "offer"),
    ):
        share = rows[column].fillna(0).groupby(rows["sex"]).agg(["sum", "size"])
        for group, (k, n) in zip(table.counts.groups, table.counts.totals, strict=True):
            assert (k, k + n) == tuple(share.loc[group])
    assert result.by("race").tables[0].n_unknown == 21
    assert result.by("sex").tables[0].n_unknown == 0


def test_counts_of_steps_equal_rows(people: pd.DataFrame) -> None:
    rows = quiet(people, selected=["screen", "offer"], sex="sex")
    counts = {
        sex: (len(own), int(own["screen"].sum()), int(own["offer"].sum()))
        for sex, own in people.groupby("sex")
    }
    of_counts = quiet(counts, selected=["screen", "offer"])
    columns = ["step", "group", "reference", "estimate", "ci_low", "fisher", "shortfall"]
    assert of_counts.to_frame()[columns].equals(rows.to_frame()[columns])


def test_tuples_tallies_and_numbered_rows_are_one(people: pd.DataFrame) -> None:
    full = people.dropna(subset="race")
    columns = ["by", "group", "reference", "estimate", "ci_high", "mid_p"]
    rows = quiet(full, selected="screen", sex="sex", race="race").to_frame()[columns]
    tally = fs.tally(full, y_pred="screen", sensitive_features=["sex", "race"])
    assert quiet(tally).to_frame()[columns].equals(rows)
    cells = {
        k: (int(v.sum()), int((1 - v).sum())) for k, v in full.groupby(["sex", "race"])["screen"]
    }
    of_tuples = (
        quiet(cells).to_frame().merge(rows, on=["by", "group", "reference"], suffixes=("", "_rows"))
    )
    assert len(of_tuples) == len(rows)
    for name in ("estimate", "mid_p"):
        assert of_tuples[name].tolist() == of_tuples[f"{name}_rows"].tolist()
    # groups in another order draw the simultaneous critical value anew: its Monte Carlo error
    np.testing.assert_allclose(of_tuples["ci_high"], of_tuples["ci_high_rows"], rtol=0.02)
    numbered = full.groupby(["sex", "race", "screen"]).size().rename("people").reset_index()
    found = quiet(numbered, selected="screen", sex="sex", race="race", number="people")
    assert found.to_frame()[columns].equals(rows)


def test_strata_give_the_common_ratio(people: pd.DataFrame) -> None:
    found = quiet(people, selected="screen", sex="sex", strata="job", reference="M").to_frame()
    columns = {"sensitive_features": people["sex"], "strata": people["job"]}
    alone = fs.disparate_impact(people["screen"], **columns, reference="M").stratified
    row = found[found["metric"] == "disparate_impact_stratified"].iloc[0]
    assert row["estimate"] == pytest.approx(alone.estimate)
    tests = {t.method.split()[0]: t.pvalue for t in alone.comparisons[0].tests}
    assert row["breslow_day_pvalue"] == pytest.approx(tests["Breslow–Day"])
    assert row["cmh_pvalue"] == pytest.approx(tests["Cochran–Mantel–Haenszel"])


def test_strata_against_the_highest_count_all_pairs_it_was_chosen_from() -> None:
    """Three races have three pairs: intervals at 1 − .05/3, p-values of verdicts times 3.

    Not beside a named one.
    """
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"race": rng.choice(list("ABC"), 900), "job": rng.choice(["x", "y"], 900)})
    frame["out"] = (rng.random(900) < 0.4 + 0.1 * (frame["race"] == "B")).astype(int)
    columns = {"sensitive_features": frame["race"], "strata": frame["job"]}
    for reference, together in (("highest", 3), ("A", 1)):
        (table,) = quiet(
            frame, selected="out", race="race", strata="job", reference=reference
        ).tables
        found = table.stratified
        assert found is not None
        assert found.reference == (reference if reference == "A" else "B")
        alone = fs.disparate_impact(
            frame["out"], **columns, reference=found.reference, confidence_level=1 - 0.05 / together
        ).stratified
        for c, own in zip(found.comparisons, alone.comparisons, strict=True):
            assert tuple(c.confidence_interval) == pytest.approx(
                tuple(own.confidence_interval), rel=1e-12
            )
            if together > 1:
                assert c.pvalue_verdict_adjusted == pytest.approx(min(3 * c.pvalue_verdict, 1))


@settings(max_examples=25)
@given(
    cells=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=3),
    unknown=st.tuples(st.integers(0, 2), st.integers(0, 3)).filter(any),
)
def test_bounds_hold_for_every_assignment_of_the_unknown(
    cells: list[tuple[int, int]], unknown: tuple[int, int]
) -> None:
    """The ratio to whichever group has the highest rate, after each way to put everybody
    somewhere.
    """
    names = [f"g{k}" for k in range(len(cells))]
    table = quiet(dict(zip(names, cells, strict=True)), unknown=unknown).tables[0]
    low = dict.fromkeys(names, math.inf)
    high = dict.fromkeys(names, -math.inf)
    for places in product(range(len(cells)), repeat=sum(unknown)):
        filled = [list(cell) for cell in cells]
        for person, g in enumerate(places):
            filled[g][0 if person < unknown[0] else 1] += 1
        rates = [k / (k + f) for k, f in filled]
        for name, rate in zip(names, rates, strict=True):
            low[name] = min(low[name], rate / max(rates))
            high[name] = max(high[name], rate / max(rates))
    for name in names:
        bounds = table.bounds_of(name)
        assert bounds.low == pytest.approx(low[name])
        assert bounds.high >= high[name] - 1e-12
        if len(cells) == 2:
            assert bounds.high == pytest.approx(high[name])
        assert bounds.ci_low <= bounds.low
        assert bounds.ci_high >= bounds.high


def test_named_references_and_readings() -> None:
    counts = {"sex": {"F": (10, 90), "M": (60, 40)}, "race": {"A": (50, 50), "B": (49, 51)}}
    found = quiet(counts, reference=["M", "B"]).to_frame()
    assert found["reference"].tolist() == ["M", "B"]
    assert found["reading"].tolist() == ["practical and statistical", "neither"]
    assert quiet({"F": (999, 9001), "M": (1100, 8900)}).to_frame()["reading"].tolist() == [
        "statistical only"
    ]
    assert quiet({"F": (1, 9), "M": (2, 8)}).to_frame()["reading"].tolist() == ["practical only"]


def test_it_survives_json_and_becomes_a_report(people: pd.DataFrame, tmp_path: Any) -> None:
    result = quiet(people, selected=["screen", "offer"], sex="sex", race="race", strata="job")
    again = AdverseImpact.from_dict(result.to_dict())
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    assert len(result.sentences()) == len(result.comparisons)
    assert any("21 people of unknown category" in note for note in result.notes())
    report = fs.audit(result)
    assert [s.attributes for s in report.sections] == [("sex",), ("race",), ("sex", "race")]
    assert {s.title for s in report.statements} == {
        "Missing values",
        "Sampling",
        "Verdicts",
        "What it cannot say",
    }
    report.to_json(tmp_path / "r.json")
    assert "Biddle" in " ".join(fs.results.AuditReport.from_json(tmp_path / "r.json").references)
    assert "Adverse impact" in report.to_html(tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("data", "options", "match"),
    [
        ({}, {}, "`data`: got {}"),
        ({"a": (1, 2)}, {}, "two groups"),
        ({"a": (1, 2), "b": (1, -2)}, {}, "counts"),
        ({"a": (5, 3, 4), "b": (5, 3, 2)}, {"selected": ["x", "y"]}, "none more than before"),
        ({"a": (5, 3), "b": (5, 3)}, {"selected": ["x", "y"]}, "3 numbers"),
        ({"a": (5, 3), "b": (5, 3)}, {"reference": "c"}, "reference"),
        ({"a": (5, 3), "b": (5, 3)}, {"template": "eeoc"}, "template"),
        ({"a": (5, 3), "b": (5, 3)}, {"unknown": {"sex": 3}}, "unknown"),
        ({"a": (5, 3), "b": (5, 3)}, {"unknown": 2.5}, "unknown"),
        ({"a": (5, 3), "b": (5, 3)}, {"about": {"colour": "red"}}, "about"),
        ({"a": (5, 3), "b": (5, 3)}, {"about": 2}, "about"),
        ({"a": (5, 3), "b": (5, 3)}, {"reference": np.array(["a", "b"])}, "reference"),
        ({"a": (5, 3), "b": (5, 3)}, {"threshold": 1.2}, "threshold"),
    ],
)
def test_bad_counts_are_errors_of_ours(data: Any, options: dict[str, Any], match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        fs.adverse_impact(data, **options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sex": "sex"}, "selected, score"),
        ({"selected": "screen", "score": "score", "sex": "sex"}, "selected, score"),
        ({"selected": "screen"}, "sex, race"),
        ({"selected": "nothing", "sex": "sex"}, "nothing"),
        ({"selected": "screen", "sex": "sex", "unknown": 3}, "unknown"),
        ({"selected": "race", "sex": "sex"}, "selected"),
        ({"selected": "screen", "sex": "sex", "strata": "sex"}, "strata"),
        ({"selected": "screen", "sex": "sex", "pos_label": "Yes"}, "pos_label"),
        ({"selected": "screen", "sex": "sex", "pos_label": {"offer": 1}}, "pos_label"),
    ],
)
def test_bad_rows_are_errors_of_ours(
    people: pd.DataFrame, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(fs.InputError, match=match):
        fs.adverse_impact(people, **options)


def test_labels_that_count_as_not_selected_are_named() -> None:
    """Counted by hand, of a step among its applicants; in the notice of Local Law 144, too."""
    frame = pd.DataFrame(
        {
            "sex": ["f", "m"] * 10,
            "screen": ["in", "out", "later", "in"] * 5,
            "offer": ["yes", "no", "no", "declined"] * 5,
            "n": [1, 2, 3, 4] * 5,
        }
    )
    single = quiet(frame, selected="screen", sex="sex", number="n", pos_label="in")
    named = [line for line in single.notes() if "not favourable" in line]
    assert named == ["selected: counted as not favourable: later 15 rows, out 10."]
    both = quiet(
        frame, selected=["screen", "offer"], sex="sex", pos_label={"screen": "in", "offer": "yes"}
    )
    named = [line for line in both.notes() if "not favourable" in line]
    assert named == ["selected (screen): counted as not favourable: out 5 rows, later 5."]
    law = quiet(frame, selected="screen", sex="sex", number="n", pos_label="in", template="ll144")
    assert any("later 15 rows, out 10" in line for line in law.notes())


@pytest.mark.r
def test_r_computes_every_number_again(people: pd.DataFrame) -> None:
    result = quiet(people, selected=["screen", "offer"], sex="sex", strata="job")
    checked = fs.crosscheck(result)
    assert checked.agrees, "\n".join(map(str, checked.disagreements))
    small = quiet({"a": (1, 7), "b": (9, 3), "c": (0, 6)}, unknown=(1, 2), reference="b")
    checked = fs.crosscheck(small)
    assert checked.agrees, "\n".join(map(str, checked.disagreements))


@pytest.mark.r
def test_the_function_of_r(people: pd.DataFrame) -> None:
    from fairstats.ground import rsession

    full = people.dropna(subset="race").drop(columns="offer")
    columns = {name: full[name].tolist() for name in full}
    twin = rsession.call(
        "fs_adverse_impact", columns, "screen", sex="sex", race="race", strata="job"
    )
    mine = quiet(full, selected="screen", sex="sex", race="race", strata="job").to_frame()
    theirs = pd.DataFrame({name: np.atleast_1d(values) for name, values in dict(twin).items()})
    keys = ["by", "metric", "group"]
    both = mine.merge(theirs, on=keys, suffixes=("", "_r"))
    assert len(both) == len(mine) == len(theirs)
    for name in (
        "estimate",
        "fisher",
        "mid_p",
        "z",
        "cohen_h",
        "shortfall",
        "cmh_pvalue",
        "breslow_day_pvalue",
    ):
        np.testing.assert_allclose(
            both[name].astype(float), both[f"{name}_r"].astype(float), rtol=1e-6, atol=1e-9
        )
    # the critical value of all pairs is simulated on both sides
    np.testing.assert_allclose(both["ci_low"], both["ci_low_r"].astype(float), rtol=0.02)
    judged = both[both["metric"] == "adverse_impact"]
    assert (judged["verdict"] == judged["verdict_r"]).all()


def test_koopman_has_no_exact_test() -> None:
    """Witness: the same table by `disparate_impact`."""
    data = {"men": (15, 10), "women": (2, 8)}
    result = fs.adverse_impact(data, method="koopman")
    row = result.to_frame().iloc[0]
    (same,) = fs.disparate_impact(counts=data, reference="men", method="koopman").comparisons
    assert row["ci_low"] == pytest.approx(same.confidence_interval.low)
    exact = fs.adverse_impact(data).to_frame().iloc[0]
    assert exact["ci_low"] != pytest.approx(row["ci_low"])
    with pytest.raises(fs.InputError, match="method"):
        fs.adverse_impact(data, method="delta")  # type: ignore[arg-type]
