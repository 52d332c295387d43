"""The report object: one table, JSON without loss and without rows, text, terminal, notebook."""

from __future__ import annotations

import html
import io
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.results import TIDY_COLUMNS
from fairstats.report.audit import audit
from fairstats.report.packed import unpack
from fairstats.report.render import headline, render_html, render_terminal, show
from fairstats.report.report import AuditReport
from fairstats.report.sets import view_sets
from fairstats.report.view import table_of


def test_to_frame_is_the_results_one_below_the_other(report: AuditReport) -> None:
    table = report.to_frame()
    assert list(table.columns[: len(TIDY_COLUMNS) + 2]) == [
        "section",
        "sensitive_features",
        *TIDY_COLUMNS,
    ]
    assert len(table) == sum(len(result.to_frame()) for result in report.results)
    assert {"rates", "madd"} <= set(table["section"])


def test_verdicts_are_those_of_the_table(report: AuditReport) -> None:
    """Those of amplification are of no threshold: they say what changes, and are not counted."""
    table = report.to_frame()
    change = table["metric"] == "disparate_impact_amplification"
    words = {"amplified", "reduced", "undecided", "insufficient evidence"}
    assert 0 < change.sum() == table.loc[change, "verdict"].isin(words).sum()
    counted = table.loc[~change, "verdict"].value_counts()
    assert {k: v for k, v in report.verdicts.items() if v} == counted.to_dict()
    assert report.violated is bool(counted.get("violated", 0))


def test_json_is_lossless(report: AuditReport, tmp_path: Path) -> None:
    path = report.to_json(tmp_path / "report.json")
    back = AuditReport.from_json(path)
    assert back.to_dict() == report.to_dict()
    pd.testing.assert_frame_equal(back.to_frame(), report.to_frame())
    assert back.summary() == report.summary()
    assert back.settings == report.settings
    assert back.columns == report.columns


def test_json_holds_the_sufficient_statistics(report: AuditReport, tmp_path: Path) -> None:
    back = AuditReport.from_json(report.to_json(tmp_path / "report.json"))
    counts = back.tables[0]
    again = fs.conditional_accuracy(counts=counts, reference="north")
    stored = next(r for r in back.results if getattr(r, "metric", "") == "conditional_accuracy_1")
    np.testing.assert_array_equal(again.estimate, stored.estimate)  # type: ignore[attr-defined]


def test_json_holds_no_rows(frame: pd.DataFrame, tmp_path: Path) -> None:
    """No list is as long as the data, and no identifying value comes through."""
    many = pd.concat([frame] * 4, ignore_index=True)
    many["person"] = [f"person-{i}" for i in range(len(many))]
    report = audit(
        many,
        y_true="repaid",
        y_pred="granted",
        score="score",
        sensitive_features="region",
        pos_label={"y_true": "yes", "y_pred": 1},
        cluster=None,
        n_resamples=100,
        rng=1,
    )
    clustered = audit(
        many,
        y_pred="granted",
        sensitive_features="region",
        cluster="person",
        sample_weight="weight",
    )
    for made in (report, clustered):
        text = made.to_json(tmp_path / "report.json").read_text(encoding="utf-8")
        assert "person-" not in text
        assert max(len(found) for found in _lists(unpack(json.loads(text)))) < len(frame) / 2


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
        for part in value:
            yield from _lists(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _lists(part)


def test_json_is_strict(report: AuditReport, tmp_path: Path) -> None:
    def refuse(name: str) -> None:
        raise ValueError(name)

    json.loads(
        report.to_json(tmp_path / "r.json").read_text(encoding="utf-8"), parse_constant=refuse
    )


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"class": "Nonsense"}', '"text"'])
def test_from_json_refuses_other_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        AuditReport.from_json(path)


def test_from_json_refuses_a_single_result(report: AuditReport, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(report.results[0].to_dict()), encoding="utf-8")
    with pytest.raises(InputError, match=r"AuditReport\.to_dict"):
        AuditReport.from_json(path)


def test_from_json_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        AuditReport.from_json(tmp_path / "none.json")


@pytest.mark.parametrize(("write", "name"), [("to_json", "r.json"), ("to_html", "r.html")])
def test_a_place_that_cannot_be_written(
    report: AuditReport, tmp_path: Path, write: str, name: str
) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        getattr(report, write)(tmp_path / "no" / "such" / "folder" / name)


