"""Memory of routines that resample: at most 64 MB above their input at 10⁵ values, in a process of
their own.

The most that the process ever held (`ru_maxrss`) before and after the call, which loads its modules
on few values first: what arrays take beside Python's own objects, freed or not.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
MOST_MEGABYTES = 64.0

PREPARED = """
import resource, sys
import numpy as np
import fairstats as fs
from fairstats.numerics import evt

def rows(n):
    rng = np.random.default_rng(1)
    score = rng.random(n)
    label = (rng.random(n) < score).astype(int)
    return rng.integers(0, 2, n), score, label, (score > 0.5).astype(int), rng.normal(size=(n, 4))

def exceedances(n):
    return np.random.default_rng(1).exponential(size=n)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""

MEASURED = """
ask(2_000, 19)
inputs = rows(10**5), exceedances(10**5)
before = peak()
ask(10**5, resamples)
print(peak() - before)
"""

#: Name → the call of n values and so many resamples, and how many.
CALLS = {
    "goodness_of_fit": (
        "evt.goodness_of_fit(evt.fit_gpd(exceedances(n), threshold=0.0), n_resamples=b, rng=1)",
        99,
    ),
    "choose_threshold": ("evt.choose_threshold(exceedances(n), n_resamples=b, rng=1)", 49),
    "threshold_tests": ("evt.threshold_tests(exceedances(n), n_resamples=b, rng=1)", 99),
    "abroca": (
        "fs.abroca(rows(n)[2], rows(n)[1], sensitive_features=rows(n)[0], n_resamples=b, rng=1)",
        999,
    ),
    "madd": ("fs.madd(rows(n)[1], sensitive_features=rows(n)[0], n_resamples=b, rng=1)", 999),
    "hfm": (
        "fs.hfm(rows(n)[4], rows(n)[2], rows(n)[3], sensitive_features=rows(n)[0],"
        " n_resamples=b, rng=1)",
        19,
    ),
    "um_posterior": (
        "fs.um_posterior(rows(n)[2], rows(n)[3], sensitive_features=rows(n)[0],"
        " draws=1_000 * max(b, 1), rng=1)",
        100,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_at_most_64_megabytes(name: str) -> None:
    call, resamples = CALLS[name]
    if name in ("choose_threshold", "threshold_tests", "goodness_of_fit"):
        few = 20
    else:
        few = 100
    program = (
        f"{PREPARED}\nresamples = {resamples}\ndef ask(n, b):\n    b = max(b, {few})\n"
        f"    return {call}\n{MEASURED}"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stderr[-2_000:]
    assert float(ran.stdout) <= MOST_MEGABYTES, ran.stdout
