"""Resamples of extreme values are drawn in blocks: the same answers, and memory that does not grow.

Witness of the answers: all resamples in one block, by the same stream of random numbers. Witness of
memory: the peak of all arrays (NumPy reports them to tracemalloc) in a child process, where no
other test has left any.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairstats.numerics import draws
from fairstats.numerics.evt import fit_gev, fit_gpd, goodness_of_fit, threshold_tests
from fairstats.numerics.evt.bootstrap import resampled_levels, simulated_deviances

_EXPONENTIAL = np.random.default_rng(1).exponential(size=600)
_N_RESAMPLES = 39
#: Megabytes above the input.
_MOST_MEMORY = 64.0


def tail_test(fit: Any) -> list[float]:
    found = goodness_of_fit(fit, n_resamples=_N_RESAMPLES, rng=1)
    return [found.statistic, found.pvalue]


def answers_of_a_tail() -> list[float]:
    return tail_test(fit_gpd(_EXPONENTIAL, threshold=0.5))


def answers_of_rounded_values() -> list[float]:
    return tail_test(fit_gpd(np.round(_EXPONENTIAL, 1), threshold=0.5))


def answers_of_maxima() -> list[float]:
    maxima = np.random.default_rng(2).gumbel(size=120)
    return tail_test(fit_gev(maxima))


def change_of_shape() -> list[float]:
    found = threshold_tests(_EXPONENTIAL, [0.1, 0.5, 1.0], n_resamples=_N_RESAMPLES, rng=1)
    return [found.change_pvalue]


def levels_of_maxima() -> list[float]:
    fit = fit_gev(np.random.default_rng(2).gumbel(size=120))
    return resampled_levels(fit, 5.0, _N_RESAMPLES, np.random.default_rng(3)).tolist()


@pytest.mark.parametrize(
    "answers",
    [
        answers_of_a_tail,
        answers_of_rounded_values,
        answers_of_maxima,
        change_of_shape,
        levels_of_maxima,
    ],
)
def test_blocks_of_two_samples_answer_as_one_block(
    answers: Callable[[], list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answers()
    monkeypatch.setattr(draws, "NUMBERS_PER_BLOCK", 1_200)
    np.testing.assert_allclose(answers(), whole, rtol=1e-9)


def test_deviances_in_blocks_have_the_law_of_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of different sizes share the width of their block: other draws of the same law."""
    fit = fit_gpd(_EXPONENTIAL, threshold=1.0)
    level = float(fit.return_level(2_000.0).estimate)
    asked = (fit, float(np.log(2_000.0)), level, 400)
    whole = simulated_deviances(*asked, np.random.default_rng(1))
    monkeypatch.setattr(draws, "NUMBERS_PER_BLOCK", 10_000)
    blocks = simulated_deviances(*asked, np.random.default_rng(2))
    assert blocks.size == whole.size == 400
    # four Monte Carlo errors of a difference of two means of 400 deviances
    error = float(np.hypot(whole.std(), blocks.std()) / 20.0)
    assert abs(float(whole.mean() - blocks.mean())) < 4.0 * error


_MEMORY = """
import sys, tracemalloc, warnings
import numpy as np
from fairstats.numerics.evt import fit_gev, fit_gpd, goodness_of_fit, threshold_tests
from fairstats.numerics.evt.bootstrap import resampled_levels

warnings.simplefilter("ignore")
values = np.random.default_rng(1).exponential(size=100_000)
if sys.argv[1] == "goodness_of_fit":
    fit = fit_gpd(values, threshold=0.0)
    ask = lambda: goodness_of_fit(fit, n_resamples=39, rng=1)
elif sys.argv[1] == "rounded":
    fit = fit_gpd(np.round(values, 1), threshold=0.0)
    ask = lambda: goodness_of_fit(fit, n_resamples=39, rng=1)
elif sys.argv[1] == "threshold_tests":
    ask = lambda: threshold_tests(values, [0.1, 1.0, 2.0], n_resamples=39, rng=1)
else:
    fit = fit_gev(values)
    ask = lambda: resampled_levels(fit, 5.0, 39, np.random.default_rng(1))
tracemalloc.start()
ask()
sys.stdout.write(str(tracemalloc.get_traced_memory()[1] / 1e6))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", ["goodness_of_fit", "rounded", "threshold_tests", "levels of maxima"]
)
def test_resamples_of_100_000_values_stay_below_64_megabytes(what: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", _MEMORY, what], capture_output=True, text=True, check=True
    )
    assert float(child.stdout) < _MOST_MEMORY
