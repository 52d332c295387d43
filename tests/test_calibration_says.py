"""Where a cell of the calibration table claims less than "valid", the docstring and the result say so.

Every such cell falls under a row of `SAID`: words of a docstring, and for what "fails" a sentence that a
result carries whose own data are in that regime. A new cell without a row fails the first test.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fairstats as fs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the folder of studies is no part of the package

from tests.calibration import __main__ as command  # noqa: E402


def _rates(k0: int, n0: int, k1: int, n1: int, **options: Any) -> list[str]:
    """Notes of a ratio of two rates; the first group is small."""
    counts = fs.results.SelectionCounts.from_counts({"small": (k0, n0 - k0), "large": (k1, n1 - k1)})
    return fs.disparate_impact(counts=counts, reference="large", **options).notes()


def _differences(k0: int, n0: int, k1: int, n1: int, **options: Any) -> list[str]:
    counts = fs.results.SelectionCounts.from_counts({"small": (k0, n0 - k0), "large": (k1, n1 - k1)})
    return fs.demographic_parity_difference(counts=counts, reference="large", **options).notes()


def _weighted(function: Any, option: str) -> list[str]:
    """Fourteen of 60 rows of the small group are selected, by weights or clusters of two."""
    y = np.r_[np.ones(14), np.zeros(46), np.tile([1, 0], 150)].astype(int)
    rng = np.random.default_rng(1)
    units = rng.uniform(0.8, 1.2, 360)
    if option == "cluster":
        units = np.concatenate([rng.permutation(60), 60 + rng.permutation(300)]) // 2
    group = np.repeat(["small", "large"], [60, 300])
    result = function(y_pred=y, sensitive_features=group, reference="large", **{option: units})
    assert result.verdict != "insufficient evidence"
    return list(result.notes())


def _tail(n: int) -> Any:
    x = np.random.default_rng(2).exponential(size=20 * n)
    return fs.evt.fit_gpd(x, np.sort(x)[-n - 1])


def _posterior(prior: str, groups: int) -> list[str]:
    counts = {f"g{g}": {"tp": 48, "tn": 47, "fp": 3, "fn": 2} for g in range(groups)}
    return list(fs.um_posterior(counts=counts, prior=prior, rng=1).notes())


@cache
def _rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 2))
    return X, (X[:, 0] + rng.normal(size=160) > 0).astype(int), rng.integers(0, 2, 160)


def _cross_validated() -> list[str]:
    from sklearn.linear_model import LogisticRegression

    X, y, group = _rows()
    found = fs.um_cross_validate(
        LogisticRegression(), X, y, sensitive_features=group, cv=3, correlation="1/K", rng=1, progress=False
    )
    return list(found.notes())


def _estimators() -> list[str]:
    from sklearn.linear_model import LogisticRegression

    X, y, group = _rows()
    models = {"one": LogisticRegression(), "other": LogisticRegression(C=0.01)}
    found = fs.um_compare_estimators(
        models, X, y, sensitive_features=group, metrics="accuracy", cv=3, correlation="1/K", rng=1,
        progress=False,
    )  # fmt: skip
    return list(found.notes())


def _few_in_strata() -> list[str]:
    """Eight of a group in two strata."""
    y = np.r_[np.zeros(8), np.tile([1, 1, 0], 20)].astype(int)
    group, stratum = np.repeat(["small", "large"], [8, 60]), np.r_[np.repeat([1, 2], 4), np.repeat([1, 2], 30)]
    result = fs.disparate_impact(y, sensitive_features=group, strata=stratum, reference="large")
    return list(result.notes())


class Said(NamedTuple):
    """Cells (patterns of room, method, and remark or regime), words of a docstring, words of a result."""

    room: str
    method: str
    why: str
    where: Any
    words: str
    result: Callable[[], list[str]] | None = None
    note: str = ""


RATIO, DIFFERENCE, EVT = fs.disparate_impact, fs.demographic_parity_difference, fs.evt
FEW = "may be too narrow where fewer than 5 successes or failures are expected"
LIBERAL = "too liberal beside a small group"
SELECTION = "a selection"
SAID = (
    Said("rates", r"worst_case_bounds", "", fs.results.RatioResult.worst_case_bounds, "conservative"),
    *(
        Said("rates", rf"{f.__name__}\({option}", "statistics are shrunk|a selection", f, SELECTION,
             lambda f=f, option=option: _weighted(f, option), "small: few effective successes or failures")
        for f in (RATIO, DIFFERENCE) for option in ("cluster", "sample_weight")
    ),
    Said("rates", r"\(agg='max'", "", DIFFERENCE, "coverage is at least nominal"),
    Said("rates", r"simultaneous=|reference='highest'", "", RATIO, "coverage is at least nominal"),
    *(
        Said("rates", rf"{f.__name__}\(method='{method}'\)", "", f, LIBERAL,
             lambda make=make, method=method: make(9, 30, 45, 100, method=method), LIBERAL)
        for f, make, methods in ((RATIO, _rates, ("log", "delta")), (DIFFERENCE, _differences, ("delta",)))
        for method in methods
    ),
    *(
        Said("rates", rf"{f.__name__}\(method='bootstrap'\)", "", f, "fewer than 5",
             lambda make=make: make(3, 30, 4, 30, method="bootstrap", n_resamples=199, rng=1),
             "may be far off")
        for f, make in ((RATIO, _rates), (DIFFERENCE, _differences))
    ),
    Said("rates", r"disparate_impact\(\)", "below five", RATIO, FEW, lambda: _rates(2, 40, 100, 2000), FEW),
    Said("rates", r"parity_difference\(", "below five", DIFFERENCE, FEW,
         lambda: _differences(2, 40, 100, 2000), FEW),
    Said("rates", r"", "COMPAS resampled, .* of four groups", RATIO, FEW),
    Said("rates", r"group_metric\(metric='(f1|mcc|.*_ratio)", "", fs.group_metric, "they are conservative"),
    Said("strata", r"disparate_impact", "fewer than 20", RATIO, "With fewer than 20 cases of a group", _few_in_strata,
         "only equality is tested within strata"),
    Said("strata", r"equality|homogeneity|Breslow", "", fs.rates.stratified, "In small strata they are conservative"),
    Said("evt", r"exponentiality_test\(max_looks", "", EVT.exponentiality_test, "conservative"),
    Said("evt", r"exponentiality_test\(rule", "", EVT.exponentiality_test, "not a critical value",
         lambda: EVT.exponentiality_test(np.arange(1.0, 500.0), rule="paper_raw").notes(),
         "it has no error level"),
    Said("evt", r"fit_gpd", "χ² is too short", EVT.fit_gpd, "Below 100 exceedances",
         lambda: _tail(30).notes(), "a little too narrow"),
    Said("evt", r"empirical_return_level", "", EVT.empirical_return_level, "conservative"),
    Said("evt", r"mean_residual_life", "", EVT.mean_residual_life, "A picture to look at",
         lambda: EVT.mean_residual_life(np.random.default_rng(1).pareto(2, 1000)).notes(), "are too short"),
    Said("evt", r"extremal_index", "", EVT.extremal_index, "it covers .88",
         lambda: EVT.extremal_index(np.random.default_rng(1).exponential(size=1000), 3.0, rng=1).notes(),
         "somewhat too narrow"),
    Said("evt", r"choose_threshold", "", EVT.choose_threshold, "conservative"),
    Said("hfm", r"hfm", "nearly without power", fs.hfm, "nearly without power"),
    Said("hfm", r"hfm", "", fs.hfm, "conservative"),
    Said("hfm", r"discriminative_risk", "", fs.discriminative_risk, "conservative by construction"),
    Said("hfm", r"rank_rules", "", fs.rank_rules, "conservative"),
    Said("madd", r"madd", "", fs.madd, "conservative"),
    Said("paired", r"MaddMitigator", "", fs.MaddMitigator.evaluate, "conservative"),
    Said("paired", r"compare_models", "", fs.compare_models, "the interval is wide"),
    Said("power", r"abroca", "", fs.abroca, "It is conservative"),
    Said("ecd", r"scores on a grid", "", fs.ecd, "on a coarse grid it is conservative"),
    Said("ecd", r"synthetic_quality", "", fs.synthetic_quality, "conservative"),
    *(
        Said("um", rf"um_posterior\(prior='{prior}'\)\.metric\('(accuracy|equal_opp)", "", fs.um_posterior,
             "with fewer than about 10", lambda prior=prior: _posterior(prior, 8), "errors")
        for prior in ("uniform", "jeffreys", "perks")
    ),
    Said("um", r"demographic_parity_max", "", fs.um_posterior, "never 0 among draws",
         lambda: _posterior("uniform", 8), "never 0 among draws"),
    Said("um", r"um_compare\(", "", fs.um_compare, "conservative"),
    Said("um", r"um_cross_validate", "", fs.um_cross_validate, "demographic parity in 78 to 86% of samples",
         _cross_validated, "held its demographic parity in 78 to 86%"),
    Said("um", r"um_compare_estimators", "", fs.um_compare_estimators, "leave out the spread between",
         _estimators, "held its demographic parity in 78 to 86%"),
)  # fmt: skip


def test_every_cell_that_claims_less_has_its_words() -> None:
    """Peers apart: nothing is claimed for them."""
    lacking = []
    for cell in command.cells().values():
        if cell.claim == "valid" or cell.room == "peers":
            continue
        own = [
            said
            for said in SAID
            if said.room == cell.room
            and re.search(said.method, cell.method)
            and re.search(said.why, f"{cell.remark} {cell.regime}")
        ]
        if not own or (cell.claim == "fails" and not any(said.result for said in own)):
            lacking.append(cell.key)
    assert lacking == []


@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said.room} {said.method} {said.why}")
def test_docstring_and_result_say_so(said: Said) -> None:
    assert said.words in " ".join(said.where.__doc__.split())
    if said.result is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            assert said.note in " ".join(said.result())
