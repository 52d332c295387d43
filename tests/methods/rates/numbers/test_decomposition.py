"""Gaps split into what circumstances explain and the rest.

Witnesses: statsmodels' `OaxacaBlinder` (two-fold, coefficients of one group), Kitagawa's sums by
hand, Welch's standard error, simulation, and R's `glm`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.stats.oaxaca import OaxacaBlinder

import fairstats as fs
from fairstats.ground.errors import (
    InputError,
    InsufficientEvidenceWarning,
    MissingValuesWarning,
)
from tests.calibration.decomposition import SETTINGS, simulate


def people(n: int = 600, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["m", "f"], n, p=[0.6, 0.4]),
            "branch": rng.choice(["a", "b", "c"], n),
        }
    )
    is_woman = (frame["sex"] == "f").to_numpy()
    frame["years"] = rng.gamma(4, np.where(is_woman, 2.0, 3.0))
    by_branch = 2 * (frame["branch"] == "b")
    frame["wage"] = 15 + 0.8 * frame["years"] + by_branch - is_woman + rng.normal(0, 2, n)
    frame["hired"] = rng.random(n) < 1 / (1 + np.exp(1 - 0.1 * frame["years"]))
    frame["hired"] = frame["hired"].astype(int)
    frame["weight"] = rng.lognormal(0, 0.5, n)
    frame["town"] = is_woman * 100.0 + rng.integers(0, 80, n)
    return frame


def split(frame: pd.DataFrame, y: str = "wage", **options: Any) -> dict[str, Any]:
    given = {"circumstances": frame[["years", "branch"]], "reference": "m", **options}
    result = fs.decompose(frame[y], sensitive_features=frame["sex"], **given)
    return {row.metric: row for row in result.comparisons}


def test_linear_parts_are_those_of_statsmodels() -> None:
    frame = people()
    design = sm.add_constant(
        frame[["years"]].assign(
            b=frame["branch"].eq("b") * 1.0,
            c=frame["branch"].eq("c") * 1.0,
            sex=frame["sex"].eq("m") * 1.0,
        )
    )
    model = OaxacaBlinder(frame["wage"], design, "sex", hasconst=True, swap=False)
    unexplained, explained, gap = model.two_fold(
        two_fold_type="self_submitted", submitted_weight=0
    ).params
    ours = split(frame)
    assert abs(ours["gap"].estimate) == pytest.approx(abs(gap), rel=1e-9)
    assert {round(abs(ours["explained"].estimate), 8), round(abs(ours["rest"].estimate), 8)} == {
        round(abs(explained), 8),
        round(abs(unexplained), 8),
    }


def test_parts_add_up_and_the_gap_is_that_of_means() -> None:
    frame = people()
    for y in ("wage", "hired"):
        ours = split(frame, y)
        assert ours["gap"].estimate == pytest.approx(
            ours["explained"].estimate + ours["rest"].estimate, rel=1e-10
        )
        means = frame.groupby("sex")[y].mean()
        assert ours["gap"].estimate == pytest.approx(means["f"] - means["m"], rel=1e-10)
        assert ours["rest"].rate_reference == ours["explained"].rate
        errors = frame.groupby("sex")[y].sem()
        welch = math.hypot(errors["f"], errors["m"])
        assert ours["gap"].std_error == pytest.approx(welch, rel=1e-9)


@pytest.mark.parametrize("regression", ["linear", "logistic"])
def test_with_one_kind_of_circumstance_it_is_kitagawas(regression: str) -> None:
    frame = people()
    ours = split(frame, "hired", circumstances=frame["branch"], regression=regression)
    rates = frame.groupby(["sex", "branch"])["hired"].mean()
    mix = frame.groupby("sex")["branch"].value_counts(normalize=True).unstack()
    explained = ((mix.loc["f"] - mix.loc["m"]) * rates["m"]).sum()
    rest = (mix.loc["f"] * (rates["f"] - rates["m"])).sum()
    assert ours["explained"].estimate == pytest.approx(explained, abs=1e-9)
    assert ours["rest"].estimate == pytest.approx(rest, abs=1e-9)


def test_units_of_circumstances_do_not_matter() -> None:
    frame = people()
    plain = split(frame)
    other = frame[["branch"]].assign(months=12 * frame["years"] + 1e4, again=frame["years"])
    for part, row in split(frame, circumstances=other).items():
        assert row.estimate == pytest.approx(plain[part].estimate, rel=1e-6)


def test_weights_are_copies_of_rows_in_clusters() -> None:
    frame = people(200)
    times = np.random.default_rng(1).integers(1, 4, len(frame))
    copies = frame.loc[frame.index.repeat(times)].reset_index(drop=True)
    copies["row"] = np.repeat(np.arange(len(frame)), times)
    weighted = split(frame, sample_weight=times, cluster=np.arange(len(frame)))
    copied = split(copies, cluster=copies["row"])
    for part, row in weighted.items():
        assert row.estimate == pytest.approx(copied[part].estimate, rel=1e-9)
        # leverage is that of rows, so of copies a little less
        assert row.std_error == pytest.approx(copied[part].std_error, rel=0.02)


def test_circumstances_that_the_reference_lacks_are_no_answer() -> None:
    frame = people()
    frame.loc[(frame["sex"] == "f") & (frame.index % 3 == 0), "branch"] = "d"
    with pytest.warns(InsufficientEvidenceWarning, match="no row of the reference has"):
        rows = split(frame)
    assert {row.verdict for row in rows.values()} == {"insufficient evidence"}


def test_few_rows_are_refused_by_their_number() -> None:
    frame = people()
    women = frame[frame["sex"] == "f"].head(19)
    with pytest.warns(InsufficientEvidenceWarning, match="fewer than 20"):
        split(pd.concat([frame[frame["sex"] == "m"], women]))
    men = frame[frame["sex"] == "m"].head(49)
    with pytest.warns(InsufficientEvidenceWarning, match="fewer than 50"):
        split(pd.concat([frame[frame["sex"] == "f"], men]))


def test_a_regression_without_finite_coefficients_is_no_answer() -> None:
    frame = people()
    frame["hired"] = (frame["years"] > 8).astype(int)
    with pytest.warns(InsufficientEvidenceWarning, match="no finite coefficients"):
        split(frame, "hired")


def test_missing_circumstances_are_counted() -> None:
    frame = people()
    frame.loc[:9, "branch"] = None
    with pytest.raises(InputError, match="missing"):
        split(frame)
    with pytest.warns(MissingValuesWarning):
        dropped = split(frame, missing="drop")
    assert dropped["gap"].estimate == pytest.approx(split(frame.dropna())["gap"].estimate)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"regression": "logistic"}, "y"),
        ({"regression": "probit"}, "regression"),
        ({"reference": "highest"}, "reference"),
        ({"circumstances": {}}, "circumstances"),
        ({"margin": -1}, "margin"),
    ],
)
def test_what_cannot_be_used_is_named(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError, match=f"`{argument}"):
        split(people(), **options)


def test_words_keep_description_from_cause() -> None:
    frame = people()
    result = fs.decompose(
        frame["wage"], sensitive_features=frame["sex"], circumstances=frame[["years"]]
    )
    assert "A description, not a cause" in result.summary()
    assert "the regression of m expects" in result.sentences()[1]
    assert fs.results.Result.from_dict(result.to_dict()).to_dict() == result.to_dict()
    assert len(result.plot().get_yticklabels()) == 3


@pytest.mark.parametrize("setting", SETTINGS[::3], ids=lambda setting: setting.words)
def test_intervals_hold_what_they_promise(setting: Any) -> None:
    """A small part of the cells: with 300 samples .05 ± .025."""
    counts = simulate(setting, np.random.default_rng(11), 300, parts=("explained", "rest"))
    for part in counts.values():
        held, n = part["coverage"]
        assert n == 300
        assert 0.91 <= held / n <= 0.99


@pytest.mark.r
@pytest.mark.parametrize("design", [{}, {"sample_weight": "weight"}, {"cluster": "town"}])
@pytest.mark.parametrize("y", ["wage", "hired"])
def test_every_number_is_the_one_of_r(y: str, design: dict[str, str]) -> None:
    frame = people()
    columns = {argument: frame[name] for argument, name in design.items()}
    circumstances = frame[["years", "branch"]]
    result = fs.decompose(
        frame[y],
        sensitive_features=frame["sex"],
        circumstances=circumstances,
        margin=0.05,
        **columns,
    )
    data = {"y": frame[y], "sensitive_features": frame["sex"], "circumstances": circumstances}
    table = fs.crosscheck(result, data={**data, **columns}).to_frame()
    assert len(table) > 50
    assert set(table["verdict"]) == {"agrees"}
    without = fs.crosscheck(result).to_frame()
    assert "needs --data" in set(without["verdict"])
