"""The page of the record: `vignettes/calibration.md`, for a statistician to read from top to
bottom.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.calibration.study import Cell, is_current

PAGE = Path(__file__).resolve().parents[2] / "vignettes" / "calibration.md"
SEARCH = Path(__file__).with_name("results") / "exact_search.json"
WIDTHS = Path(__file__).with_name("results") / "ecd_widths.json"
_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: Room → its heading, and what is to be known before its table.
ROOMS: dict[str, dict[str, str]] = _WORDS["rooms"]
#: Parameters of functions that infer.
_INFERENCE = {
    "confidence_level",
    "n_resamples",
    "prob",
    "power",
    "alternative",
    "false_discovery_rate",
}
#: Public names without a cell → why they need none.
EXCEPTIONS = {
    "adverse_impact": (
        'tabulates `disparate_impact` with `reference="highest"` and the bounds below'
    ),
    "audit": "calls the methods below and prints what they give",
    "counterfactual_discrimination": "makes the sample that `ecd` infers from",
    "hfm_experiment": "measures models on test rows and hands the ranks to `rank_rules`",
    "sample_tail": "adds to that sample; its stopping rule is `evt.exponentiality_test`",
}
_ERRORS = ("below", "above", "size", "false verdict", "false satisfied", "false violated")
_LOW = 0.935
_HIGH = 0.965
_MOST = 0.06
#: Largest Monte Carlo error of a claim that counts as shown; where a sample takes `SLOW` seconds or
#: more the second.
SHOWN = 0.005
SHOWN_SLOW = 0.01
SLOW = 1.0
#: Samples that are enough whatever share they show: 5% is known to .0049 by them.
ENOUGH = 2_000
#: What is to be known of a cell: the columns of the summary.
STATES = ("shown", "outside", "nothing claimed", "not shown", "not run")


class Share(NamedTuple):
    """A share, and its Monte Carlo standard error (0 for an enumerated one)."""

    value: float
    error: float

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "–"
        text = f"{self.value:.3f}".lstrip("0")
        return f"{text} ± {self.error:.3f}".replace(" 0.", " .") if self.error else text


def public_methods() -> list[str]:
    """Public functions that give an interval, a test or a posterior, and the metrics of the
    registry.
    """
    import fairstats as fs
    from fairstats.ground.registry import METRICS

    modules: dict[str, Any] = {"": fs, "evt.": fs.evt}
    found = [
        prefix + name
        for prefix, module in modules.items()
        for name in module.__all__
        if inspect.isroutine(value := getattr(module, name))
        and (name.startswith("um_") or _INFERENCE & set(inspect.signature(value).parameters))
    ]
    named = [m.name for m in METRICS.values() if m.function == "group_metric" and m.audit != "no"]
    return [*found, *named]


def without_cells(cells: Mapping[str, Cell]) -> list[str]:
    """Those of `public_methods` that no cell names, but for `EXCEPTIONS`."""
    methods = " ".join(cell.method for cell in cells.values())
    # a name is a whole word: `madd` is not in `madd_curve`
    words = set(re.findall(r"\w+", methods))
    return [
        name
        for name in public_methods()
        if not {name, name.removeprefix("evt.")} & {*words, *EXCEPTIONS}
    ]


def shares(line: Mapping[str, Any]) -> dict[str, Share]:
    """Measure → share, of a line of the record."""
    found = {}
    for name, (count, n) in line["measures"].items():
        value = count / n if n else math.nan
        # at 0 and 1 the error of one more, or one less
        inner = min(max(value, 0.5 / n), 1 - 0.5 / n) if n else math.nan
        found[name] = Share(
            value, 0.0 if line["exact"] or not n else math.sqrt(inner * (1 - inner) / n)
        )
    return found


def misses(cell: Cell, line: Mapping[str, Any]) -> list[str]:
    """Measures outside the cell's claim by more than two Monte Carlo errors.

    None where it claims none.
    """
    if cell.claim == "fails":
        return []
    found = []
    for name, share in shares(line).items():
        high = {"coverage": 1.0 if cell.claim == "conservative" else _HIGH}.get(name, _MOST)
        low = _LOW if name == "coverage" else 0.0
        far = 2 * share.error
        if name in ("coverage", *_ERRORS) and not low - far <= share.value <= high + far:
            found.append(name)
    return [name for name in found if not math.isnan(shares(line)[name].value)]


def too_uncertain(line: Mapping[str, Any]) -> list[str]:
    """Claimed measures that have too large a Monte Carlo error to show anything."""
    if line["exact"]:
        return []
    slow = line["seconds"] >= SLOW * line["runs"]
    most = SHOWN_SLOW if slow else SHOWN
    enough = ENOUGH * (SHOWN / most) ** 2
    measured = {name: n for name, (_, n) in line["measures"].items()}
    return [
        name
        for name, share in shares(line).items()
        if name in ("coverage", *_ERRORS) and measured[name] < enough and not share.error <= most
    ]


def state(cell: Cell, line: Mapping[str, Any] | None) -> str:
    """What the record says of a cell: one of `STATES`."""
    if line is None:
        return "not run"
    if not is_current(cell, line):
        return "not shown"
    if cell.claim == "fails":
        return "nothing claimed"
    if misses(cell, line):
        return "outside"
    return "not shown" if too_uncertain(line) else "shown"


def mark(cell: Cell, line: Mapping[str, Any]) -> str:
    """The claim as the table prints it."""
    if not is_current(cell, line):
        return "not shown: the method has changed since"
    at = state(cell, line)
    if at == "outside":
        return f"{cell.claim} ✗ {', '.join(misses(cell, line))}"
    if at == "not shown":
        return f"not shown ({cell.claim})"
    return cell.claim


def summary_line(cell: Cell, line: Mapping[str, Any]) -> str:
    """A cell in one line, for the terminal."""
    parts = [f"{name} {share}" for name, share in shares(line).items()]
    wrong = misses(cell, line)
    return (
        ", ".join(parts)
        + f" ({line['seconds']:.1f} s)"
        + (f"  ✗ {', '.join(wrong)}" if wrong else "")
    )


def page(cells: Mapping[str, Cell], record: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of the page."""
    by_room: dict[str, list[Cell]] = {}
    for room in ROOMS:
        own = [cell for cell in cells.values() if cell.room == room]
        if own:
            by_room[room] = own
    strange = sorted({cell.room for cell in cells.values()} - set(ROOMS))
    if strange:
        raise ValueError(f"rooms without a heading: {strange}")
    lines = [
        _WORDS["introduction"].lstrip(),
        *_summary(by_room, record),
        "",
        *_searched(cells, record),
    ]
    for room, own in by_room.items():
        lines += _room(room, own, record)
    return "\n".join([*lines, *_made(cells, record)]).rstrip() + "\n"


