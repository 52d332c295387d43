"""Plots: what is drawn is what the result says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError

from .conftest import TABLE, cells

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
import matplotlib.pyplot as plt  # noqa: E402

OTHER: dict[str, Any] = {"men": cells(430, 370, 130, 70), "women": cells(165, 225, 75, 35)}


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


def test_posterior_of_two_metrics() -> None:
    ax = fs.um_posterior(counts=TABLE, rng=1).plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("accuracy", "equal_opportunity_max")
    assert "95%" in ax.get_title()


def test_posterior_of_one_metric_and_of_the_odds() -> None:
    posterior = fs.um_posterior(counts=TABLE, rng=1)
    ax = posterior.plot("tpr")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("tpr", "density")
    odds = posterior.plot("equalized_odds", prob=0.5)
    assert odds.get_xlabel() == "equalized_odds (TPR)"
    with pytest.raises(InputError, match="two at a time"):
        posterior.plot(("accuracy", "f1", "tpr"))


@pytest.mark.parametrize("hdr", [None, 0.9])
def test_comparison_shows_rope_and_probabilities(hdr: Any) -> None:
    first = fs.um_posterior(counts=TABLE, rng=1)
    second = fs.um_posterior(counts=OTHER, rng=1)
    result = fs.um_compare(first, second, rope=(0.01, 0.02), hdr=hdr, rng=1)
    fig, ax = plt.subplots()
    assert result.plot(ax) is ax
    box = ax.patches[0]
    assert np.allclose(
        [box.get_x(), box.get_y(), box.get_width(), box.get_height()], [-0.01, -0.02, 0.02, 0.04]
    )
    said = {t.get_text() for t in ax.texts}
    assert said == {
        f"P({e.name}) = {e.probability:.2f}" for k, e in enumerate(result.events) if k != 2
    }
    assert ("given ΔΘ in its 90% HDR" in ax.get_title()) == (hdr is not None)
    fig.canvas.draw()


def test_comparison_of_one_metric_has_no_such_plot() -> None:
    posterior = fs.um_posterior(counts=TABLE, rng=1)
    with pytest.raises(InputError, match="two metrics"):
        fs.um_compare(posterior, posterior, metrics="accuracy", rope=0.01, rng=1).plot()
