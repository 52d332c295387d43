"""The pictures: what is drawn where."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import trapezoid

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.madd.mitigator import MaddMitigator
from fairstats.methods.madd.result import MaddResult
from fairstats.plots.madd import plot_histograms

from .conftest import Scored, scored


@pytest.fixture(scope="module")
def result(paper_rows: Scored) -> MaddResult:
    return fs.madd(paper_rows.score, sensitive_features=paper_rows.group, rng=1)


def test_histograms_with_densities(result: MaddResult) -> None:
    axes = result.plot()
    assert axes.get_xlim() == (0, 1)
    labels = [t.get_text() for t in axes.get_legend().get_texts()]
    assert labels == ["0", "1", "MADD in 8 bins"]
    for line in axes.lines:  # densities integrate to 1
        x, y = line.get_data()
        assert trapezoid(y, x) == pytest.approx(1, abs=0.01)
    assert len(axes.lines) == 2
    fine = plot_histograms(result, n_bins=100, densities=False)
    assert not fine.lines
    with pytest.raises(InputError, match="n_bins"):
        plot_histograms(result, n_bins=37)


def test_three_groups_have_no_hatched_area() -> None:
    rng = np.random.default_rng(1)
    result = fs.madd(rng.random(300), sensitive_features=np.arange(300) % 3, rng=1)
    axes = result.plot()
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["0", "1", "2"]


def test_madd_against_the_bandwidth(result: MaddResult) -> None:
    axes = result.plot(kind="curve")
    assert axes.get_xscale() == "log"
    h, madd = axes.lines[0].get_data()
    assert h[0] == 1 / 1000
    assert madd[-1] == 0
    texts = " ".join(t.get_text() for t in axes.get_legend().get_texts())
    assert f"mean {result.headline:.3f}" in texts
    assert f"{result.h_sup:.3f}" in texts
    curve = result.comparisons[0].curve
    assert curve.plot().get_legend() is None


def test_contributions(result: MaddResult) -> None:
    axes = result.plot(kind="contributions")
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["more of 0", "more of 1"]


def test_given_bins_have_no_curve(paper_rows: Scored) -> None:
    given = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, n_bins=10, rng=1)
    with pytest.raises(InputError, match="bandwidth='auto'"):
        given.plot(kind="curve")
    with pytest.raises(InputError, match="kind"):
        given.plot(kind="violin")


def test_losses_and_before_after(paper_rows: Scored) -> None:
    mitigator = MaddMitigator(n_lambdas=51, random_state=1).fit(
        paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group
    )
    axes = mitigator.plot()
    assert len(axes.lines) == 4
    assert axes.lines[-1].get_xdata()[0] == mitigator.lambda_
    new = scored(500, 500, 55)
    effect = mitigator.evaluate(new.score, new.y, sensitive_features=new.group)
    drawn = effect.plot()
    labels = [t.get_text() for t in drawn.get_legend().get_texts()]
    assert labels == ["0, before", "1, before", "0, after", "1, after"]
    apart = [
        np.abs(np.subtract(*(line.get_ydata() for line in pair))).mean()
        for pair in (drawn.lines[:2], drawn.lines[2:])
    ]
    assert apart[1] < 0.3 * apart[0]


def test_given_axes_are_used(result: MaddResult) -> None:
    _, axes = plt.subplots(1, 3)
    for ax, kind in zip(axes, ("histograms", "curve", "contributions"), strict=True):
        assert result.plot(ax, kind=kind) is ax


def test_hostile_names_of_groups(rng: np.random.Generator) -> None:
    """No mathematics, nothing hidden by an underscore, nothing longer than the picture."""
    names = np.array(["$x^{", "_hidden", "<b>" + 80 * "w"])
    result = fs.madd(
        rng.random(300), sensitive_features=np.resize(names, 300), groups=list(names), rng=1
    )
    axes = result.plot()
    axes.figure.canvas.draw()
    labels = [t.get_text() for t in axes.get_legend().get_texts()]
    assert labels[0] == r"\$x^{"
    assert labels[1].strip() == "_hidden"
    assert len(labels[2]) == 40
    result.plot(kind="contributions").figure.canvas.draw()
