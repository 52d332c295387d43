"""The tables of `ecd_real_data`: what its JSON lines say, in the form of the paper's tables IV and V."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.ecd_paper_tables import TABLE_IV, TABLE_V
from tests.benchmarks.ecd_real_data import FIELDS, REVERSED
from tests.benchmarks.ecd_real_sets import MODELS, MOST_TRAINING_ROWS, TASKS

#: The paper's tolerance of ECD, and the least change that counts as one.
TOLERANCE, STEP = 0.05, 0.01
#: Printed with two decimals, a number of this size or less has hardly a sign.
SMALL = 0.02
VARIANTS = ("original", "original" + REVERSED, "EG", "EG, mixed")
SHORT = {"undecided (I not excluded)": "undecided", "II, pre-asymptotic": "II"}
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
printed μ, that of EG stands in its table V; its DNN is beside our MLP."""


def read(out: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Pieces by data set, model and seed."""
    lines = map(json.loads, out.read_text().splitlines())
    return {tuple(json.loads(line["key"])): line for line in lines}


def fits(pieces: dict[tuple[str, str, int], dict[str, Any]]) -> Iterable[tuple[Any, ...]]:
    """(task, model, variant, the fits by seed), in the order of the tables."""
    for task in TASKS:
        for model in MODELS:
            for variant in VARIANTS:
                by_seed = {
                    seed: line["fits"][variant]
                    for (name, kind, seed), line in sorted(pieces.items())
                    if (name, kind) == (task.name, model) and variant in line["fits"]
                }
                if by_seed:
                    yield task, model, variant, by_seed


def of_group(fit: dict[str, Any], group: str) -> dict[str, Any]:
    """A group's record with names; "type" is None where there is no model, and "why" says why."""
    *values, last = fit["groups"][group]
    record = dict(zip(FIELDS, values, strict=True))
    modelled = record["scale"] is not None
    return {**record, "type": last if modelled else None, "why": "" if modelled else last}


HEAD_IV = (
    *("data set", "model", "group", "N", "ACD", "difference of ACD", "p", "CVaR", "ECD", "p", "verdict", "m"),
    *("μ", "σ", "ξ", "τ (k)", "maximum", "type", "p of the fit", "B"),
)


def table_iv(pieces: dict[Any, Any]) -> list[Sequence[str]]:
    """Two rows for each fit of the first seed; what compares the groups stands in the second."""
    rows: list[Sequence[str]] = [HEAD_IV]
    for task, model, variant, by_seed in fits(pieces):
        fit = by_seed[min(by_seed)]
        for group in (task.privileged, task.unprivileged):
            r = of_group(fit, group)
            first = group == task.privileged
            cvar = f"{number(r['cvar'])} [{number(r['cvar_low'])}, {number(r['cvar_high'])}]"
            level = f"{number(r['level'])} [{number(r['level_low'])}, {number(min(r['level_high'], 1.0))}]"
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


HEAD_SEEDS = (
    *("data set", "model", "seeds", "accuracy", "SPD", "AOD", "difference of ACD", "ECD", "verdicts"),
    *("own μ, privileged", "own μ, unprivileged", "own ECD", "paper: ACD", "paper: μ", "paper: ECD"),
)


def table_seeds(pieces: dict[Any, Any]) -> list[Sequence[str]]:
    """Each fit over its seeds, beside the paper's figures."""
    rows: list[Sequence[str]] = [HEAD_SEEDS]
    for task, model, variant, by_seed in fits(pieces):
        found = list(by_seed.values())
        own = [[of_group(fit, g)["own"] for g in (task.privileged, task.unprivileged)] for fit in found]
        printed = ("", "", "")
        if variant.startswith("original"):
            acd, p, u = TABLE_IV[task.name, model]
            printed = (f"{acd:.2f}", f"{p:.2f}, {u:.2f}", f"{u - p:.2f}")
        elif variant == "EG":
            value = TABLE_V[task.name][MODELS.index(model)]
            printed = ("", "", "not valid" if value is None else f"{value:.2f}")
        rows.append(
            (
                *(task.name, called(model, variant), str(len(found))),
                *(span([fit.get(name) for fit in found]) for name in ("accuracy", "SPD", "AOD")),
                *(span([fit[name][0] for fit in found]) for name in ("acd", "ecd")),
                ", ".join(f"{v} {n}" for v, n in sorted(Counter(f["verdict"] for f in found).items())),
                *(span([pair[side] for pair in own]) for side in (0, 1)),
                span([pair[1] - pair[0] for pair in own]),
                *printed,
            )
        )
    return rows


HEAD_PAPER = (
    *("data set", "model", "ACD: paper", "ours", "sign", "size", "ECD: paper", "ours, own", "sign", "size"),
    *("ours, at m", "sign", "size"),
)


def table_paper(pieces: dict[Any, Any]) -> list[Sequence[str]]:
    """The paper's differences of ACD and ECD beside ours (medians over seeds), for the original models."""
    rows: list[Sequence[str]] = [HEAD_PAPER]
    for task, model, variant, by_seed in fits(pieces):
        if not variant.startswith("original"):
            continue
        acd, p, u = TABLE_IV[task.name, model]
        found = by_seed.values()
        both = [[of_group(fit, g)["own"] for g in (task.privileged, task.unprivileged)] for fit in found]
        own = float(np.median([second - first for first, second in both]))
        mean, at_m = (float(np.median([fit[name][0] for fit in found])) for name in ("acd", "ecd"))
        rows.append(
            (
                *(task.name, called(model, variant), f"{acd:.2f}", number(mean), *agreement(acd, mean)),
                *(f"{u - p:.2f}", number(own), *agreement(u - p, own)),
                *(number(at_m), *agreement(u - p, at_m)),
            )
        )
    return rows


def agreement(printed: float, found: float) -> tuple[str, str]:
    """Sign and order of magnitude of two numbers; up to .02 in size a number is called small."""
    small = [abs(value) <= SMALL + 1e-9 for value in (printed, found)]
    if any(small):
        return ("both small", "") if all(small) else (f"{'paper' if small[0] else 'ours'} small", "")
    ratio = abs(found / printed)
    return "same" if printed * found > 0 else "other", f"× {ratio:.1f}"


def table_agreement(pieces: dict[Any, Any]) -> list[Sequence[str]]:
    """Counts of `table_paper`."""
    body = table_paper(pieces)[1:]
    rows: list[Sequence[str]] = [("the paper's table IV beside ours", "ACD", "ECD, own blocks", "ECD at m")]
    places = (4, 8, 11)
    for word in ("both small", "paper small", "ours small", "same", "other"):
        name = f"sign: {word}" if word in ("same", "other") else word
        rows.append((name, *(share(sum(row[j] == word for row in body), len(body)) for j in places)))
    near = [
        [1 / 3 <= float(row[j + 1][2:]) <= 3 for row in body if row[j] in ("same", "other")] for j in places
    ]
    rows.append(("size within a factor of 3, where neither is small", *(share(sum(v), len(v)) for v in near)))
    return rows


def called(model: str, variant: str) -> str:
    """Name of a fit."""
    return model if variant == "original" else f"{model}, {variant.removeprefix('original, ')}"


def kind(record: dict[str, Any]) -> str:
    """Type of a tail, or why it has none."""
    return SHORT.get(record["type"], record["type"]) if record["type"] else f"none: {record['why']}"


def table_counts(pieces: dict[Any, Any]) -> list[Sequence[str]]:
    """How often what happens, over all seeds."""
    variants = ("original", "EG", "EG, mixed")
    columns = [
        counts([(t, f) for t, _, v, by in fits(pieces) if v == w for f in by.values()]) for w in variants
    ]
    return [("what", *variants), *((what, *(c[what] for c in columns)) for what in columns[0])]


def counts(every: list[tuple[Any, dict[str, Any]]]) -> dict[str, str]:
    """Of tails and of fits with some property."""
    tails = [
        (of_group(fit, g), fit["m"]) for task, fit in every for g in (task.privileged, task.unprivileged)
    ]
    modelled = [t for t, _ in tails if t["type"]]
    kinds, whys = Counter(kind(t) for t, _ in tails), Counter(t["why"] for t, _ in tails)
    tested = [t["fit_p"] for t in modelled if t["fit_p"] is not None]
    acd = np.array([fit["acd"][0] for _, fit in every])
    ecd = np.array([fit["ecd"][0] for _, fit in every])
    cvar = np.array(
        [of_group(f, t.unprivileged)["cvar"] - of_group(f, t.privileged)["cvar"] for t, f in every]
    )
    verdicts = Counter(fit["verdict"] for _, fit in every)

    def of_tails(count: int) -> str:
        return share(count, len(tails))

    def of_fits(count: Any) -> str:
        return share(int(count), len(every))

    return {
        "tails": str(len(tails)),
        "tails with a model": of_tails(len(modelled)),
        "type III": of_tails(kinds["III"]),
        "type undecided (ξ's interval contains 0)": of_tails(kinds["undecided"]),
        "type II": of_tails(kinds["II"]),
        **{
            f"no model: {why}": of_tails(whys[why]) for why in ("ties", "end point", "constant", "few values")
        },
        "estimate of ξ at most 0, of those with a model": share(
            sum(t["shape"] <= 0 for t in modelled), len(modelled)
        ),
        "p of the fit below .05": share(sum(p < 0.05 for p in tested), len(tested)),
        "horizon B reaches m": of_tails(sum(reaches(t["horizon"], m) for t, m in tails)),
        "data sets × models × seeds": str(len(every)),
        "difference of ACD beyond ±.05": of_fits((np.abs(acd) > TOLERANCE).sum()),
        "ECD beyond ±.05 (estimate)": of_fits((np.abs(ecd) > TOLERANCE).sum()),
        "ECD above .05 (estimate)": of_fits((ecd > TOLERANCE).sum()),
        "ECD below −.05 (estimate)": of_fits((ecd < -TOLERANCE).sum()),
        "ECD further from 0 than ACD's difference by .05": of_fits(
            (np.abs(ecd) > np.abs(acd) + TOLERANCE).sum()
        ),
        "ACD's difference within ±.05, ECD beyond": of_fits(
            ((np.abs(acd) <= TOLERANCE) & (np.abs(ecd) > TOLERANCE)).sum()
        ),
        "CVaR's difference within ±.05, ECD beyond": of_fits(
            ((np.abs(cvar) <= TOLERANCE) & (np.abs(ecd) > TOLERANCE)).sum()
        ),
        "CVaR's difference and ECD beyond ±.05, same sign": of_fits(
            ((np.minimum(cvar, ecd) > TOLERANCE) | (np.maximum(cvar, ecd) < -TOLERANCE)).sum()
        ),
        "ECD with a p-value": of_fits(sum(fit["ecd"][3] is not None for _, fit in every)),
        "p below .05": of_fits(sum(fit["ecd"][3] is not None and fit["ecd"][3] < 0.05 for _, fit in every)),
        **{f"verdict: {v}": of_fits(verdicts[v]) for v in ("violated", "satisfied", "undecided")},
    }


def table_mitigation(pieces: dict[Any, Any]) -> list[Sequence[str]]:
    """EG against the original, fit by fit."""
    variants = ("EG", "EG, mixed")
    columns = []
    for variant in variants:
        lines = [line["fits"] for _, line in sorted(pieces.items()) if variant in line["fits"]]
        columns.append(compared([(line["original"], line[variant]) for line in lines]))
    return [
        ("same rows, same seed", *variants),
        *((what, *(c[what] for c in columns)) for what in columns[0]),
    ]


def compared(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, str]:
    """Original and mitigated fits."""
    old, new = zip(*pairs, strict=True)

    def sizes(chosen: Any, name: str) -> Any:
        values = [fit[name][0] if isinstance(fit[name], list) else fit[name] for fit in chosen]
        return np.abs(np.array(values, dtype=float))

    def of_pairs(mask: Any) -> str:
        return share(int(np.sum(mask)), len(pairs))

    worst = [
        np.array([max(of_group(f, g)["level"] for g in f["groups"]) for f in chosen]) for chosen in (old, new)
    ]
    signs = [np.sign([fit["acd"][0] for fit in chosen]) for chosen in (old, new)]
    return {
        "pairs": str(len(pairs)),
        "mean accuracy, original": number(sizes(old, "accuracy").mean()),
        "mean accuracy": number(sizes(new, "accuracy").mean()),
        **{f"{what} no larger": of_pairs(sizes(new, what) <= sizes(old, what)) for what in ("SPD", "AOD")},
        "mean size of AOD, original": number(np.nanmean(sizes(old, "AOD"))),
        "mean size of AOD": number(np.nanmean(sizes(new, "AOD"))),
        "ACD's difference further from 0": of_pairs(sizes(new, "acd") > sizes(old, "acd")),
        "ACD's difference with the other sign": of_pairs(signs[0] * signs[1] < 0),
        "ECD further from 0 by .01": of_pairs(sizes(new, "ecd") > sizes(old, "ecd") + STEP),
        "ECD closer to 0 by .01": of_pairs(sizes(new, "ecd") < sizes(old, "ecd") - STEP),
        "mean size of ECD, original": number(sizes(old, "ecd").mean()),
        "mean size of ECD": number(sizes(new, "ecd").mean()),
        "higher by .01: the larger of the two groups' levels": of_pairs(worst[1] > worst[0] + STEP),
        "mean of the larger level, original": number(worst[0].mean()),
        "mean of the larger level": number(worst[1].mean()),
    }


def page(out: Path) -> str:
    """All tables of the kept lines."""
    pieces = read(out)
    missing = [task.name for task in TASKS if task.name not in {name for name, _, _ in pieces}]
    left_out = f" Left out, since the data were not there: {'; '.join(missing)}." if missing else ""
    caps = ", ".join(f"{n:,} for {model}" for model, n in MOST_TRAINING_ROWS.items())
    parts = [
        "# Extreme counterfactual discrimination on real data\n",
        NOTE.format(caps=caps) + left_out + "\n",
        "## Table IV: one split (seed 0)\n",
        text(table_iv(pieces)),
        "## Over seeds, beside the paper\n",
        BESIDE + "\n",
        text(table_seeds(pieces)),
        "## The paper's differences, row by row\n",
        "Original models, medians over seeds; up to .02 in size is small, × is the ratio of sizes.\n",
        text(table_paper(pieces)),
        text(table_agreement(pieces)),
        "## Counts over all fits\n",
        text(table_counts(pieces)),
        "## Exponentiated gradient against the original\n",
        text(table_mitigation(pieces)),
    ]
    return "\n".join(parts)


def text(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


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
    return {"nan": "none", "inf": "no limit"}.get(value, "") if isinstance(value, str) else f"{value:,.0f}"


def reaches(value: Any, m: int) -> bool:
    """Whether the horizon reaches m."""
    return value == "inf" or (not isinstance(value, str) and value is not None and value >= m)


def span(values: Sequence[Any]) -> str:
    """Lowest to highest."""
    present = [v for v in values if v is not None]
    if not present:
        return ""
    low, high = number(min(present)), number(max(present))
    return low if low == high else f"{low} … {high}"


def share(count: int, total: int) -> str:
    """Count and percentage."""
    return f"{count} of {total}" + (f" ({100 * count / total:.0f}%)" if total else "")
