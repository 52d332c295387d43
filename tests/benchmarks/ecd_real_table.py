"""The tables of `ecd_real_data`.

What its JSON lines say, in the form of the paper's tables IV and V.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tests.benchmarks.ecd_paper_tables import TABLE_IV, TABLE_V, TABLE_V_SMOTE, TABLE_VII
from tests.benchmarks.ecd_real_claims import fits, kind, of_group
from tests.benchmarks.ecd_real_data import REVERSED
from tests.benchmarks.ecd_real_mitigators import MITIGATORS, SEARCHED
from tests.benchmarks.ecd_real_sets import MODELS, MOST_TRAINING_ROWS, TASKS

#: Printed with two decimals, a number of this size or less has hardly a sign.
SMALL = 0.02
#: In the order of the tables; the first four also group by group.
VARIANTS = ("original", "original" + REVERSED, "EG", "EG, mixed", *list(MITIGATORS)[1:])
#: Above the tables.
NOTE = """Made by `python -m tests.benchmarks.ecd_real_data`. A random 60% of the rows train (of them at
most {caps}), the other 40% are evaluated: N counts held-out rows. CD is the change of the probability of
the favourable outcome (COMPAS: no reoffence; Default: no default; Heart: no disease; "label 1 as printed"
turns it round for the two sets where the paper's table II has the unfavourable outcome as label 1). ACD
with standard error, CVaR (mean of the worst 5%) with its interval, both at 95% as all intervals here.
ECD: difference of the groups' levels at m interactions (profile likelihood; where a tail has no model,
MOVER from binomial intervals, and no p-value). μ: level at m, which is the location of the point process
with block size m; its interval is cut at 1. σ, ξ of that process with standard errors (none for ξ <
−1/2). τ (k): threshold, exceedances. p of the fit: Anderson–Darling. B: horizon. A tail without a model
says why: ties, constant, end point (the likelihood rises beyond ξ = −1), few values."""


#: Above the second table.
BESIDE = """Lowest to highest of the seeds. "Own": each group's location at its own block of e
exceedances, the quantity closest to the paper's μ; it is about the 18th largest value, another quantile
in each group. "Own ECD" is its difference. The paper's ECD of an original model is the difference of its
printed μ, those of EG and Fair-SMOTE stand in its table V, of MiniMax and ECD-Fair (here: EcdSearch) in
table VII; its DNN is beside our MLP."""


def rows_of(lines: list[dict[str, Any]]) -> Iterable[tuple[Any, ...]]:
    """(task, model, variant, the fits by seed), in the order of the tables."""
    by = fits(lines)
    for task in TASKS:
        for model in MODELS:
            for variant in VARIANTS:
                seeds = by.get(variant, {}).get((task.name, model), {})
                if seeds:
                    yield task, model, variant, dict(sorted(seeds.items()))


HEAD_IV = (
    *(
        "data set",
        "model",
        "group",
        "N",
        "ACD",
        "difference of ACD",
        "p",
        "CVaR",
        "ECD",
        "p",
        "verdict",
        "m",
    ),
    *("μ", "σ", "ξ", "τ (k)", "maximum", "type", "p of the fit", "B"),
)


def table_iv(lines: list[dict[str, Any]]) -> list[Sequence[str]]:
    """Two rows for each fit of the first seed; what compares the groups stands in the second."""
    rows: list[Sequence[str]] = [HEAD_IV]
    for task, model, variant, by_seed in rows_of(lines):
        if variant not in VARIANTS[:4] or 0 not in by_seed:
            continue
        fit = by_seed[0]
        for group in (task.privileged, task.unprivileged):
            r = of_group(fit, group)
            first = group == task.privileged
            cvar = f"{number(r['cvar'])} [{number(r['cvar_low'])}, {number(r['cvar_high'])}]"
            level = (
                f"{number(r['level'])} [{number(r['level_low'])},"
                f" {number(min(r['level_high'], 1.0))}]"
            )
            rows.append(
                (
                    *(task.name, called(model, variant), group, f"{r['n']:,}"),
                    f"{number(r['acd'])} ({number(r['acd_se'])})",
                    *(("", "") if first else (estimate(fit["acd"]), pvalue(fit["acd"][3]))),
                    cvar,
                    *(
                        ("", "", "")
                        if first
                        else (estimate(fit["ecd"]), pvalue(fit["ecd"][3]), fit["verdict"])
                    ),
                    *(f"{fit['m']:,}", level, with_error(r["scale"], r["scale_se"])),
                    *(with_error(r["shape"], r["shape_se"]), f"{number(r['tau'])} ({r['k']})"),
                    *(number(r["maximum"]), kind(r), number(r["fit_p"]), horizon(r["horizon"])),
                )
            )
    return rows


#: The paper's ECD of mitigated models, and the models in its order.
PRINTED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "EG": (TABLE_V, MODELS),
    "Fair-SMOTE-like": (TABLE_V_SMOTE, MODELS),
    **{name: (table, SEARCHED) for name, table in TABLE_VII.items()},
}
HEAD_SEEDS = (
    *(
        "data set",
        "model",
        "seeds",
        "accuracy",
        "SPD",
        "AOD",
        "difference of ACD",
        "ECD",
        "verdicts",
    ),
    *(
        "own μ, privileged",
        "own μ, unprivileged",
        "own ECD",
        "paper: ACD",
        "paper: μ",
        "paper: ECD",
    ),
)


def table_seeds(lines: list[dict[str, Any]]) -> list[Sequence[str]]:
    """Each fit over its seeds, beside the paper's figures."""
    rows: list[Sequence[str]] = [HEAD_SEEDS]
    for task, model, variant, by_seed in rows_of(lines):
        found = list(by_seed.values())
        own = [
            [of_group(fit, g)["own"] for g in (task.privileged, task.unprivileged)] for fit in found
        ]
        printed = ("", "", "")
        if variant.startswith("original"):
            acd, p, u = TABLE_IV[task.name, model]
            printed = (f"{acd:.2f}", f"{p:.2f}, {u:.2f}", f"{u - p:.2f}")
        elif variant in PRINTED and model in PRINTED[variant][1]:
            value = PRINTED[variant][0][task.name][PRINTED[variant][1].index(model)]
            printed = ("", "", "not valid" if value is None else f"{value:.2f}")
        rows.append(
            (
                *(task.name, called(model, variant), str(len(found))),
                *(span([fit.get(name) for fit in found]) for name in ("accuracy", "SPD", "AOD")),
                *(span([fit[name][0] for fit in found]) for name in ("acd", "ecd")),
                ", ".join(
                    f"{v} {n}" for v, n in sorted(Counter(f["verdict"] for f in found).items())
                ),
                *(span([pair[side] for pair in own]) for side in (0, 1)),
                span([pair[1] - pair[0] for pair in own]),
                *printed,
            )
        )
    return rows