# ---------------------------------------------------------------- text


def test_text_says_everything(report: AuditReport) -> None:
    text = str(report)
    assert len(text.splitlines()) <= 60
    assert report.screen().lead in " ".join(text.split())
    text = report.summary(full=True)
    for statement in report.statements:
        assert statement.title in text
    for table in report.tables:
        for group in table.groups:
            assert group in text
    assert "seed 1" in text


def test_the_summary_is_the_first_screen(report: AuditReport) -> None:
    """The same sentences in text, terminal, notebook and page."""
    screen = report.screen()
    sentences = [screen.lead, *(text for found in screen.findings for text in found.sentences)]
    out = io.StringIO()
    show(report, stream=out)
    views = [report.summary(), report.summary(full=True), out.getvalue().replace("│", " ")]
    views += [html.unescape(report._repr_html_()), html.unescape(render_html(report))]
    for view in views:
        words = " ".join(re.sub(r"<[^>]*>", " ", view).split())
        for sentence in sentences:
            assert sentence in words
    assert "Statements" not in report.summary()


def test_terminal_view_shows_every_verdict(report: AuditReport) -> None:
    out = io.StringIO()
    show(report, full=True, stream=out)
    shown = out.getvalue()
    for verdict, count in report.verdicts.items():
        assert shown.count(f" {verdict}") >= count


CELLS = {("a", "x"): (90, 60), ("b", "x"): (300, 300), ("b", "y"): (10, 70), ("a", "y"): (70, 40)}


