"""Pictures as data: what the marks hold is what the result says, and both drawers draw all of
them.
"""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

import fairstats as fs
from fairstats.ground.scores import ScoreCounts
from fairstats.plots.figures import (
    calibration_curves,
    madd_by_bandwidth,
    posterior_plane,
    power_curves,
    return_levels,
    roc_curves,
    score_histograms,
)
from fairstats.plots.picture import LIMIT, NEUTRAL, Picture, contours, draw, mark
from fairstats.report.pages import _round_ticks, svg

RNG = np.random.default_rng(5)
N = 900
GROUP = np.where(RNG.random(N) < 0.6, "a", "b")
Y = RNG.integers(0, 2, N)
SCORE = np.clip(0.35 + 0.25 * Y * (GROUP == "a") + 0.18 * RNG.standard_normal(N), 0, 1)


@pytest.fixture(scope="module")
def madd() -> Any:
    return fs.madd(SCORE, sensitive_features=GROUP, n_resamples=99, rng=1)


@pytest.fixture(scope="module")
def area() -> Any:
    return fs.abroca(Y, SCORE, sensitive_features=GROUP, reference="a", n_resamples=100, rng=1)


def marks(picture: Picture, kind: str, series: int | None = None) -> list[Any]:
    return [m for m in picture.marks if m.kind == kind and series in (None, m.series)]


def test_the_marked_area_of_histograms_is_madd(madd: Any) -> None:
    (band,) = marks(score_histograms(madd.comparisons[0]), "band")
    area = ((band.y - band.low) * np.diff(band.x, append=band.x[-1])).sum()
    assert area == pytest.approx(madd.comparisons[0].estimate, rel=1e-9)
    for steps in marks(score_histograms(madd.comparisons[0]), "steps"):
        assert (steps.y * np.diff(steps.x)).sum() == pytest.approx(1)


