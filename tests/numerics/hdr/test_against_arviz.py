"""The third witness: ArviZ's multimodal `hdi`, which has its own density and its own bandwidth.

Where ArviZ is missing the file is skipped, as any that imports an optional package.
"""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

from fairstats.numerics.hdr.region import hdr

with warnings.catch_warnings():  # ArviZ and what it imports warn of their own futures
    warnings.simplefilter("ignore")
    import arviz as az


def arviz_hdi(draws: np.ndarray, prob: float, *, multimodal: bool) -> np.ndarray:
    """Intervals from ArviZ 0.x (``hdi_prob=``, ``multimodal=``) or 1.x (``prob=``, ``method=``)."""
    known = inspect.signature(az.hdi).parameters
    options: dict[str, object] = {"hdi_prob" if "hdi_prob" in known else "prob": prob}
    if "method" in known:
        options["method"] = "multimodal" if multimodal else "nearest"
    else:
        options["multimodal"] = multimodal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(az.hdi(draws, **options), dtype=np.float64).reshape(-1, 2)
    return found[np.isfinite(found).all(axis=1)]


@pytest.mark.parametrize("prob", [0.5, 0.9, 0.95])
def test_one_mode(rng: np.random.Generator, prob: float) -> None:
    """ArviZ's interval is the shortest with that share of the draws.

    Within four Monte Carlo errors.
    """
    draws = rng.gamma(3.0, size=20_000)
    ours = hdr(draws, prob)
    assert (
        np.abs(arviz_hdi(draws, prob, multimodal=False) - ours.intervals) < 4 * ours.errors + 0.02
    ).all()


@pytest.mark.parametrize("prob", [0.8, 0.9, 0.95])
def test_two_modes(rng: np.random.Generator, prob: float) -> None:
    """Another bandwidth, and ends on ArviZ's grid of 512 points: 2% of the range."""
    draws = np.concatenate([rng.normal(-3, 0.7, 12_000), rng.normal(3, 1.0, 8_000)])
    ours = hdr(draws, prob).intervals
    theirs = arviz_hdi(draws, prob, multimodal=True)
    assert np.shape(theirs) == np.shape(ours)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=0.02 * np.ptp(draws))