@pytest.fixture(scope="module")
def picked() -> AuditReport:
    """Counts of two attributes; b & y is picked in 10 of 80 rows, the others in half of theirs or
    more.
    """
    rows = [
        (*g, h)
        for g, own in CELLS.items()
        for h, n in zip((1, 0), own, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["g", "k", "hat"])
    return audit(frame, y_pred="hat", sensitive_features=["g", "k"], title="Who <is> picked", rng=1)


def _wanted(report: AuditReport, attributes: str) -> list[list[str]]:
    """Cells of every comparison of a set, formatted here from the tidy table and the counts."""

    def p(value: float) -> str:
        return "<0.0001" if value < 0.0001 else f"{value:.4f}"

    table = report.to_frame()
    rows = []
    rate = {
        **{f"{g} & {k}": n / (n + m) for (g, k), (n, m) in CELLS.items()},
        "a": 160 / 260,
        "b": 310 / 680,
        "x": 390 / 750,
        "y": 80 / 190,
    }
    signs = {"?": "undecided", "✗": "violated", "✓": "satisfied"}
    for row in table[table["sensitive_features"] == attributes].to_dict("records"):
        if row["section"] != "rates":
            continue
        sign = "+" if row["metric"].endswith("_difference") else ""
        est, low, high = (
            f"{row[k]:{sign}.3f}".replace("-", "−") for k in ("estimate", "ci_low", "ci_high")
        )
        of = [rate[row[k]] for k in ("group", "reference")]
        both = row["metric"].endswith("_max")
        names = (
            [f"{row['group']} – {row['reference']}", "", ""]
            if both
            else [row["group"], row["reference"]]
        )
        names += [] if both else [" / ".join(f"{100 * r:.1f}%" for r in of)]
        mark = next(f"{sign} {word}" for sign, word in signs.items() if word == row["verdict"])
        pvalues = [p(row["pvalue_adjusted"]), p(row["pvalue_verdict_adjusted"])]
        rows.append([*names, est, f"[{low}, {high}]", *pvalues, mark])
    return rows


def test_views_have_the_numbers_of_the_table(picked: AuditReport) -> None:
    """Witness: the tidy table and the counts, formatted once more."""
    out = io.StringIO()
    console = pytest.importorskip("rich.console").Console(width=130, file=out, color_system=None)
    console.print(render_terminal(picked, full=True))
    plain, rich_view = (
        [re.split(" {2,}", line.strip()) for line in text.splitlines()]
        for text in (picked.summary(full=True), out.getvalue())
    )
    fragment = picked._repr_html_()
    for attributes in ("g", "k", "g & k"):
        shown = _wanted(picked, attributes)
        assert len(shown) >= 3
        for cells in shown:
            assert [cell for cell in cells if cell] in plain
            assert [cells[0], *cells[3:]] in rich_view  # no rates, and the reference in the heading
            escaped = [cell.replace("&", "&amp;").replace("<", "&lt;") for cell in cells]
            assert "".join(f"<td>{cell}</td>" for cell in (*escaped[:2], *escaped[3:])) in fragment
        verdicts = [row[-1] for row in _wanted(picked, attributes)]
        counts = [verdicts.count(sign) for sign in ("✗ violated", "? undecided")]
        assert [f"✗ violated {counts[0]}", f"? undecided {counts[1]}"] in [
            line[:2] for line in plain
        ]
        assert [f"✗ {counts[0]} violated", f"? {counts[1]} undecided"] in [
            line[:2] for line in rich_view
        ]
    heads = ["estimate", "interval", "p (equal)", "p (verdict)", "verdict"]
    assert ["group", "reference", "rates", *heads] in plain
    assert ["group", *heads] in rich_view
    for lines in (plain, rich_view):
        assert ["group", "rows", "Selected"] in lines
        assert ["b & x", "600", "50.0%"] in lines
        assert ["b", "680", "45.6%"] in lines
    assert ["Disparate impact: ratio of selection rates against b & x"] in rich_view
    assert ["Disparate impact: ratio of selection rates"] in plain
    assert ["Demographic parity: largest gap between any two groups"] in rich_view
    assert fragment.startswith("<section><h3>Who &lt;is&gt; picked</h3><p>")
    assert fragment.count("<h4>") == 6  # each set in the first screen, and with its table
    assert fragment.endswith("<p>to_html(path) writes the whole report.</p></section>")
    heads = ["metric", "group", "reference", *heads]
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    assert f"<thead><tr>{head}</tr></thead>" in fragment
    assert plain[:2] == [["Who <is> picked"], ["=" * 15]]
    assert picked.summary(full=True).splitlines()[-1].endswith("; seed 1")


def test_what_views_show_of_a_set_by_hand(picked: AuditReport) -> None:
    """Sizes, shares, counts behind rates, scales and thresholds from the counts above, written
    down.
    """
    first, second, crossed = view_sets(picked)
    assert [v.name for v in (first, second, crossed)] == ["g", "k", "g & k"]
    assert [v.attributes for v in (first, second, crossed)] == [("g",), ("k",), ("g", "k")]
    assert [v.crossed for v in (first, second, crossed)] == [False, False, True]
    assert first.groups is not None
    assert first.groups.headings == (("Selected", "ŷ=1 of rows"),)
    assert first.groups.total == "940"
    assert not first.groups.weighted
    assert first.groups.rows == (
        ("b", "680", "72.3%", (("45.6%", "310 of 680"),)),
        ("a", "260", "27.7%", (("61.5%", "160 of 260"),)),
    )
    assert second.groups is not None
    assert second.groups.rows == (
        ("x", "750", "79.8%", (("52.0%", "390 of 750"),)),
        ("y", "190", "20.2%", (("42.1%", "80 of 190"),)),
    )
    for view in (first, second, crossed):
        charts = [(c.kind, c.threshold) for c in view.charts]
        assert charts == [("ratio", 0.8), ("difference", 0.1), ("maximum", 0.1)]
        assert [b.metric for b in view.blocks] == [b.metric for c in view.charts for b in c.blocks]
        verdicts = [row.verdict for block in view.blocks for row in block.rows]
        assert view.verdicts == {name: verdicts.count(name) for name in view.verdicts}
        assert view.others == ()
        ratio, difference, gap = (c.axis for c in view.charts)
        assert ratio.band == (0.8, 1.25)
        assert difference.band == (-0.1, 0.1)
        assert gap.band == (0.0, 0.1)
    ratios, differences, gaps = crossed.blocks
    assert (ratios.reference, differences.reference, gaps.reference) == ("b & x", "b & x", "")
    table = picked.to_frame().set_index(["sensitive_features", "metric", "group"])
    for block in (ratios, differences):
        for row in block.rows:
            told = table.loc[("g & k", block.metric, row.label)]
            names = (
                "estimate",
                "bound_low",
                "bound_high",
                "statistic",
                "pvalue",
                "pvalue_adjusted",
                "rate",
            )
            for name in (*names, "pvalue_verdict", "pvalue_verdict_adjusted", "rate_reference"):
                np.testing.assert_array_equal(getattr(row, name), told[name])
            assert (row.low, row.high, row.n, row.n_reference) == tuple(
                told[k] for k in ("ci_low", "ci_high", "n", "n_reference")
            )
            assert row.judged
            assert row.side == "two-sided"
    above = [row.remark for row in ratios.rows if row.estimate > 1]
    assert len(above) == 2
    assert set(above) <= {"", "by exact test: few cases"}  # none of them is shown to be above 1.25
    (gap,) = gaps.rows
    assert (gap.label, gap.reference, gap.rates_text) == ("a & y – b & y", "", "")
    assert gap.estimate == pytest.approx(70 / 110 - 10 / 80)


def test_a_reference_below_the_rule_is_remarked() -> None:
    """Half of the reference's rate the other way round.

    0.8 of the group is what the reference lacks.
    """
    rows = [
        (g, h)
        for g, k in (("a", 90), ("b", 40))
        for h in (1, 0)
        for _ in range(k if h else 100 - k)
    ]
    frame = pd.DataFrame(rows, columns=["g", "hat"])
    (view,) = view_sets(
        audit(frame, y_pred="hat", sensitive_features="g", reference="b", threshold=0.75)
    )
    (row,) = view.blocks[0].rows
    assert row.verdict == "violated"
    assert row.remark.partition("; ")[0] == "b is below 0.75 of a"
    assert (row.estimate_text, row.rates_text) == ("2.250", "90.0% / 40.0%")
    (difference,) = view.blocks[1].rows
    assert (difference.verdict, difference.estimate_text) == ("violated", "+0.500")
    assert row.fair == pytest.approx((0.75, 4 / 3))
    assert difference.fair == (-0.1, 0.1)


def test_long_cells_are_cut_in_plain_text() -> None:
    """Written down: 40 characters, the last of which is an ellipsis.

    A title is underlined up to 100.
    """
    frame = pd.DataFrame({"y": [1, 0, 0, 1] * 30, "s": ["n" * 40, "m" * 41] * 60})
    lines = (
        audit(frame, y_pred="y", sensitive_features="s", title="t" * 120)
        .summary(full=True)
        .splitlines()
    )
    assert lines[1] == "=" * 100
    first = lines.index("All verdicts counted")
    shown = {cell for line in lines[first : lines.index("Statements")] for cell in line.split()}
    assert "n" * 40 in shown
    assert "m" * 39 + "…" in shown
    assert "m" * 41 not in shown


@pytest.mark.parametrize(
    ("verdicts", "adjust", "level", "wanted"),
    [
        ((0, 0, 0, 0), "holm", 0.95, "Nothing was compared."),
        (
            (1, 1, 1, 1),
            "holm",
            0.95,
            (
                "1 of 4 comparisons shows a violation, with an error of 5% per metric; 1 satisfies"
                " the threshold, 1 is undecided, 1 lacks the evidence."
            ),
        ),
        (
            (0, 2, 3, 0),
            "none",
            0.9,
            (
                "None of 5 comparisons shows a violation, with an error of 10% per comparison; 2"
                " satisfy the threshold, 3 are undecided."
            ),
        ),
        (
            (2, 0, 0, 2),
            "fdr_bh",
            0.99,
            (
                "2 of 4 comparisons show a violation, with a false discovery rate of 1% per metric;"
                " 0 satisfy the threshold, 0 are undecided, 2 lack the evidence."
            ),
        ),
    ],
    ids=["nothing", "one each", "none", "no evidence"],
)
def test_headline_in_numbers_and_words(
    verdicts: tuple[int, ...], adjust: str, level: float, wanted: str
) -> None:
    """Written down by hand."""
    names = ("violated", "satisfied", "undecided", "insufficient evidence")
    settings = SimpleNamespace(adjust=adjust, confidence_level=level)
    held: Any = SimpleNamespace(
        verdicts=dict(zip(names, verdicts, strict=True)),
        settings=settings,
        results=(),
        tables=(),
        sections=(),
        claims={},
    )
    assert headline(held) == wanted


def test_terminal_view_is_plain_without_rich(
    report: AuditReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    out = io.StringIO()
    show(report, full=True, stream=out)
    assert out.getvalue() == report.summary(full=True) + "\n"


def test_rich_knows_the_report(report: AuditReport) -> None:
    console = pytest.importorskip("rich.console").Console(width=120, file=io.StringIO())
    console.print(report)
    assert "What limits this" in console.file.getvalue()


def test_terminal_views_send_no_control_characters_and_read_no_markup() -> None:
    frame = pd.DataFrame(
        {"y": [1, 0, 0, 1] * 30, "s": ["\x1b[31m[red]x[/red]", "b\u202e", "c\x07"] * 40}
    )
    report = audit(frame, y_pred="y", sensitive_features="s", title="t\x1b[2J")
    rich_view = io.StringIO()
    console = pytest.importorskip("rich.console").Console(width=150, file=rich_view)
    console.print(render_terminal(report, full=True))
    for text in (report.summary(full=True), rich_view.getvalue()):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "[red]x[/red]" in text


def test_notebook_view_escapes() -> None:
    frame = pd.DataFrame({"y": [1, 0, 0] * 20, "s": ["<script>alert(1)</script>", "b"] * 30})
    text = audit(frame, y_pred="y", sensitive_features="s")._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_html_without_jinja2(
    report: AuditReport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"fairstats\[report\]"):
        report.to_html(tmp_path / "r.html")


# ---------------------------------------------------------------- tables in words


def test_tables_in_words_by_hand() -> None:
    """Headings written down; numbers of the tidy tables formatted here."""
    counts = {"a": (3_000, 7_000), "b": (5_000, 5_000), "c": (4_990, 5_010)}
    ratio = fs.disparate_impact(counts=counts, reference="b")
    made = table_of(ratio)
    assert made.title == ratio.title
    assert made.heads == (
        "group",
        "reference",
        "rate",
        "rate reference",
        "estimate",
        "interval from",
        "to",
        "p-value",
        "p-value, adjusted",
        "rows",
        "rows of the reference",
        "finding",
    )
    assert made.rows[0][:2] == ("a", "b")
    numbers = [f"{ratio['a'].estimate:.3f}", *(f"{v:.3f}" for v in ratio["a"].confidence_interval)]
    assert made.rows[0][2:] == (
        "0.300",
        "0.500",
        *numbers,
        *["<0.0001"] * 2,
        "10,000",
        "10,000",
        "violated",
    )
    assert made.rows[1][7:9] == (f"{ratio['c'].pvalue:.4f}", f"{ratio['c'].pvalue_adjusted:.4f}")
    assert made.sentences == tuple(ratio.sentences())
    assert made.notes == tuple(ratio.notes())
    cells = {"tp": 20, "tn": 30, "fp": 12, "fn": 11}
    posterior = fs.um_posterior(counts={"a": cells, "b": cells | {"tn": 38}}, draws=500, rng=1)
    table = table_of(posterior)
    assert table.heads == (
        "metric",
        "group",
        "reference",
        "estimate",
        "standard error",
        "interval from",
        "to",
        "probability of practical equivalence",
    )
    assert table.sentences == ()
    for cells_of, row in zip(table.rows, posterior.comparisons, strict=True):
        inside = "—" if math.isnan(row.p_rope) else f"{100 * row.p_rope:.1f}%"
        inside = "less than 0.1%" if row.p_rope < 0.001 else inside
        values = [row.estimate, row.std_error, *row.confidence_interval]
        shown = [
            f"{v:.2g}" if 0 < abs(v) < 5e-4 else "0.000" if abs(v) < 5e-4 else f"{v:.3f}"
            for v in values
        ]
        names = (row.metric.replace("_", " "), row.group, row.reference)
        assert cells_of == (*names, *(v.replace("-", "−") for v in shown), inside)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    first, second = (np.where(rng.random(200) < share, y, 1 - y) for share in (0.8, 0.7))
    models = fs.compare_models(
        y,
        {"m_1": first, "m_2": second},
        sensitive_features=np.tile(["a", "b"], 100),
        rng=1,
        metrics=["disparate_impact"],
    )
    table = table_of(models)
    assert table.heads[:8] == (
        "metric",
        "model",
        "compared with",
        "group",
        "reference",
        "value of what it is compared with",
        "value of the model",
        "estimate",
    )
    assert table.rows[0][:3] == ("disparate impact change", "m_2", "m_1")
    (said,) = models.sentences()
    assert " disparate_impact " in said
    assert table.sentences == (said.replace(" disparate_impact ", " disparate impact "),)
