"""ECD through R: extRemes, or evd where only that is installed."""

from __future__ import annotations

import numpy as np
import pytest

import fairstats as fs


@pytest.mark.r("evd")
def test_the_same_through_r() -> None:
    """Live R: parameters within 1e-4 standard errors (`vignettes/methods.md`).

    Levels and intervals.
    """
    rng = np.random.default_rng(3)
    cd = {"white": 0.3 * rng.beta(2, 8, 8000), "black": 0.5 * rng.beta(2, 8, 3000)}
    theirs, ours = (
        fs.ecd(cd, privileged="white", unprivileged="black", backend=b, n_resamples=0)
        for b in ("r", "scipy")
    )
    assert theirs.backend.startswith(("r: extRemes", "r: evd"))
    for group in ("white", "black"):
        a = theirs[group].fit
        b = ours[group].fit
        for name, value in a.params.items():
            assert abs(value - b.params[name]) < 1e-4 * b.std_error[name]
    assert theirs.estimate == pytest.approx(ours.estimate, abs=1e-4 * ours.std_error)
    assert theirs.confidence_interval.low == pytest.approx(ours.confidence_interval.low, abs=1e-9)
    assert theirs.pvalue == pytest.approx(ours.pvalue, rel=1e-6)
