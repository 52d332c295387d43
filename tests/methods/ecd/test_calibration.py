"""The part of the ECD calibration that runs with the suite.

The study is `tests/calibration/ecd.py`.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fairstats as fs
from fairstats.methods.ecd import tail

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """`tests.calibration.ecd`, whether or not pytest was started as a module."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    return importlib.import_module("tests.calibration.ecd")


def test_the_study_is_about_the_public_function(study: ModuleType) -> None:
    """The deviance of simulated sample 3 is the statistic of `fs.ecd` on values with that top."""
    rng = np.random.default_rng(1)
    tops = [study.largest(rng, 5, n, 50, -0.2, 0.05) for n in study.SIZES]
    sides = [study.side(top, n) for top, n in zip(tops, study.SIZES, strict=True)]
    deviance = study.deviances(*sides, 0.0)
    values = [
        np.r_[np.zeros(n - 51), top.threshold[3], top.threshold[3] + top.excesses[3]]
        for top, n in zip(tops, study.SIZES, strict=True)
    ]
    found = fs.ecd(
        dict(zip("ab", values, strict=True)),
        privileged="b",
        unprivileged="a",
        backend="scipy",
        n_resamples=0,
        threshold=50,
    )
    # `fs.ecd` interpolates the profiles: roots are right to 1e-4
    assert found.statistic == pytest.approx(deviance[3], abs=1e-4)
    assert found.std_error == pytest.approx(
        float(np.hypot(*(study.delta_errors(s)[3] for s in sides))), rel=1e-4
    )


def test_the_largest_values_have_their_law(study: ModuleType) -> None:
    """Mean of the (k + 1)-th largest of n exponentials: H_n − H_k, within four standard errors."""
    top = study.largest(np.random.default_rng(2), 4000, 1000, 50, 0.0, 1.0)
    wanted = (1 / np.arange(51, 1001)).sum()
    assert top.threshold.mean() == pytest.approx(
        wanted, abs=4 * top.threshold.std() / np.sqrt(4000)
    )
    assert top.excesses.mean() == pytest.approx(1.0, abs=4 / np.sqrt(4000 * 50))
    assert (np.diff(top.excesses, axis=1) <= 0).all()


@pytest.mark.slow
def test_size_and_coverage(study: ModuleType) -> None:
    """25,000 against 3,000: at most 8% at k = 50 and 6.5% at 200, plus three standard errors of
    300 samples; the comparison at own thresholds rejects nearly always.
    """
    size = study.size_study(300, seed=9)
    few = size[size["k"] == 50]
    many = size[size["k"] == 200]
    assert (few["two_sided"] <= 0.08 + 3 * np.sqrt(0.08 * 0.92 / 300)).all()
    assert (many["two_sided"] <= 0.065 + 3 * np.sqrt(0.065 * 0.935 / 300)).all()
    assert (size["own_thresholds"] > 0.9).all()
    assert (size.loc[size["shape"] <= 0, "own_thresholds"] > 0.98).all()
    coverage = study.coverage_study(300, seed=9)
    assert (coverage["coverage"] >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 300)).all()


@pytest.mark.slow
def test_one_sided_limits(study: ModuleType) -> None:
    """3,000 against 25,000 by `fs.ecd`, both errors at most 6%, plus three standard errors of 100
    samples.
    """
    # the ends of a 90% interval
    simulate = study._equal((3_000, 25_000), study._pareto(-0.1), confidence_level=0.9)
    counts = simulate(np.random.default_rng(3), 100)
    for side in ("above", "below"):
        wrong, runs = counts[side]
        assert wrong / runs <= 0.06 + 3 * np.sqrt(0.06 * 0.94 / 100)


@pytest.mark.parametrize(
    ("sizes", "law", "runs"),
    [((1_500, 20_000), "MIXTURE", 8), ((300, 9_000), "STUDENT", 6), ((800, 800), "BETA", 6)],
)
def test_the_cells_ask_what_fs_ecd_asks(
    study: ModuleType, sizes: tuple[int, int], law: str, runs: int
) -> None:
    """Twenty samples: p-value and interval of `compared` are those of the public function, and the
    quick root, by which samples are passed over, is near its likelihood ratio's.
    """
    drawn = study.drawn_samples(np.random.default_rng(3), runs, sizes, getattr(study, law), (), 0.0)
    for row in range(runs):
        values = {
            str(group): np.append(largest[row], np.full(n - largest.shape[1], after[row]))
            for group, (largest, after, n) in enumerate(
                zip(drawn.largest, drawn.next_largest, sizes, strict=True)
            )
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            (c,) = fs.ecd(
                values,
                reference="1",
                backend="scipy",
                n_resamples=0,
                sensitivity=(),
                other_interactions=(),
                rng=row,
                confidence_level=0.9,
            ).comparisons
        pvalue, interval, _ = study.compared(drawn, sizes, row, 0, study.settings_of(0.9))
        assert pvalue == pytest.approx(c.pvalue, abs=1e-12)
        assert tuple(interval) == pytest.approx(tuple(c.confidence_interval), abs=1e-12)
        root = (np.copysign(np.sqrt(c.statistic), c.estimate) - c.root_mean) / c.root_sd
        tails_own_estimate = abs(root - drawn.roots[row, 0])
        # only roots of regular tails decide by themselves; others pass samples over below 1.5
        near = 0.1 if c.method.startswith("likelihood ratio,") else 0.2
        assert min(tails_own_estimate, abs(root + drawn.roots[row, 0])) < near


def test_intervals_are_no_wider_than_was_asked_where_the_former_thresholds_held() -> None:
    """By the record: at most 1.4 times, the interval of the median included; and the first sample of
    a setting is made anew, so that the record is of today's procedure.
    """
    widths = importlib.import_module("tests.calibration.ecd_widths")
    record = {
        (*line["sizes"], line["law"]): line
        for line in json.loads(widths.RECORD.read_text(encoding="utf-8"))
    }
    settings = [*widths.HELD, *widths.FAILED]
    assert set(record) == {(*sizes, law.name) for sizes, law in settings}
    for sizes, law in widths.HELD:
        line = record[(*sizes, law.name)]
        assert line["held"]
        assert line["runs"] >= 60
        assert line["low"] <= line["median"] <= line["high"] <= widths.MOST
    sizes, law = widths.HELD[-1]
    again = widths.ratios(sizes, law, runs=1)
    assert again[0, 0] == pytest.approx(record[(*sizes, law.name)]["first"], abs=0.002)


def test_the_least_number_of_exceedances_is_what_the_search_chose() -> None:
    """By the record of 8,000 samples a setting; one setting anew with 500, within four errors."""
    search = importlib.import_module("tests.calibration.ecd_least")
    lines = json.loads(search.RECORD.read_text(encoding="utf-8"))
    assert [line["least"] for line in lines] == list(search.CANDIDATES)
    assert search.chosen(lines) == tail._FEWEST_DEFAULT
    line = next(one for one in lines if one["least"] == tail._FEWEST_DEFAULT)
    again = search.size_of(line["least"], *search.SETTINGS[0], runs=500)
    share = line["sizes"][0]
    assert again == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 500))
