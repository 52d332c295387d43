"""Pictures of all groups: what they hold is what counts and results say; page, plot and files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner

from fairstats.cli.app import app
from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.plots.groups import CrossedGroup, intersections, rates_of_groups, score_distributions
from fairstats.report.audit import audit
from fairstats.report.pages import svg
from fairstats.report.pictures import NamedPicture, pictures_of, wilson_of_groups
from fairstats.report.render import render_html
from fairstats.report.report import AuditReport
from fairstats.report.sets import view_sets


def named(report: AuditReport, position: int) -> dict[str, NamedPicture]:
    view = view_sets(report)[position]
    return {one.name: one for one in pictures_of(report, view)}


def marks(picture: Any, kind: str) -> list[Any]:
    return [one for one in picture.marks if one.kind == kind]


def test_rates_have_wilson_intervals(report: AuditReport) -> None:
    """Witness: statsmodels' proportion_confint(method="wilson")."""
    counts: Any = report.tables[0]
    rates, low, high = wilson_of_groups(counts, "tpr", 0.95)
    for position in range(len(counts.groups)):
        cases = counts.total("tp", "fn")[position]
        successes = counts.total("tp")[position]
        wanted = proportion_confint(successes, cases, method="wilson")
        assert rates[position] == pytest.approx(successes / cases)
        assert (low[position], high[position]) == pytest.approx(wanted, abs=1e-9)


def test_a_picture_of_rates_holds_them_from_the_top(report: AuditReport) -> None:
    picture = named(report, 0)["rates-tpr"].picture
    (span,) = marks(picture, "span")
    (dots,) = marks(picture, "dots")
    groups = list(report.tables[0].groups)
    assert list(picture.ynames) == groups[::-1]
    rates, low, high = wilson_of_groups(report.tables[0], "tpr", 0.95)
    np.testing.assert_array_equal(dots.x, rates)
    np.testing.assert_array_equal(span.x, low)
    np.testing.assert_array_equal(span.low, high)
    assert dots.y.tolist() == [len(groups) - 1.0 - k for k in range(len(groups))]


def test_weighted_rates_have_wider_intervals_than_their_rows(frame: pd.DataFrame) -> None:
    """Kish: weights 1 to 3 have fewer effective rows than rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        plain, weighted = (
            audit(frame, y_pred="granted", sensitive_features="region", **more)
            for more in ({}, {"sample_weight": "weight"})
        )
    widths = []
    for one in (plain, weighted):
        _, low, high = wilson_of_groups(one.tables[0], "selection_rate", 0.95)
        widths.append(high - low)
    assert (widths[1] > widths[0]).all()


def test_intersections_say_what_is_undecided(report: AuditReport) -> None:
    picture = named(report, 2)["intersections"].picture
    table = report.to_frame().query(
        "sensitive_features == 'region & sex' and metric == 'disparate_impact'"
    )
    cells = marks(picture, "cell")
    assert len(cells) == 6
    undecided = (~table["verdict"].isin(["violated", "satisfied"])).sum()
    assert len(marks(picture, "hatching")) == undecided > 0
    assert len(marks(picture, "box")) == (table["verdict"] == "violated").sum()
    by_title = {cell.title: cell for cell in cells}
    for row in table.to_dict("records"):
        (cell,) = [one for title, one in by_title.items() if title.startswith(f"{row['group']}:")]
        shade = min(abs(np.log(row["estimate"])) / np.log(2), 1.0)
        assert cell.shade == pytest.approx(shade)
        assert cell.series == (0 if row["estimate"] > 1 else 1)
        assert cell.text == f"{100 * row['rate']:.0f}%"


def test_roc_and_calibration_of_all_groups(report: AuditReport) -> None:
    pictures = named(report, 0)
    roc = pictures["roc"].picture
    assert len(marks(roc, "line")) == 1 + 3  # the diagonal, and a curve a group
    for line, band in zip(marks(roc, "line")[1:], marks(roc, "band"), strict=True):
        assert (line.x[0], line.y[0], line.x[-1], line.y[-1]) == (0, 0, 1, 1)
        assert (np.diff(line.x) >= 0).all()
        assert (band.low <= line.y + 1e-12).all()
        assert (band.y >= line.y - 1e-12).all()
    assert len(marks(pictures["calibration"].picture, "band")) == 3


def test_distributions_have_area_one() -> None:
    picture = score_distributions(
        ["a", "b"], np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 0.0, 0.0, 5.0]])
    )
    for line in marks(picture, "line"):
        area = (line.y[::2] * (line.x[1::2] - line.x[::2])).sum()
        assert area == pytest.approx(1.0)


def test_every_picture_is_svg_with_its_names(report: AuditReport) -> None:
    for position in range(3):
        for one in named(report, position).values():
            drawn = svg(one.picture)
            ElementTree.fromstring(drawn)  # noqa: S314 - our own
            for name in one.picture.ynames:
                assert name.split(" & ")[0] in drawn


def test_hostile_names_are_escaped() -> None:
    name = "<script>alert(1)</script>"
    rates = np.array([0.5, 0.2])
    pictures = [
        rates_of_groups([name, "b"], rates, rates - 0.1, rates + 0.1, name, "rate", name),
        intersections(
            [
                CrossedGroup(name, name, 0.5, 0.0, True, False),
                CrossedGroup(name, "b", 0.2, -0.9, False, False),
            ],
            name,
            name,
            "rate",
            name,
        ),
    ]
    for picture in pictures:
        drawn = svg(picture)
        assert "<script" not in drawn
        ElementTree.fromstring(drawn)  # noqa: S314 - our own


@pytest.mark.slow
def test_the_page_shows_them(report: AuditReport) -> None:
    page = render_html(report)
    for position in range(3):
        for one in named(report, position).values():
            assert svg(one.picture) in page


@pytest.mark.slow
def test_plot_and_files(report: AuditReport, tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    names = report.picture_names
    assert set(names["region & sex"]) >= {"rates-selection-rate", "intersections", "roc", "scores"}
    axes = report.plot("intersections")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["f", "m"] or [
        label.get_text() for label in axes.get_xticklabels()
    ] == ["m", "f"]
    assert report.plot().get_xlabel() == "selection rate"
    with pytest.raises(InputError, match="`name`"):
        report.plot("nothing")
    with pytest.raises(InputError, match="`name`"):
        report.plot("intersections", "region")
    with pytest.raises(InputError, match="`sensitive_features`"):
        report.plot("roc", "nothing")
    plt.close("all")
    written = report.to_plots(tmp_path / "plots")
    assert len(written) == 2 * sum(map(len, names.values()))
    assert all(path.stat().st_size > 1000 for path in written)
    assert (tmp_path / "plots" / "region-sex-intersections.svg") in written
    blocked = tmp_path / "file"
    blocked.write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="`folder`"):
        report.to_plots(blocked)


@pytest.mark.slow
def test_the_command_line_writes_them(frame: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = CliRunner().invoke(
        app,
        [
            *("audit", str(tmp_path / "people.csv"), "--group", "region", "--y-pred", "granted"),
            *("--plots", str(tmp_path / "plots")),
        ],
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "plots" / "region-rates-selection-rate.png").is_file()
    assert "2 pictures in" in " ".join(done.output.split())