HEAD_PAPER = (
    *(
        "data set",
        "model",
        "ACD: paper",
        "ours",
        "sign",
        "size",
        "ECD: paper",
        "ours, own",
        "sign",
        "size",
    ),
    *("ours, at m", "sign", "size"),
)


def table_paper(lines: list[dict[str, Any]]) -> list[Sequence[str]]:
    """The paper's differences of ACD and ECD beside ours (means over seeds), for the original
    models.
    """
    rows: list[Sequence[str]] = [HEAD_PAPER]
    for task, model, variant, by_seed in rows_of(lines):
        if not variant.startswith("original"):
            continue
        acd, p, u = TABLE_IV[task.name, model]
        found = by_seed.values()
        both = [
            [of_group(fit, g)["own"] for g in (task.privileged, task.unprivileged)] for fit in found
        ]
        own = float(np.mean([second - first for first, second in both]))
        mean, at_m = (float(np.mean([fit[name][0] for fit in found])) for name in ("acd", "ecd"))
        rows.append(
            (
                *(
                    task.name,
                    called(model, variant),
                    f"{acd:.2f}",
                    number(mean),
                    *agreement(acd, mean),
                ),
                *(f"{u - p:.2f}", number(own), *agreement(u - p, own)),
                *(number(at_m), *agreement(u - p, at_m)),
            )
        )
    return rows


