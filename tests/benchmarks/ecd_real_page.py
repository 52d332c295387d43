"""`vignettes/ecd-real-data.md`, its picture and `ecd_real_data.md`: every number from the records.

python -m tests.benchmarks.ecd_real_page
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.ecd_paper_tables import TABLE_III, TABLE_IV, TABLE_V, TABLE_V_SMOTE, TABLE_VII
from tests.benchmarks.ecd_real_claims import (
    FEWEST,
    FURTHER,
    OF_THE_PAPER,
    SLACK,
    TOLERANCE,
    Cells,
    Claim,
    Mean,
    by_tail,
    change,
    claims,
    fits,
    kind,
    mean_over_tasks,
    paired,
    quality,
    size,
    tails,
    value,
    win_tie_loss,
)
from tests.benchmarks.ecd_real_data import RECORD, keys, read
from tests.benchmarks.ecd_real_mitigators import MITIGATORS, SEARCHED, TRIALS
from tests.benchmarks.ecd_real_rows import EPOCHS, GENERATORS, PICTURED, POINTS, ROWS
from tests.benchmarks.ecd_real_rows import RECORD as ROWS_RECORD
from tests.benchmarks.ecd_real_rows import SEEDS as ROW_SEEDS
from tests.benchmarks.ecd_real_sets import EPS, MODELS, MOST_TRAINING_ROWS, ROUNDS, TASKS
from tests.benchmarks.ecd_real_table import page as tables
from tests.benchmarks.ecd_real_table import table_agreement, text
from tests.benchmarks.ecd_real_words import TEMPLATE

PAGE = Path(__file__).parents[2] / "vignettes" / "ecd-real-data.md"
PICTURE = PAGE.parent / "images" / "ecd-real-mds.png"
TABLES = Path(__file__).parent / "ecd_real_data.md"
NAMES = {"LR": "logistic regression", "SVM": "SVM", "RF": "forest", "MLP": "MLP"}
DONE = (
    "Everything that was planned was run. Verdicts and intervals of a piece are those of the"
    " version that ran it, of most pieces of the first three seeds an earlier one than of the"
    " others; shares and claims rest on the estimates."
)
#: Said while pieces are missing.
LEFT = (
    "**{left} planned pieces have not been run.** The run goes on where it stopped with `python -m"
    " tests.benchmarks.ecd_real_data --minutes 120` and `python -m tests.benchmarks.ecd_real_rows"
    " --minutes 60` (the second needs ctgan and torch); the page is then written again by `python"
    " -m tests.benchmarks.ecd_real_page`."
)


def read_rows(record: Path = ROWS_RECORD) -> list[dict[str, Any]]:
    """Lines of the record of synthetic rows; none where nothing was run."""
    return list(map(json.loads, record.read_text().splitlines())) if record.exists() else []


def two(x: float) -> str:
    """Two decimals, no zero before the point."""
    if not np.isfinite(x):
        return "–"
    shown = f"{abs(x):.2f}"
    shown = shown.removeprefix("0") if abs(x) < 1 else shown
    return ("−" if x < 0 and float(shown) else "") + shown


def percent(x: float) -> str:
    """Whole percent."""
    return f"{100 * x:.0f}%" if np.isfinite(x) else "–"


def shown(mean: Mean, share: bool) -> str:
    """Mean and interval over tasks."""
    form = percent if share else two
    if not np.isfinite(mean.low):
        return form(mean.estimate)
    return f"{form(mean.estimate)} [{form(mean.low)}, {form(mean.high)}]"


def claims_table(found: Iterable[Claim]) -> str:
    """Claim, measure, bound, value, judgement."""
    rows: list[Sequence[str]] = [
        ("claim (place)", "measured here", "claim's side", "found, 95% interval", "")
    ]
    for claim in found:
        tasks = "" if len(claim.mean.tasks) >= FEWEST else f" ({len(claim.mean.tasks)} tasks)"
        rows.append(
            (
                claim.paper,
                claim.ours,
                bound(claim),
                shown(claim.mean, claim.share) + tasks,
                f"**{claim.judged}**",
            )
        )
    return text(rows)


def in_short(found: list[Claim]) -> str:
    """What was found for every claim that is decided."""
    items = []
    for word in ("holds", "fails"):
        own = [c for c in found if c.judged == word]
        words = "; ".join(f"{c.ours} {shown(c.mean, c.share)}, claimed {bound(c)}" for c in own)
        if own:
            items.append(f"* {word.capitalize()}: {words}.")
    return "\n".join(items)


def count_of(seeds: list[int]) -> str:
    """How many seeds a pair has, lowest to highest."""
    ends = [str(n) for n in dict.fromkeys((min(seeds), max(seeds)))]
    return " to ".join(ends) + (" seed" if ends == ["1"] else " seeds")


def bound(claim: Claim) -> str:
    """The claim's side, in words."""
    side = "at least" if claim.side == "above" else "at most"
    return f"{side} {percent(claim.bound) if claim.share else two(claim.bound)}"