def write_page(
    cells: Mapping[str, Cell], record: Mapping[str, Mapping[str, Any]], path: Path | None = None
) -> Path:
    """Write the page; return its path."""
    target = path or PAGE
    target.write_text(page(cells, record), encoding="utf-8")
    return target


def _summary(
    by_room: Mapping[str, list[Cell]], record: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    yield "| what | cells | claimed and shown | outside ✗ | nothing claimed | not shown | not run |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    total = [0] * (1 + len(STATES))
    for room, own in by_room.items():
        states = [state(cell, record.get(cell.key)) for cell in own]
        numbers = [len(own), *(states.count(name) for name in STATES)]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        heading = ROOMS[room]["heading"]
        yield f"| [{heading}](#{_anchor(heading)}) | {' | '.join(map(str, numbers))} |"
    yield f"| all | {' | '.join(map(str, total))} |"


def _searched(cells: Mapping[str, Cell], record: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The worst error that a search found, by method."""
    yield "## The worst that was found\n"
    yield _WORDS["searched"].strip() + "\n"
    yield "| method | searched | worst error | where |"
    yield "| --- | --- | --- | --- |"
    search = json.loads(SEARCH.read_text(encoding="utf-8"))
    worst = search["worst where the score decides"][0]
    alone = search["worst by the score alone"][0]
    settings = (
        f"{search['settings']:,} settings by enumeration, {search['decided by the score']:,} of"
        " them by the score"
    )
    where = (
        f"{worst['groups']} groups of {worst['n']:,} beside {worst['n0']:,}, {worst['contrast']} at"
        f" the {worst['end']} end of θ {worst['size']:g}, rate {worst['rate']:g}: false"
        f" “{worst['verdict']}” in the family"
    )
    rest = (
        f"the score alone: {_number(alone['of family'])}; exact tests: at most .05 by construction"
    )
    yield (
        f"| ratios, differences, gaps of two groups | {settings} | {_number(worst['of family'])} |"
        f" {where} ({rest}) |"
    )
    for row in _WORDS["worst"]:
        error, place = (
            (row["error"], row["where"])
            if "error" in row
            else worst_of(row["cells"], cells, record)
        )
        yield f"| {row['method']} | {row['searched']} | {error} | {place} |"
    yield ""


def worst_of(
    pattern: str, cells: Mapping[str, Cell], record: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str]:
    """The largest share of false verdicts among the cells of a pattern, and where.

    Those that claim nothing apart.
    """
    largest: dict[bool, tuple[Share, Cell]] = {}
    for key, cell in cells.items():
        line = record.get(key)
        if line is None or not is_current(cell, line) or not re.match(pattern, key):
            continue
        claimed = cell.claim != "fails"
        for name, share in shares(line).items():
            before = largest.get(claimed)
            if name.startswith("false") and (before is None or share.value > before[0].value):
                largest[claimed] = share, cell
    if True not in largest:
        return "–", "not run"
    share, cell = largest[True]
    place = cell.regime
    if False in largest:
        other, where = largest[False]
        place += f" (where nothing is claimed {other}: {where.regime})"
    return str(share), place


def _number(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


def _anchor(heading: str) -> str:
    return "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _room(room: str, own: list[Cell], record: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield f"## {ROOMS[room]['heading']}\n\n{ROOMS[room]['about']}\n"
    ran = [cell for cell in own if cell.key in record]
    columns = [
        c for c in _columns(ran, record) if any(_entry(c, record[cell.key]) != "" for cell in ran)
    ]
    if ran:
        heads = ["method", "regime", *columns, "samples", "claim"]
        yield f"| {' | '.join(heads)} |"
        yield f"|{' --- |' * len(heads)}"
    before = ""
    remarks = []
    for cell in sorted(
        ran, key=lambda cell: list(dict.fromkeys(c.method for c in ran)).index(cell.method)
    ):
        line = record[cell.key]
        current = is_current(cell, line)
        claim = mark(cell, line)
        if cell.remark and cell.remark not in remarks:
            remarks.append(cell.remark)
        if cell.remark:
            claim += f" [{remarks.index(cell.remark) + 1}]"
        samples = "exact" if line["exact"] else f"{line['runs']:,}"
        if not current:
            samples = "–"
        method = "" if cell.method == before else f"`{cell.method}`"
        before = cell.method
        entries = (_entry(c, line) if current else "" for c in columns)
        row = (method, cell.regime, *entries, samples, claim)
        yield f"| {' | '.join(text.replace('|', '∣') for text in row)} |"
    if remarks:
        yield ""
        yield from (f"[{k}] {remark}  " for k, remark in enumerate(remarks, start=1))
    left = [cell for cell in own if cell.key not in record]
    if left:
        yield "\nNot run: " + "; ".join(f"`{cell.method}` ({cell.regime})" for cell in left) + "."
    yield ""
    if room == "ecd":
        yield from _widths()


def _widths() -> Iterator[str]:
    """The width of ECD's interval beside that by the thresholds that were the default before."""
    yield _WORDS["widths"].strip() + "\n"
    heads = (
        "rows",
        "law",
        "size held before",
        "median ratio of widths",
        "95% interval",
        "beside 50",
    )
    yield f"| {' | '.join(heads)} |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for line in json.loads(WIDTHS.read_text(encoding="utf-8")):
        rows = " and ".join(f"{n:,}" for n in line["sizes"])
        held = "yes" if line["held"] else "no"
        interval = f"{line['low']:.2f} to {line['high']:.2f}"
        median = f"{line['median']:.2f}"
        beside_fifty = f"{line['beside 50']:.2f}"
        yield f"| {rows} | {line['law']} | {held} | {median} | {interval} | {beside_fifty} |"
    yield ""


def _columns(ran: list[Cell], record: Mapping[str, Mapping[str, Any]]) -> list[str]:
    seen = {name for cell in ran for name in record[cell.key]["measures"]}
    return [
        c
        for c in ("coverage", "below", "above", "size", "power", "false verdicts", "answered")
        if c in seen or c[:5] == "false"
    ]


def _entry(column: str, line: Mapping[str, Any]) -> str:
    found = shares(line)
    if column == "answered" and column in found:
        return f"{found[column].value:.3f}".removeprefix("0")
    if column != "false verdicts":
        return str(found[column]) if column in found else ""
    parts = (("", "false verdict"), ("v ", "false violated"), ("s ", "false satisfied"))
    return ", ".join(f"{mark}{found[name]}" for mark, name in parts if name in found)


def _made(cells: Mapping[str, Cell], record: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    ran = [record[key] for key, cell in cells.items() if is_current(cell, record.get(key))]
    hours = sum(line["seconds"] for line in ran) / 3600
    bare = without_cells(cells)
    if bare:
        yield "Nothing was simulated for " + ", ".join(f"`{name}`" for name in bare) + ".\n"
    yield (
        "Without a cell of their own: "
        + "; ".join(f"`{k}` {why}" for k, why in EXCEPTIONS.items())
        + ".\n"
    )
    yield "## How it was made\n"
    yield (
        f"{len(ran)} of {len(cells)} cells with the procedure of today, {hours:.1f} hours of one"
        " processor. " + _WORDS["made"].strip()
    )
