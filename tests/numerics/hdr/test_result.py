"""What a result shows and carries."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from fairstats.ground.errors import InputError
from fairstats.ground.results import TIDY_COLUMNS
from fairstats.numerics.hdr.region import hdr
from fairstats.numerics.hdr.result import HdrResult

DRAWS = np.concatenate(
    [np.random.default_rng(1).normal(-2, 0.7, 600), np.random.default_rng(2).normal(2, 1, 400)]
)
PLANE = np.random.default_rng(3).standard_normal((300, 2))
SPACE = np.random.default_rng(4).standard_normal((300, 4))


def test_one_probability_gives_plain_values() -> None:
    result = hdr(DRAWS, 0.9)
    assert result.intervals.shape == result.errors.shape == (2, 2)
    assert isinstance(result.falpha, float)
    assert isinstance(result.mode, float)
    assert result.prob == 0.9
    assert result.n == 1000
    assert result.backend.startswith("scipy ")


def test_several_probabilities_give_tuples_in_their_order() -> None:
    result = hdr(DRAWS, [0.9, 0.1, 0.5])
    assert result.prob == (0.9, 0.1, 0.5)
    assert len(result.intervals) == len(result.falpha) == len(result.mass) == 3
    assert result.falpha[1] > result.falpha[2] > result.falpha[0]


def test_frame_has_one_row_per_interval() -> None:
    frame = hdr(DRAWS, [0.5, 0.9]).to_frame()
    assert list(frame.columns[: len(TIDY_COLUMNS)]) == list(TIDY_COLUMNS)
    assert frame.groupby("prob").size().to_dict() == {0.5: 1, 0.9: 2}
    assert ((frame["ci_low"] <= frame["estimate"]) & (frame["estimate"] <= frame["ci_high"])).all()
    assert frame.groupby("prob")["mass"].sum().tolist() == pytest.approx([0.5, 0.9], abs=2e-3)
    assert (frame[["low_error", "high_error"]] > 0).all(axis=None)


def test_frame_has_one_row_per_region_on_the_plane() -> None:
    frame = hdr(PLANE, [0.5, 0.9]).to_frame()
    assert frame["metric"].tolist() == ["area", "area"]
    assert (frame["std_error"] > 0).all()


@pytest.mark.parametrize("draws", [DRAWS, PLANE, SPACE], ids=["line", "plane", "space"])
def test_there_and_back_through_json(draws: np.ndarray) -> None:
    result = hdr(draws, [0.5, 0.9])
    again = HdrResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.to_frame().equals(result.to_frame())
    np.testing.assert_array_equal(again.values, result.values)
    np.testing.assert_array_equal(again.mode, result.mode)
    assert again.support == result.support
    assert str(again) == str(result)


def test_the_dictionary_holds_no_rows() -> None:
    """In three and more dimensions membership of new points needs the draws, which stay behind."""
    result = hdr(SPACE)
    again = HdrResult.from_dict(result.to_dict())
    assert len(json.dumps(result.to_dict())) < 2000
    assert result.contains(SPACE[:5]).shape == (5,)
    with pytest.raises(InputError, match="result that hdr"):
        again.contains(SPACE[:5])


def test_a_density_can_be_passed_on() -> None:
    first = hdr(DRAWS, 0.9)
    again = hdr(DRAWS, 0.9, density=first.density)
    np.testing.assert_array_equal(again.density, first.density)
    # a density that is given is not known to be made of the draws: their own kernels count
    assert 1 < again.falpha / first.falpha < 1.05


def test_membership() -> None:
    result = hdr(DRAWS, [0.9, 0.5])
    assert result.contains(-2.0).tolist() == [True]
    assert result.contains([0.0, -2.0, 99.0]).tolist() == [False, True, False]
    assert (
        result.contains(np.linspace(-4, 5, 50), prob=0.5).sum()
        < result.contains(np.linspace(-4, 5, 50)).sum()
    )
    assert hdr(PLANE).contains([0.0, 0.0]).tolist() == [True]
    with pytest.raises(InputError, match="one of"):
        result.contains(0.0, prob=0.8)
    with pytest.raises(InputError, match="shape"):
        hdr(PLANE).contains([1.0, 2.0, 3.0])


def test_what_another_dimension_has() -> None:
    with pytest.raises(InputError, match="intervals"):
        _ = hdr(PLANE).intervals
    with pytest.raises(InputError, match="area"):
        _ = hdr(DRAWS).area
    with pytest.raises(InputError, match="density"):
        _ = hdr(SPACE).density


def test_printed_result_says_how() -> None:
    text = str(hdr(DRAWS, 0.9))
    for part in (
        "Highest density region",
        "ci_low",
        "Bandwidth",
        "Gaussian kernel density",
        "scipy",
    ):
        assert part in text
    assert "<table" in hdr(PLANE)._repr_html_()


@pytest.mark.parametrize("draws", [DRAWS, PLANE, np.repeat([1.0, 2.0, 3.0], [30, 50, 9])])
def test_plot_returns_the_axes(draws: np.ndarray) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    discrete = draws.size < 100 or None
    assert hdr(draws, [0.5, 0.9], discrete=discrete).plot(ax) is ax
    ax.figure.canvas.draw()
    assert ax.get_legend() is not None
    assert hdr(draws, discrete=discrete).plot() is not ax


def test_no_plot_in_four_dimensions() -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match="columns to be shown"):
        hdr(SPACE).plot()


def test_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, fairstats.numerics.hdr.region, fairstats.plots.hdr\nheavy = {'scipy.stats',"
        " 'scipy.optimize', 'matplotlib', 'rpy2', 'arviz'} &"
        " set(sys.modules)\nsys.exit(','.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_answers_and_what_a_region_cannot_have() -> None:
    result = hdr(DRAWS, [0.5, 0.9])
    assert result.estimate == result.mode
    assert result[0.9] is result.regions[1]
    for name in (
        "confidence_interval",
        "pvalue",
        "verdict",
        "comparisons",
        "std_error",
        "statistic",
    ):
        assert not hasattr(result, name)
        assert name not in dir(result)


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        (DRAWS, r"is \[.*\] and \[.*\] and holds 90.0% of 1,000 draws"),
        (PLANE, "has the area"),
        (SPACE, "of 4"),
    ],
    ids=["line", "plane", "space"],
)
def test_sentences(draws: np.ndarray, words: str) -> None:
    (sentence,) = hdr(draws, 0.9).sentences()
    assert re.search(words, sentence)