def state(lines: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """What was run, and what not."""
    planned = Counter[str]()
    done = Counter[str]()
    failed = Counter[str]()
    for _, _, _, what in keys():
        planned[what] += 1
    seeds: dict[str, set[int]] = {what: set() for what in MITIGATORS}
    for line in lines:
        _, _, seed, what = json.loads(line["key"])
        done[what] += 1
        failed[what] += "failed" in line
        seeds[what].add(seed)
    body: list[Sequence[str]] = [("mitigator", "pieces", "planned", "failed", "seeds")]
    for what in MITIGATORS:
        name = "original and EG" if what == "EG" else what
        body.append(
            (name, str(done[what]), str(planned[what]), str(failed[what]), str(len(seeds[what])))
        )
    kinds = Counter(line["key"][0] for line in rows)
    wanted = {
        "quality": ROW_SEEDS * len(GENERATORS) * len(TASKS),
        "tail": ROW_SEEDS * len(TASKS),
        "mds": 1,
    }
    names = {
        "quality": "synthetic rows (table III)",
        "tail": "Algorithm 1 with CTGAN",
        "mds": "MDS picture",
    }
    for what, planned_rows in wanted.items():
        used = {line["key"][3] for line in rows if line["key"][0] == what}
        body.append((names[what], str(kinds[what]), str(planned_rows), "0", str(len(used))))
    return text(body)


def quality_table(rows: list[dict[str, Any]]) -> str:
    """Table III, ours with the paper's in brackets."""
    made = quality(rows)
    body: list[Sequence[str]] = [
        ("data", "rows by", "Fréchet", "normalised KL", "detection", "F1 loss")
    ]
    for task in TABLE_III:
        for name in GENERATORS:
            values = made.get(name, {}).get(task)
            if values is None:
                continue
            place = {"CTGAN": 0, "TVAE": 1, "RND": 2}.get(name)
            printed = TABLE_III[task][place] if place is not None else ()
            cells = [
                two(v) + (f" ({two(printed[j])})" if printed else "")
                for j, v in enumerate(values.values())
            ]
            body.append((task, name.replace("_", " "), *cells))
    return text(body) if len(body) > 1 else ""


def looks_table(rows: list[dict[str, Any]]) -> str:
    """Algorithm 1 over tasks: tails with synthetic rows, synthetic rows per tail, how it ended."""
    cells = by_tail(rows)
    if not cells:
        return ""
    body: list[Sequence[str]] = [
        ("task", "tails", "with synthetic rows", "most synthetic rows", "not passed")
    ]
    for task in TASKS:
        found = [
            look
            for (name, _), seeds in cells.items()
            if name == task.name
            for pair in seeds.values()
            for look in pair
        ]
        if found:
            body.append(
                (
                    task.name,
                    str(len(found)),
                    str(sum(n > 0 for _, n, _, _ in found)),
                    f"{max(n for _, n, _, _ in found):,}",
                    str(sum(not status.startswith("passed") for *_, status in found)),
                )
            )
    return text(body)


def tails_table(by: dict[str, Cells]) -> str:
    """What the tails are, in shares of tails averaged over seeds, models, tasks."""
    variants = [v for v in ("original", "EG", "EG, mixed") if v in by]
    kinds = sorted(
        {
            kind(tail)
            for v in variants
            for s in by[v].values()
            for f in s.values()
            for tail in tails(f)
        }
    )
    laws = {
        "values": "by the values",
        "grid": "by the cells of a grid",
        "power": "a power tail below its end",
    }

    def share(cells: Cells, holds: Any) -> str:
        return shown(
            mean_over_tasks(cells, lambda f: np.mean([holds(t) for t in tails(f)]), share=True),
            True,
        )

    body: list[Sequence[str]] = [("tails", *variants)]
    for name in kinds:
        words = name.replace("none: ", "no model: ") if name.startswith("none") else f"type {name}"
        body.append(
            (words, *(share(by[v], lambda tail, name=name: kind(tail) == name) for v in variants))
        )
    for law, words in laws.items():
        body.append(
            (
                f"model {words}",
                *(share(by[v], lambda t, law=law: t["law"] == law) for v in variants),
            )
        )
    return text(body)


def cases_table(by: dict[str, Cells]) -> str:
    """Shares of cases beyond the tolerance."""
    cells = by["original"]

    def beyond(name: str) -> Any:
        return lambda fit: float(abs(value(fit, name)) > TOLERANCE)

    measures = {
        "|ACD| above .05": beyond("acd"),
        "|CVaR| above .05": beyond("cvar"),
        "|ECD| above .05": beyond("ecd"),
        "ECD above .05": lambda fit: float(value(fit, "ecd") > TOLERANCE),
        "ECD below −.05": lambda fit: float(value(fit, "ecd") < -TOLERANCE),
        "interval of ECD beyond ±.05": lambda fit: float(
            fit["ecd"][1] > TOLERANCE or fit["ecd"][2] < -TOLERANCE
        ),
        **{
            f"verdict: {word}": lambda fit, word=word: float(fit["verdict"] == word)
            for word in ("violated", "satisfied", "undecided")
        },
    }
    body: list[Sequence[str]] = [("cases of original models", "share", *MODELS)]
    for words, of in measures.items():
        each = [
            shown(
                mean_over_tasks({k: v for k, v in cells.items() if k[1] == model}, of, share=True),
                True,
            ).split(" ")[0]
            for model in MODELS
        ]
        body.append((words, shown(mean_over_tasks(cells, of, share=True), True), *each))
    return text(body)


def paper_table(by: dict[str, Cells]) -> str:
    """Table IV, task by task: means over seeds."""
    body: list[Sequence[str]] = [
        (
            "task (LR, SVM, forest, MLP)",
            "ACD: paper",
            "ours",
            "ECD: paper",
            "own",
            "at m",
            "spread of ECD",
        )
    ]
    for task in TASKS:
        for variant in ("original", "original, label 1 as printed"):
            cells = {m: by.get(variant, {}).get((task.name, m), {}) for m in MODELS}
            if not any(cells.values()):
                continue
            printed = [TABLE_IV[task.name, m] for m in MODELS]
            both = {
                m: [[tail["own"] for tail in tails(fit)] for fit in seeds.values()]
                for m, seeds in cells.items()
            }
            each = [
                [
                    float(np.mean([value(fit, name) for fit in s.values()])) if s else np.nan
                    for s in cells.values()
                ]
                for name in ("acd", "ecd")
            ]
            own = [
                float(np.mean([u - p for p, u in pairs])) if pairs else np.nan
                for pairs in both.values()
            ]
            spread = [
                (
                    float(np.std([value(fit, "ecd") for fit in s.values()], ddof=1))
                    if len(s) > 1
                    else np.nan
                )
                for s in cells.values()
            ]
            body.append(
                (
                    task.name + variant.removeprefix("original"),
                    *(
                        ", ".join(map(two, series))
                        for series in (
                            [a for a, *_ in printed],
                            each[0],
                            [u - p for _, p, u in printed],
                        )
                    ),
                    *(", ".join(map(two, series)) for series in (own, each[1], spread)),
                )
            )
    return text(body)


def mitigation_table(by: dict[str, Cells], variants: Iterable[str]) -> str:
    """Means over tasks, and wins, ties and losses against the original."""
    body: list[Sequence[str]] = [
        (
            "",
            "accuracy, change",
            "mean |AOD|",
            "mean |ECD|",
            "|ECD|, change",
            "AOD: w/t/l",
            "ECD: w/t/l",
        )
    ]
    cells = by["original"]
    body.append(
        (
            "original",
            "",
            *(shown(mean_over_tasks(cells, size(n)), False) for n in ("AOD", "ecd")),
            "",
            "",
            "",
        )
    )
    for variant in variants:
        if variant not in by:
            continue
        pairs = paired(cells, by[variant])
        scores = [win_tie_loss(by, variant, name) for name in ("AOD", "ecd")]
        body.append(
            (
                variant,
                shown(mean_over_tasks(pairs, lambda p: p[1]["accuracy"] - p[0]["accuracy"]), False),
                *(shown(mean_over_tasks(by[variant], size(n)), False) for n in ("AOD", "ecd")),
                shown(mean_over_tasks(pairs, change("ecd")), False),
                *(f"{s.wins} / {s.ties} / {s.losses}" if s.judged else "–" for s in scores),
            )
        )
    return text(body)


def highest_level(by: dict[str, Cells], variant: str) -> str:
    """Mean of the larger of the groups' levels, cut at 1."""
    mean = mean_over_tasks(
        by[variant], lambda fit: min(max(tail["level"] for tail in tails(fit)), 1.0), share=True
    )
    return shown(mean, False)


def printed_mean(table: dict[str, tuple[Any, ...]]) -> str:
    """Mean over the printed entries of these eight tasks."""
    return two(float(np.mean([x for row in table.values() for x in row if x is not None])))


def draw(rows: list[dict[str, Any]]) -> bool:
    """The picture by MDS; whether there is one."""
    placed = next((line for line in rows if line["key"][0] == "mds"), None)
    if placed is None:
        return False
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 3.8), dpi=110, layout="constrained")
    looks = {
        "real": ("o", "#222222"),
        "CTGAN": ("^", "#0072b2"),
        "TVAE": ("s", "#009e73"),
        "RND": ("x", "#d55e00"),
    }
    for name, (marker, colour) in looks.items():
        if name in placed:
            points = np.array(placed[name])
            axes.scatter(
                *points.T, s=12, marker=marker, color=colour, alpha=0.6, linewidths=0.8, label=name
            )
    axes.set(xticks=[], yticks=[], xlabel="first dimension", ylabel="second dimension")
    axes.legend(frameon=False, fontsize=8)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Software": None})
    plt.close(figure)
    return True