def agreement(printed: float, found: float) -> tuple[str, str]:
    """Sign and order of magnitude of two numbers; up to .02 in size a number is called small."""
    small = [abs(value) <= SMALL + 1e-9 for value in (printed, found)]
    if any(small):
        return (
            ("both small", "") if all(small) else (f"{'paper' if small[0] else 'ours'} small", "")
        )
    ratio = abs(found / printed)
    return "same" if printed * found > 0 else "other", f"× {ratio:.1f}"


def table_agreement(lines: list[dict[str, Any]]) -> list[Sequence[str]]:
    """Counts of `table_paper`."""
    body = table_paper(lines)[1:]
    rows: list[Sequence[str]] = [
        ("the paper's table IV beside ours", "ACD", "ECD, own blocks", "ECD at m")
    ]
    places = (4, 8, 11)
    for word in ("both small", "paper small", "ours small", "same", "other"):
        name = f"sign: {word}" if word in ("same", "other") else word
        rows.append(
            (name, *(share(sum(row[j] == word for row in body), len(body)) for j in places))
        )
    near = [
        [1 / 3 <= float(row[j + 1][2:]) <= 3 for row in body if row[j] in ("same", "other")]
        for j in places
    ]
    rows.append(
        (
            "size within a factor of 3, where neither is small",
            *(share(sum(v), len(v)) for v in near),
        )
    )
    return rows


def called(model: str, variant: str) -> str:
    """Name of a fit."""
    return model if variant == "original" else f"{model}, {variant.removeprefix('original, ')}"


def page(lines: list[dict[str, Any]]) -> str:
    """All tables of the kept lines."""
    caps = ", ".join(f"{n:,} for {model}" for model, n in MOST_TRAINING_ROWS.items())
    parts = [
        "# Extreme counterfactual discrimination on real data\n",
        NOTE.format(caps=caps) + "\n",
        "## Table IV: one split (seed 0)\n",
        text(table_iv(lines)),
        "## Over seeds, beside the paper\n",
        BESIDE + "\n",
        text(table_seeds(lines)),
        "## The paper's differences, row by row\n",
        "Original models, means over seeds; up to .02 in size is small, × is the ratio of sizes.\n",
        text(table_paper(lines)),
        text(table_agreement(lines)),
    ]
    return "\n".join(parts)


def text(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in cells) + "\n"


def number(value: Any) -> str:
    """Three decimals, or as many significant digits."""
    if value is None or np.isnan(value):
        return ""
    rounded = f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1g}"
    return "0" if abs(value) < 1e-9 else rounded


def estimate(values: Sequence[Any]) -> str:
    """Estimate and interval."""
    return f"{number(values[0])} [{number(values[1])}, {number(values[2])}]"


def pvalue(value: Any) -> str:
    """Two significant digits."""
    return "" if value is None else f"{value:.2g}"


def with_error(value: Any, error: Any) -> str:
    """Estimate (standard error)."""
    return number(value) + ("" if error is None else f" ({number(error)})")


def horizon(value: Any) -> str:
    """B in words."""
    if value is None:
        return ""
    return (
        {"nan": "none", "inf": "no limit"}.get(value, "")
        if isinstance(value, str)
        else f"{value:,.0f}"
    )


def span(values: Sequence[Any]) -> str:
    """Lowest to highest."""
    present = [v for v in values if v is not None]
    if not present:
        return ""
    low = number(min(present))
    high = number(max(present))
    return low if low == high else f"{low} … {high}"


def share(count: int, total: int) -> str:
    """Count and percentage."""
    return f"{count} of {total}" + (f" ({100 * count / total:.0f}%)" if total else "")