def test_madd_by_bandwidth_is_madd_in_so_many_bins(madd: Any) -> None:
    (dots,) = marks(madd_by_bandwidth(madd, madd.comparisons[0]), "dots")
    curve = fs.madd_curve(SCORE, sensitive_features=GROUP, max_bins=100)
    bins = np.rint(1 / dots.x).astype(int)
    assert {1, 2, 4, 5, 10, 20, 25, 50, 100} <= set(bins.tolist())
    np.testing.assert_allclose(dots.y, curve.madd[bins - 1], atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*separate the labels without an error")
def test_the_filled_area_between_roc_curves_is_abroca() -> None:
    """The shoelace formula on the drawn polygon.

    Scores of a are better everywhere, so no curves cross.
    """
    y = np.tile([0, 1], 300)
    group = np.repeat(["a", "b"], 300)
    score = np.where(group == "a", y, 0.5) + 0.0
    found = fs.abroca(y, score, sensitive_features=group, reference="a", n_resamples=100, rng=1)
    (polygon,) = marks(roc_curves(found, found.comparisons[0]), "area")
    x = polygon.x
    y_ = polygon.y
    shoelace = abs((x * np.roll(y_, -1) - np.roll(x, -1) * y_).sum()) / 2
    assert shoelace == pytest.approx(found.estimate, abs=1e-12) == 0.5


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_calibration_has_wilsons_interval_in_every_bin(level: float) -> None:
    values = np.linspace(0.05, 0.95, 10)
    counts = RNG.integers(1, 60, (2, 2, 10))
    scores = ScoreCounts(("a", "b"), values, counts)
    for g in range(2):
        score, n, rate, low, high = scores._calibration_bins(g, level)
        assert n.sum() == counts[g].sum()
        assert (rate * n).sum() == pytest.approx(counts[g, 1].sum())
        assert (score * n).sum() == pytest.approx((counts[g].sum(axis=0) * values).sum())
        wilson = proportion_confint(np.rint(rate * n), n, alpha=1 - level, method="wilson")
        np.testing.assert_allclose(
            [low, high], wilson, rtol=1e-9
        )  # statsmodels, an independent library


def test_calibration_of_few_rows_is_one_bin(area: Any) -> None:
    few = ScoreCounts(
        ("a", "b"), np.array([0.2, 0.8]), np.array([[[3, 1], [2, 4]], [[0, 0], [0, 0]]])
    )
    score, n, *_ = few._calibration_bins(0)
    assert (score.tolist(), n.tolist()) == ([0.5], [10])
    assert all(part.size == 0 for part in few._calibration_bins(1))
    drawn = marks(calibration_curves(area, area.comparisons[0]), "band")
    assert len(drawn) == 2


def test_contours_of_a_cone_are_circles() -> None:
    axis = np.linspace(-1, 1, 81)
    height = 1 - np.hypot(axis[:, None], axis)
    (ring,) = contours(axis, axis, height, 0.4)
    np.testing.assert_allclose(np.hypot(*ring), 0.6, atol=1e-3)  # linear within cells of 0.025
    assert (ring[0][0], ring[1][0]) == (ring[0][-1], ring[1][-1])


def test_contours_of_two_hills_a_saddle_and_an_edge() -> None:
    axis = np.linspace(-2, 2, 41)
    hills = np.exp(-8 * ((axis[:, None] - 1) ** 2 + axis**2)) + np.exp(
        -8 * ((axis[:, None] + 1) ** 2 + axis**2)
    )
    assert len(contours(axis, axis, hills, 0.5)) == 2
    saddle = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert len(contours(np.arange(2.0), np.arange(2.0), saddle, 0.5)) == 2
    slope = np.repeat(np.arange(3.0)[:, None], 3, axis=1)
    ((x, y),) = contours(np.arange(3.0), np.arange(3.0), slope, 0.5)
    assert (x.tolist(), sorted(y)) == ([0.5] * 3, [0, 1, 2])


def test_the_plane_of_a_posterior() -> None:
    counts = fs.ConfusionCounts.from_counts({"f": (80, 20, 15, 85), "m": (140, 30, 30, 150)})
    posterior = fs.um_posterior(counts=counts, draws=4_000, reference="m", rng=1)
    names = ("equal_opportunity", "predictive_equality")
    region = posterior.hdr(names, [0.5, 0.95], backend="scipy")
    picture = posterior_plane(region, names, (0.1, 0.1), "plane")
    (box,) = marks(picture, "box")
    assert (box.x.tolist(), box.y.tolist()) == ([-0.1, 0.1], [-0.1, 0.1])
    rings = [m for m in marks(picture, "line") if m.series in (0, 1)]
    draws = np.column_stack(list(posterior.metrics(names).values()))
    from matplotlib.path import Path

    for ring, share in zip(rings, (0.5, 0.95), strict=True):
        inside = Path(np.column_stack([ring.x, ring.y])).contains_points(draws).mean()
        assert inside == pytest.approx(share, abs=0.03)  # four Monte Carlo errors of 4,000 draws
    ax = posterior.plot(names, prob=[0.5, 0.95], rope=0.1)
    assert ax.get_xlabel() == names[0]
    with pytest.raises(fs.InputError, match="two metrics for a box"):
        posterior.plot("accuracy", rope=0.1)
    with pytest.raises(fs.InputError, match="rope"):
        posterior.plot(names, rope=0)


def test_return_levels_have_bands_and_the_question() -> None:
    cd = {"white": 0.3 * RNG.beta(2, 8, 3000), "black": 0.5 * RNG.beta(2, 8, 3000)}
    found = fs.ecd(cd, privileged="white", unprivileged="black", backend="scipy", n_resamples=0)
    picture = return_levels(found, "black")
    line = marks(picture, "line", 0)[0]
    band = marks(picture, "band", 0)[0]
    wanted = found["black"].fit.return_level(float(line.x[7]))
    assert line.y[7] == pytest.approx(wanted.estimate)
    assert (band.low[7], band.y[7]) == pytest.approx(tuple(wanted.confidence_interval))
    assert marks(picture, "rule", NEUTRAL)[0].x[0] == 1000


def test_power_curves_are_drawn_over_the_ratio() -> None:
    picture = power_curves([("a", np.array([0.5, 0.7, 1.0]), np.array([0.9, 0.4, 0.2]))], 0.8)
    assert picture.xlim == (0.5, 1.0)
    assert marks(picture, "rule", LIMIT)[0].x[0] == 0.8


def every_mark() -> Picture:
    x = np.array([0.1, 0.5, 1.0])
    shown = [
        mark("line", x, x, 0, "<b>line</b>"),
        mark("steps", x, x[:2], 1, "steps $x^{"),
        mark("band", x, x, 2, "band", low=x / 2),
        mark("area", x, x[::-1], 3, "area"),
        mark("box", (0.2, 0.4), (0.2, 0.4), LIMIT, "box"),
        mark("rule", 0.3, (), NEUTRAL, "upright"),
        mark("rule", (), 0.3, 4, "level"),
        mark("dots", x, [0.5, np.nan, 0.1], 5, "dots"),
        mark("line", [np.nan], [np.nan], 9),
    ]
    return Picture('title "<i>"', "x", "y & z", (0.1, 1.0), (0.0, 1.0), tuple(shown), log=True)


def test_svg_is_well_formed_named_and_escaped() -> None:
    text = svg(every_mark())
    tree = ElementTree.fromstring(text)  # noqa: S314 - our own text
    drawing = tree.find("svg")
    assert drawing is not None
    assert drawing.get("role") == "img"
    assert str(drawing.get("aria-label")).startswith('title "<i>": <b>line</b>; steps')
    assert next(tree.iter("li")).findtext("bdi") == "<b>line</b>"
    assert "nan" not in text
    assert "http" not in text


def test_svg_puts_every_mark_in_its_place() -> None:
    """Closed form: 276 × 188 units from (56, 8).

    x = 276·(1 + log10 v) over a decade, y = 188·(1 − v).
    """

    def at(x: float, y: float) -> str:
        return f"{276 * (1 + math.log10(x)):.1f} {188 * (1 - y):.1f}"

    tree = ElementTree.fromstring(svg(every_mark()))  # noqa: S314 - our own text
    drawing = tree.find("svg")
    assert drawing is not None
    assert drawing.get("viewBox") == "0 0 340 236"
    inner = drawing.find("svg")
    assert inner is not None
    assert [inner.get(k) for k in ("x", "y", "width", "height")] == ["56", "8", "276", "188"]
    rise = [(0.1, 0.1), (0.5, 0.5), (1.0, 1.0)]
    stairs = [(0.1, 0), (0.1, 0.1), (0.5, 0.1), (0.5, 0.5), (1.0, 0.5), (1.0, 0)]
    band = [*rise, (1.0, 0.5), (0.5, 0.25), (0.1, 0.05)]
    down = [(0.1, 1.0), (0.5, 0.5), (1.0, 0.1)]
    line, steps, filled, area = (
        "M" + "L".join(at(*p) for p in way) for way in (rise, stairs, band, down)
    )
    (left, low), (right, high) = (at(v, v).split() for v in (0.2, 0.4))
    assert [(p.get("class"), p.get("d")) for p in inner.iter("path")] == [
        ("line s0", line),
        ("fill s1", steps),
        ("line s1", steps),
        ("fill s2", filled + "Z"),
        ("fill s3", area + "Z"),
        ("rule apart", f"M{left} {low}H{right}V{high}H{left}Z"),
        ("rule neutral", f"M{at(0.3, 0).split()[0]} 0V188"),
        ("rule s4", f"M0 {188 * 0.7:.1f}H276"),
        ("line s3", ""),  # nine is the third colour of six; nothing known, nothing drawn
    ]
    dots = [f"{c.get('cx')} {c.get('cy')}" for c in inner.iter("circle")]
    assert dots == [at(0.1, 0.5), at(1.0, 0.1)]
    grid = [p.get("d") for p in drawing.findall("path")]
    upright = grid[:2]
    level = grid[2:]
    assert upright == ["M56.0 8V196", "M332.0 8V196"]
    assert level == [f"M56 {8 + 188 * (1 - v / 5):.1f}H332" for v in range(6)]
    words = [(t.get("class"), t.get("x"), t.get("y"), t.text) for t in drawing.findall("text")]
    assert words[:2] == [(None, "56.0", "210", "0.1"), ("last", "332.0", "210", "1")]
    assert words[2:8] == [
        ("up", "51", f"{12 + 188 * (1 - v / 5):.1f}", f"{v / 5:.1f}") for v in range(6)
    ]
    assert words[8:] == [("name", "194", "230", "x"), ("name", None, None, "y & z")]
    turned = drawing.findall("text")[-1].get("transform")
    assert turned == "translate(11 102) rotate(-90)"
    keys = [
        [(e.tag, e.get("class")) for e in li.iter() if e.get("class")] for li in tree.iter("li")
    ]
    drawn = ["line s0", "fill s1", "fill s2", "fill s3", "rule apart", "rule neutral", "rule s4"]
    assert [k[0] for k in keys] == [*(("path", name) for name in drawn), ("circle", "dot s5")]
    assert keys[1][1:] == [("path", "line s1")]
    assert drawing.get("aria-label", "").endswith("; level; dots. y & z by x.")


def test_svg_leaves_out_points_that_no_eye_tells_apart() -> None:
    """Closed form: 0.5 units are less than .6, 0.7 are more.

    The last point is drawn wherever it lies.
    """
    x = np.array([0, 0.5, 0.7, 1.0, 100, np.nan, 100.1]) / 276
    one = Picture("t", "x", "y", (0.0, 1.0), (0.0, 1.0), (mark("line", x, np.ones(7)),))
    assert 'd="M0.0 0.0L0.7 0.0L100.0 0.0L100.1 0.0"' in svg(one)


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((0.01, 100), ["0.01", "0.1", "1", "10", "100"]),
        ((0.02, 2_000), ["0.1", "1", "10", "100", "1,000"]),
        ((1, 1e7), ["1", "100", "10,000", "1,000,000"]),
    ],
    ids=str,
)
def test_a_logarithmic_axis_has_powers_of_ten(
    limits: tuple[float, float], wanted: list[str]
) -> None:
    """Powers of ten within the limits, every second where they span more than five decades, written
    down.
    """
    drawing = Picture("t", "x", "y", limits, (0.0, 1.0), (mark("line", limits, (0, 1)),), log=True)
    tree = ElementTree.fromstring(svg(drawing))  # noqa: S314 - our own text
    across = [t for t in tree.iter("text") if t.get("class") not in ("up", "name")]
    assert [t.text for t in across] == wanted
    decades = math.log10(limits[1] / limits[0])
    for text in across:
        power = float(str(text.text).replace(",", ""))
        place = 56 + 276 * math.log10(power / limits[0]) / decades
        assert float(text.get("x", "nan")) == pytest.approx(
            place, abs=0.051
        )  # one decimal is written