def filled(lines: list[dict[str, Any]], rows: list[dict[str, Any]]) -> dict[str, str]:
    """What stands for each name of the template."""
    by = fits(lines)
    found = claims(lines, rows)
    of_paper = [claim for claim in found if claim.question != "further"]
    counts = Counter(claim.judged for claim in of_paper)
    seeds = [len(s) for s in by["original"].values()]
    undone = len(list(keys())) - len(lines)
    pairs = paired(by["original"], by["EG"]) if "EG" in by else {}
    turned = mean_over_tasks(
        pairs, lambda p: float(value(p[0], "acd") * value(p[1], "acd") < 0), share=True
    )
    searched = {name: {k: s for k, s in by[name].items() if k[1] in SEARCHED} for name in by}
    epochs = {line["epochs"] for line in rows if "epochs" in line} or {EPOCHS}
    parts = {
        "holds": counts["holds"],
        "fails": counts["fails"],
        "undecided": counts["undecided"],
        "covered": len(by["original"]),
        "seeds": f"with {count_of(seeds)} each",
        "caps": ", ".join(
            f"{n:,} for the {NAMES[model]}" for model, n in MOST_TRAINING_ROWS.items()
        ),
        "eps": f"{EPS:g}",
        "rounds": ROUNDS,
        "trials": TRIALS,
        "fewest": FEWEST,
        "slack": two(SLACK),
        "rows": f"{ROWS:,}",
        "epochs": " to ".join(map(str, sorted(epochs))),
        "short": in_short(of_paper),
        "state": state(lines, rows),
        "left": LEFT.format(left=f"{undone:,}") if undone else DONE,
        "quality": quality_table(rows),
        "looks": looks_table(rows),
        "picture": picture(rows),
        "tails": tails_table(by),
        "cases": cases_table(by),
        "table IV": paper_table(by),
        "agreement": text(table_agreement(lines)),
        "averages": mitigation_table(by, (*OF_THE_PAPER, *FURTHER)),
        "searches": mitigation_table(searched, ("MiniMax", "EcdSearch")),
        "turned": shown(turned, True),
        "paper original": two(float(np.mean([abs(u - p) for _, p, u in TABLE_IV.values()]))),
        "paper EG": printed_mean(TABLE_V),
        "paper Fair-SMOTE": printed_mean(TABLE_V_SMOTE),
        "paper MiniMax": printed_mean(TABLE_VII["MiniMax"]),
        "paper EcdSearch": printed_mean(TABLE_VII["EcdSearch"]),
        "levels": ", ".join(
            f"{highest_level(by, v)} ({v})" for v in ("original", "EG", "EG, mixed") if v in by
        ),
    }
    for question in ("RQ1", "RQ2", "RQ3", "further", "RQ4"):
        own = [claim for claim in found if claim.question == question]
        words = [f"{n} {word}" for word, n in Counter(claim.judged for claim in own).items()]
        parts[f"count {question}"] = f" ({', '.join(words)})" if words else ""
        parts[f"claims {question}"] = claims_table(own) if own else "Not run yet.\n"
    return {name: str(part) for name, part in parts.items()}


