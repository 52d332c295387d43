"""Checks, their verdicts, and the table: without R."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import BackendError, InputError
from fairstats.ground.serialise import decode, encode
from fairstats.report.crosscheck import check as door_module
from fairstats.report.crosscheck.check import Place
from fairstats.report.crosscheck.run import crosscheck
from fairstats.report.crosscheck.table import Crosscheck

PLACE = Place("disparate_impact", "women", "men")


def verdict(python: float, r: float, **how: Any) -> str:
    return PLACE.compare("estimate", python, r, "f", **how).verdict


def test_exact_values_agree_within_their_tolerance() -> None:
    assert verdict(0.5, 0.5 + 4e-9) == "agrees"  # 1e-8 of the value
    assert verdict(0.5, 0.5 + 6e-9) == "disagrees"
    assert verdict(0.0, 9e-11) == "agrees"  # the absolute tolerance
    assert verdict(5.0, 5.1, relative=0.1) == "agrees"


def test_random_values_agree_within_six_standard_errors() -> None:
    assert verdict(0.5, 0.55, error=0.01) == "within Monte Carlo error"
    assert verdict(0.5, 0.57, error=0.01) == "disagrees"
    assert verdict(0.5, 0.57, error=math.nan) == "disagrees"


def test_what_is_unknown_or_infinite_must_be_so_on_both_sides() -> None:
    nan = math.nan
    inf = math.inf
    assert verdict(nan, nan) == verdict(inf, inf) == verdict(-inf, -inf) == "agrees"
    for pair in ((nan, 0.0), (0.0, nan), (inf, 1e300), (inf, -inf)):
        assert verdict(*pair) == "disagrees", pair
    assert PLACE.compare("estimate", None, nan, "f").verdict == "agrees"


def test_a_tolerance_of_the_users_replaces_the_exact_ones() -> None:
    place = Place("m", tolerance=1e-3)
    assert place.compare("q", 0.5, 0.5009, "f").verdict == "agrees"
    assert place.compare("q", 0.5, 0.5011, "f").verdict == "disagrees"
    assert place.compare("q", 1000.0, 1000.9, "f").verdict == "agrees"
    assert (
        Place("m", tolerance=0.0).compare("q", 0.5, np.nextafter(0.5, 1), "f").verdict
        == "disagrees"
    )


def table() -> Crosscheck:
    checks = (
        PLACE.compare("estimate", 0.5, 0.5, "stats::prop.test (R 4.2.2)"),
        PLACE.compare("p-value", 0.04, 0.05, "ratio_score (fairstats 0.1.0, base R 4.2.2)"),
        PLACE.compare("critical value", 2.4, 2.401, "g", error=0.01),
        PLACE.needs_data("set distance", 1.5, "a distance between sets of rows"),
        PLACE.left_out("goodness of fit", 0.3, "of a bootstrap"),
    )
    return Crosscheck(checks, "Loans <b>", "4.2.2", "0.1.0")


def test_only_what_r_recomputed_counts() -> None:
    found = table()
    assert (found.n_checked, found.n_agree, found.agrees) == (3, 2, False)
    assert [check.quantity for check in found.disagreements] == ["p-value"]
    unknown = PLACE.compare("estimate", math.nan, math.nan, "f")
    for checks, agrees, verdict in (
        ((), None, "not compared"),
        (found.checks[3:], None, "not compared"),
        ((unknown,), None, "not compared"),
        ((unknown, *found.checks[:1]), True, "agrees"),
        (found.checks[:2], False, "disagrees"),
    ):
        assert (Crosscheck(checks).agrees, Crosscheck(checks).verdict) == (agrees, verdict)


def test_text_ends_with_the_count() -> None:
    text = str(table())
    assert text.splitlines()[-1] == "2 of 3 agree"
    assert "needs --data: a distance between sets of rows" in text
    assert "[1] stats::prop.test (R 4.2.2)" in text
    assert [note[: note.index(" quantit")] for note in table().notes()] == ["1 random", "1", "1"]
    brief = table().summary(full=False)
    assert "prop.test" in brief  # among the sources
    assert "  estimate " not in brief
    assert "  p-value " in brief


def test_frame_has_every_column() -> None:
    frame = table().to_frame()
    assert list(frame.columns) == [
        "quantity",
        "section",
        "sensitive_features",
        "metric",
        "group",
        "reference",
        "python",
        "r",
        "source",
        "absolute_difference",
        "relative_difference",
        "tolerance",
        "verdict",
        "note",
    ]
    row = frame.iloc[1]
    assert row["absolute_difference"] == pytest.approx(0.01)
    assert row["relative_difference"] == pytest.approx(0.2)
    assert frame["absolute_difference"].isna().tolist() == [False, False, False, True, True]


def test_html_escapes_and_marks() -> None:
    hostile = Place("<script>", "<b>&", "'\"")
    html = Crosscheck((hostile.compare("<i>", 1.0, 2.0, "<s>"),), "<t>", "4.2.2").to_html()
    for text in ("<script>", "<b>&<", "<i>1", "<s>", "<t>"):
        assert text not in html
    assert "&lt;script&gt;" in html
    assert "<details open>" in html  # a disagreement stands open
    assert "0 of 1 agree" in html
    assert table()._repr_html_() == table().to_html()


def test_survives_json() -> None:
    found = table()
    back = decode(encode(found))
    assert back.to_frame().equals(found.to_frame())
    assert str(back) == str(found)


def test_bad_arguments_are_named() -> None:
    result = fs.disparate_impact(counts={"a": (5, 5), "b": (5, 5)})
    with pytest.raises(InputError, match="backend"):
        crosscheck(result, "julia")
    with pytest.raises(InputError, match="tolerance"):
        crosscheck(result, tolerance=2)
    with pytest.raises(InputError, match="AuditReport or a result"):
        crosscheck(5)  # type: ignore[arg-type]


def test_without_r_the_error_has_cause_and_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairstats.ground.rprobe import RProbe

    lacking = RProbe("missing", cause="R is not on PATH", cure="install R")
    monkeypatch.setattr(door_module, "probe_r", lambda: lacking)
    monkeypatch.setattr(door_module, "probe_rscript", lambda: lacking)
    with pytest.raises(
        BackendError,
        match=r"R is not on PATH.*To fix: install R \(rpy2 is not needed\); or take the report's JSON",
    ):
        crosscheck(fs.disparate_impact(counts={"a": (5, 5), "b": (5, 5)}))


class Silent:
    """A door behind which nobody may be asked."""

    version = ""

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"R was asked for {function}")

    def source(self, function: str) -> str:
        return function

    def has(self, package: str) -> bool:
        return False


def test_what_has_no_twin_is_named_with_its_reason() -> None:
    """Reasons from the table of twins; a line for each estimate, of a curve one for all of it.

    No R.
    """
    rng = np.random.default_rng(1)
    door: Any = Silent()
    curve = fs.madd_curve(
        rng.random(200), sensitive_features=np.tile(["a", "b"], 100), max_bins=200
    )
    stretch = fs.stable_bandwidth(curve)
    fit = fs.evt.fit_gpd(rng.exponential(size=500), 1.5, backend="scipy")
    levels = fit.return_level([500, 1000])
    part = "part of a MaddResult, which is recomputed"
    of_fit = "of a fit: pass the fit, whose likelihood R recomputes"
    for result, rows, why in (
        (curve, [(curve.title, "", math.nan)], part),
        (stretch, [("madd", "", stretch.mean)], part),
        (
            levels,
            [
                (f"return level of {m}", "", float(v))
                for m, v in zip((500, 1000), levels.estimate, strict=True)
            ],
            of_fit,
        ),
    ):
        found = crosscheck(result, door=door)
        told = [(c.metric, c.group, c.python) for c in found.checks]
        assert str(told) == str(rows)
        assert {(c.quantity, c.verdict, c.note, c.reference) for c in found.checks} == {
            ("estimate", "not recomputed", why, "")
        }
        assert found.n_checked == 0


def test_what_r_cannot_repeat_is_left_out_without_asking() -> None:
    """Written down: functions of the user's, many draws, drawn projections, clustered persons.

    No R.
    """
    door: Any = Silent()
    counts = {"a": {"tp": 9, "tn": 8, "fp": 2, "fn": 1}, "b": {"tp": 9, "tn": 8, "fp": 3, "fn": 1}}

    def hits(c: Any) -> Any:
        return c[..., 0].sum(axis=-1)

    def reasons(result: Any) -> list[tuple[str, str, str]]:
        return [(c.quantity, c.verdict, c.note) for c in crosscheck(result, door=door).checks]

    few, many = (fs.um_posterior(counts=counts, draws=draws, rng=1) for draws in (100, 20_001))
    own = fs.um_compare(few, few, metrics=("accuracy", hits), rng=1, draws=100)
    of_users = "of functions of the user's"
    quantities = [
        "P(A≫B)",
        "P(B≫A)",
        "P(A≈B)",
        "P(mixed)",
        "P(|Δ accuracy| ≤ RoPE)",
        "P(|Δ hits| ≤ RoPE)",
    ]
    quantities += [
        f"{what} of Δ {m}" for what in ("mean", "standard deviation") for m in ("accuracy", "hits")
    ]
    assert reasons(own) == [(quantity, "not recomputed", of_users) for quantity in quantities]
    ranked = fs.um_compare(
        {"x": many, "y": many, "z": many}, metrics="accuracy", rng=1, draws=20_001
    )
    found = crosscheck(ranked, door=door).checks
    assert {(c.verdict, c.note) for c in found} == {("not recomputed", "more than 20,000 draws")}
    pairs = [(a, b, f"P({a} ≫ {b})") for a in "xyz" for b in "xyz" if a != b]
    pairs += [(a, "", "P(on the Pareto front)") for a in "xyz"]
    assert [(c.group, c.reference, c.quantity) for c in found] == pairs
    table = replace(few, table_metrics=("accuracy", hits))
    for result, rows in ((table, 4), (many, 8)):
        why = "of functions of the user's, or of very many draws"
        assert set(reasons(result)) == {("mean", "not recomputed", why)}
        assert len(reasons(result)) >= rows
    x = np.random.default_rng(2).random((30, 2))
    projected = fs.approx_set_distance(x[:10], x[10:], rng=1)
    why = "ApproxDist rests on Python's random projections"
    assert reasons(projected) == [("estimate", "not recomputed", why)]
    exact = fs.set_distance(x[:10], x[10:])
    assert reasons(exact) == [("estimate", "needs --data", "a distance between sets of rows")]
