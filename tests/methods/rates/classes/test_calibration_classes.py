"""What the calibration table of several classes computes at once is what `group_metric` says."""

from __future__ import annotations

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.multiplicity import normal_quantile
from fairstats.results import ClassCounts
from tests.calibration.classes import _settings, answered, limits_beyond, simulate_mean

SETTINGS = list(_settings())


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
@pytest.mark.parametrize(
    ("rate", "contrast"),
    [
        ("tpr", "difference"),
        ("ppv", "difference"),
        ("tpr", "ratio"),
        ("f1", "difference"),
        ("fpr", "difference"),
    ],
)
@pytest.mark.parametrize("setting", [SETTINGS[1], SETTINGS[6]], ids=["3 classes", "5 classes"])
def test_limits_lie_where_the_public_function_has_them(
    rate: str, contrast: str, setting: object
) -> None:
    rng = np.random.default_rng(5)
    cells = setting.law.cells(), setting.reference.cells()  # type: ignore[attr-defined]
    sizes = (setting.n, setting.n_reference)  # type: ignore[attr-defined]
    pair = []
    for law, n in zip(cells, sizes, strict=True):
        pair.append(rng.multinomial(n, law.ravel(), 3).reshape(-1, *law.shape))
    known = answered(pair, rate, contrast)
    for place in range(3):
        tables = {"s": pair[0][place], "l": pair[1][place]}
        comparison = fs.group_metric(
            metric=f"{rate}_{contrast}",
            counts=ClassCounts.from_tables(tables),
            classes="macro",
            reference="l",
        ).comparisons[0]
        assert (comparison.verdict != "insufficient evidence") == known[place]
        if not known[place]:
            continue
        one = [tables_of_side[place : place + 1].astype(float) for tables_of_side in pair]
        low, high = comparison.confidence_interval
        for limit, side in ((low, 0), (high, 1)):
            inner, outer = (limit - 1e-6, limit + 1e-6)
            z = normal_quantile(0.975)
            beyond = [
                bool(limits_beyond(one, rate, contrast, truth, z)[side][0])
                for truth in (inner, outer)
            ]
            assert beyond == ([True, False] if side == 0 else [False, True])


def test_errors_at_small_unequal_rare_classes() -> None:
    """A limit errs in at most .065 of 2,000 samples at a nominal .05 (Monte Carlo error .005)."""
    for setting in (SETTINGS[0], SETTINGS[1], SETTINGS[5], SETTINGS[6]):
        for rate, contrast in (("tpr", "difference"), ("f1", "difference"), ("tpr", "ratio")):
            rng = np.random.default_rng(35)
            counts = simulate_mean(setting, rate, contrast, rng, 2_000)
            if counts["answered"][0] < 200:
                continue
            for kind in ("false violated", "false satisfied"):
                assert counts[kind][0] <= 0.065 * 2_000, (setting.words, rate, contrast)


def test_small_groups_are_answered_with_a_reason() -> None:
    tables = {"s": np.eye(3, dtype=int) * 5, "l": np.eye(3, dtype=int) * 50}
    with pytest.warns(InsufficientEvidenceWarning, match="5 rows of one class"):
        fs.group_metric(metric="f1", counts=ClassCounts.from_tables(tables), classes="macro")