def test_matplotlib_draws_every_mark() -> None:
    pytest.importorskip("matplotlib")
    ax = draw(every_mark())
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert len(labels) == 8
    assert r"steps \$x^{" in labels
    ax.figure.canvas.draw()


def test_abroca_plots_its_kinds(area: Any) -> None:
    assert area.plot(kind="roc").get_xlabel() == "false positive rate"
    assert area.plot(kind="calibration", group="b").get_ylabel() == "share with Y = 1"
    assert area.plot().get_xlabel().startswith("Size")
    with pytest.raises(fs.InputError, match="kind"):
        area.plot(kind="violin")


def test_a_group_without_a_label_has_no_roc_curve() -> None:
    y = np.where(GROUP == "b", 1, Y)
    with pytest.warns(UserWarning, match="no row with an unfavourable label"):
        found = fs.abroca(y, SCORE, sensitive_features=GROUP, reference="a", n_resamples=100, rng=1)
    assert math.isnan(found.estimate)
    with pytest.raises(fs.InputError, match="both labels"):
        found.plot(kind="roc")
    assert found.plot(kind="calibration") is not None


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((10, 20), "10 12 14 16 18 20"),
        ((-0.3, 0.9), "−0.2 0.0 0.2 0.4 0.6 0.8"),
        ((1995, 2005), "1,996 1,998 2,000 2,002 2,004"),
    ],
    ids=str,
)
def test_ticks_are_all_round_values_within_the_limits(
    limits: tuple[float, float], wanted: str
) -> None:
    """Multiples of the least of 1, 2, 5 and 10 that leaves at most six, written down."""
    ticks = _round_ticks(limits, 6)
    assert " ".join(label for _, label in ticks) == wanted
    assert [value for value, _ in ticks] == pytest.approx(
        [float(label.replace("−", "-").replace(",", "")) for label in wanted.split()]
    )
