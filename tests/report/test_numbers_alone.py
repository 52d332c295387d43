"""Audits of an outcome that is a number, without labels.

Witnesses: `fs.means` and `fs.prediction_errors` of the same rows, tallies and engines of them, and
R's audit (live) and cross-check.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError, InsufficientEvidenceWarning
from fairstats.ground.rsession import call
from fairstats.methods.rates.planning import growth_by_interval
from fairstats.report.sets import view_sets

NUMBERS = ["estimate", "std_error", "ci_low", "ci_high", "pvalue", "value", "value_low"]


def wages(*, losses: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    n_rows = 400
    sex = rng.choice(["f", "m", "d"], n_rows, p=[0.45, 0.4, 0.15])
    wage = 30_000 * np.exp(0.4 * rng.normal(size=n_rows) + 0.3 * (sex == "m"))
    if losses:
        wage = wage - 35_000
    return pd.DataFrame(
        {
            "sex": sex,
            "wage": wage,
            "predicted": 0.9 * wage + 3_000 * rng.normal(size=n_rows),
            "town": rng.choice(["x", "y"], n_rows),
            "weight": rng.choice([1.0, 2.0, 3.5], n_rows),
            "firm": [
                f"{one}{k}" for one, k in zip(sex, rng.integers(40, size=n_rows), strict=True)
            ],
        }
    )


def audit_of(table: Any, **options: Any) -> Any:
    return fs.audit(table, **{"outcome": "wage", "sensitive_features": "sex", "rng": 1, **options})


@pytest.mark.parametrize("losses", [False, True])
@pytest.mark.parametrize("comparisons", ["reference", "all", "rest", "overall"])
@pytest.mark.parametrize(
    "design",
    [{}, {"sample_weight": "weight"}, {"cluster": "firm"}],
    ids=["plain", "weight", "firm"],
)
def test_rows_are_those_of_means(losses: bool, comparisons: Any, design: dict[str, str]) -> None:
    table = wages(losses=losses)
    shown = audit_of(table, comparisons=comparisons, **design).to_frame()
    columns = {role: table[name] for role, name in design.items()}
    alone = fs.means(
        table["wage"],
        sensitive_features=table["sex"],
        contrast="difference" if losses else "ratio",
        comparisons=comparisons,
        **columns,
    ).to_frame()
    assert shown["metric"].tolist() == alone["metric"].tolist() == ["mean"] * len(alone)
    for column in ("group", "reference", "verdict"):
        assert shown[column].tolist() == alone[column].tolist()
    for column in NUMBERS:
        np.testing.assert_allclose(shown[column], alone[column], rtol=1e-12)


def test_engines_tallies_and_files_give_the_same(tmp_path: Path) -> None:
    """Sums are added in another order: 1e-9."""
    table = wages()
    columns = {"outcome": "wage", "predicted": "predicted", "strata": "town"}
    rows = audit_of(table, **columns).to_frame()
    assert set(rows["metric"]) >= {"mean", "mean_absolute_error", "mean_residual_stratified"}
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)
    counted = fs.tally(table, sensitive_features="sex", **columns)
    others = (
        fs.audit(counted, rng=1),
        fs.audit(fs.Tally.from_json(counted.to_json()), rng=1),
        audit_of(pl.from_pandas(table).lazy(), **columns),
        audit_of(duckdb.from_df(table), **columns),
        audit_of(path, **columns),
    )
    for other in others:
        found = other.to_frame()
        assert found["verdict"].tolist() == rows["verdict"].tolist()
        for column in NUMBERS:
            np.testing.assert_allclose(found[column], rows[column], rtol=1e-9)


def test_tallies_of_weights_and_clusters_keep_rows_and_units() -> None:
    table = wages()
    for design in ({"sample_weight": "weight"}, {"cluster": "firm"}):
        rows = audit_of(table, **design)
        counted = fs.audit(fs.tally(table, sensitive_features="sex", outcome="wage", **design))
        of_rows, of_tally = rows.tables[0], counted.tables[0]
        assert of_tally.groups == of_rows.groups
        assert of_tally.clustered == of_rows.clustered
        assert of_tally.n_units == of_rows.n_units
        np.testing.assert_array_equal(of_tally.rows, of_rows.rows)
        np.testing.assert_allclose(of_tally.totals, of_rows.totals)
        np.testing.assert_allclose(of_tally.scatter, of_rows.scatter)


def test_what_the_report_says_and_draws(tmp_path: Path) -> None:
    """Means stand in the table of groups, in the first sentence and in a picture; no label does."""
    table = wages()
    report = audit_of(table, predicted="predicted")
    assert report.title == "Fairness of wage by sex"
    text = str(report)
    means = table.groupby("sex")["wage"].mean()
    for group in ("f", "m", "d"):
        assert f"{means[group]:,.0f}" in text
    assert "Selected" not in text
    page = report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Who is selected" not in page
    assert "Means by group, 95% intervals" in page
    assert "Differences in the units of the number, against 0" in page
    drawn = report.picture_names["sex"]
    assert {"numbers-mean", "numbers-mean-absolute-error", "numbers-mean-residual"} <= set(drawn)
    read = fs.results.AuditReport.from_json(report.to_json(tmp_path / "report.json"))
    assert str(read) == text
    # an adjusted mean depends on the group beside which it stands: none is a group's own
    within = audit_of(table, strata="town")
    assert within.picture_names["sex"] == ("numbers-mean",)
    assert "Means, within strata\n" in within.summary(full=True)
    assert [name for name, _ in view_sets(within)[0].groups.headings] == ["Means"]
    # of outcomes alone nothing is said of a model
    assert "Conditional on the model" in report.summary(full=True)
    assert "Conditional on the model" not in audit_of(table).summary(full=True)


def test_differences_in_units_have_a_scale_of_their_own() -> None:
    """A difference of some thousand was drawn on the scale of rates, which ends at 1."""
    report = audit_of(wages(losses=True))
    (chart,) = view_sets(report)[0].charts
    assert chart.kind == "units"
    rows = [row for block in chart.blocks for row in block.rows]
    ends = [abs(end) for row in rows for end in (row.low, row.high)]
    assert max(ends) <= chart.axis.high <= 3 * max(ends)
    (mixed,) = [
        chart
        for chart in view_sets(audit_of(wages(), predicted="predicted"))[0].charts
        if chart.kind == "ratio"
    ]
    assert mixed.axis.high < 10


def test_what_a_report_says_where_numbers_lack_or_do_not_vary() -> None:
    few = wages().iloc[:40].assign(sex=["f"] * 38 + ["m"] * 2)
    with pytest.warns(InsufficientEvidenceWarning):
        text = " ".join(str(audit_of(few)).split())
    assert "Whether the numbers differ cannot be tested: too few rows" in text
    assert "(ratio" not in text
    alike = wages().assign(wage=7.0)
    with pytest.warns(InsufficientEvidenceWarning):
        text = " ".join(str(audit_of(alike)).split())
    assert "too few rows, or numbers that are all alike" in text
    tiny = wages().assign(wage=lambda rows: rows["wage"] * 1e-300)
    with pytest.raises(InputError, match="change the unit"):
        audit_of(tiny)


def test_rows_that_would_settle_a_ratio_of_means() -> None:
    """So many times the rows decide about as often as was asked for.

    Witness: 400 samples of exponential wages whose means have the ratio 1.4 (limit 1.25): of the
    rows told for 80% power .74 to .88 are decided, by a standard error of .02 and the normal form.
    """
    rng = np.random.default_rng(8)

    def sample(n_rows: int) -> pd.DataFrame:
        sex = np.repeat(["f", "m"], n_rows)
        return pd.DataFrame({"sex": sex, "wage": rng.exponential(1 + 0.4 * (sex == "m"))})

    growth = growth_by_interval(
        1.4, (1.4 * 0.8, 1.4 / 0.8), (0.8, 1.25), confidence_level=0.95, level=0.95, log=True
    )
    # closed form: standard error ln(1/.8)/1.96, distance ln(1.4/1.25)
    wanted = ((1.644854 + 0.841621) * math.log(1 / 0.8) / 1.959964 / math.log(1.4 / 1.25)) ** 2
    assert growth == pytest.approx(wanted, rel=1e-5)
    n_rows = 200
    # of exponential numbers the logarithm of the ratio has the variance 2/n
    half = 1.959964 * math.sqrt(2 / n_rows)
    interval = (1.4 * math.exp(-half), 1.4 * math.exp(half))
    needed = growth_by_interval(
        1.4, interval, (0.8, 1.25), confidence_level=0.95, level=0.95, log=True
    )
    decided = 0
    for _ in range(400):
        table = sample(round(needed * n_rows))
        found = fs.means(
            table["wage"], sensitive_features=table["sex"], contrast="ratio", reference="f"
        )
        decided += found.comparisons[0].verdict == "violated"
    assert 0.74 <= decided / 400 <= 0.88


def test_what_is_refused() -> None:
    table = wages()
    with pytest.raises(InputError, match="subgroups without y_true= and y_pred="):
        audit_of(table, subgroups=["town"])
    with pytest.raises(InputError, match="None for both y_true and y_pred"):
        audit_of(table, outcome=None)
    with pytest.raises(InputError, match="without score="):
        audit_of(table, risks=True)


@pytest.mark.r
def test_crosscheck() -> None:
    table = wages()
    columns = {"predicted": "predicted", "strata": "town"}
    found = fs.crosscheck(audit_of(table, **columns), data=table).to_frame()
    assert len(found) > 100
    assert set(found["verdict"]) == {"agrees"}


@pytest.mark.r("jsonlite")
@pytest.mark.parametrize("comparisons", ["reference", "rest", "overall"])
@pytest.mark.parametrize("losses", [False, True])
def test_the_audit_of_r(tmp_path: Path, comparisons: Any, losses: bool) -> None:
    """Every number of `fs.audit` by `fs_audit`: independent code in base R."""
    table = wages(losses=losses)
    report = audit_of(table, predicted="predicted", strata="town", comparisons=comparisons)
    report.to_json(tmp_path / "report.json")
    data = {name: column.tolist() for name, column in table.items()}
    found = call("fs_compare", str(tmp_path / "report.json"), data)
    compared = pd.DataFrame({name: np.atleast_1d(values) for name, values in found.items()})
    assert compared["agree"].astype(bool).all(), compared[~compared["agree"].astype(bool)]
    assert set(compared["metric"]) >= set(report.to_frame()["metric"])
    assert {"estimate", "ci_low", "value", "crude", "pvalue_audit"} <= set(compared["quantity"])