def page(lines: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """The vignette."""
    parts = filled(lines, rows)
    pieces = re.sub(r"\{\{(.+?)\}\}", lambda found: parts[found[1]], TEMPLATE).split("\n\n")
    return "\n\n".join(wrapped(piece.strip("\n")) for piece in pieces if piece.strip()) + "\n"


def wrapped(block: str) -> str:
    """A paragraph or items of at most 118 characters a line.

    Tables, titles and pictures as they are.
    """
    if block[0] in "|#!":
        return block
    items = re.split(r"\n(?=\* )", block)
    indent = "  " if block.startswith("* ") else ""
    wrapper = textwrap.TextWrapper(
        118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapper.fill(" ".join(item.split())) for item in items)


def picture(rows: list[dict[str, Any]]) -> str:
    """The picture with its words."""
    if not any(line["key"][0] == "mds" for line in rows):
        return ""
    return (
        "![Real and synthetic rows in the"
        f" plane](images/{PICTURE.name})\n\n{PICTURED.partition(',')[0]}, {POINTS} rows of each"
        " kind, by metric MDS of the encoded rows: the paper's figure 3.\n"
    )


def main() -> None:
    """Write the page, its picture and the tables."""
    lines = read(RECORD)
    rows = read_rows()
    draw(rows)
    PAGE.write_text(page(lines, rows), encoding="utf-8")
    TABLES.write_text(tables(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
