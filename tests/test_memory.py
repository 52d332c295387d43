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
def ask(n, b):
    data = {data}
    before = peak()
    {call}
    return peak() - before

ask(2_000, {few})
print(ask(10**5, {resamples}))
"""

#: Name → what the call is given, of n values; the call, of so many resamples; how many, first on few
#: values.
CALLS = {
    "goodness_of_fit": (
        "evt.fit_gpd(exceedances(n), threshold=0.0)",
        "evt.goodness_of_fit(data, n_resamples=b, rng=1)",
        (20, 99),
    ),
    "choose_threshold": (
        "exceedances(n)",
        "evt.choose_threshold(data, n_resamples=b, rng=1)",
        (20, 49),
    ),
    "threshold_tests": (
        "exceedances(n)",
        "evt.threshold_tests(data, n_resamples=b, rng=1)",
        (20, 99),
    ),
    "abroca": (
        "rows(n)",
        "fs.abroca(data[2], data[1], sensitive_features=data[0], n_resamples=b, rng=1)",
        (100, 999),
    ),
    "madd": (
        "rows(n)",
        "fs.madd(data[1], sensitive_features=data[0], n_resamples=b, rng=1)",
        (100, 999),
    ),
    "hfm": (
        "rows(n)",
        "fs.hfm(data[4], data[2], data[3], sensitive_features=data[0], n_resamples=b, rng=1)",
        (9, 199),
    ),
    "um_posterior": (
        "rows(n)",
        "fs.um_posterior(data[2], data[3], sensitive_features=data[0], draws=1_000 * b, rng=1)",
        (10, 100),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_at_most_64_megabytes(name: str) -> None:
    data, call, (few, resamples) = CALLS[name]
    measured = MEASURED.format(data=data, call=call, few=few, resamples=resamples)
    program = PREPARED + measured
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stderr[-2_000:]
    assert float(ran.stdout) <= MOST_MEGABYTES, ran.stdout
