"""Comparisons of algorithms: probabilities of events, from R's own joint draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.methods.um.definitions import FAIRNESS, RATES, parse_metric
from fairstats.methods.um.joint import paired_prior
from fairstats.report.crosscheck.bench import Bench, column
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.um.comparison_result import UmComparison
    from fairstats.methods.um.joint import JointDraws
    from fairstats.methods.um.ranking import UmRanking

__all__ = ["checks"]

_EVENTS, _RANKING = "crosscheck_um_events", "crosscheck_um_ranking"
_MOST = 20_000


def checks(result: UmComparison | UmRanking, bench: Bench) -> Iterator[Check]:
    """Probabilities of the events; of two algorithms also mean and standard deviation of Δ."""
    objectives = _objectives(result.metrics)
    ranking: Any = result if hasattr(result, "better") else None
    metrics, names = ", ".join(result.metrics), result.names
    why = _obstacle(result.joint, objectives)
    compared = list(_of_ranking(ranking) if ranking else _of_two(result))
    if why:
        for a, b, quantity, mine, _ in compared:
            yield bench.place(metrics, a, b).left_out(quantity, mine, why)
        return
    twin = _RANKING if ranking else _EVENTS
    first = result.joint.first.reference_index + 1
    draws = _draws(result.joint)
    found = bench.call(twin, *draws, objectives or [], first, list(result.rope), result.joint.n_draws)
    value, error = column(found, "value"), column(found, "error")
    for a, b, quantity, mine, k in compared:
        yield bench.place(metrics, a, b).compare(quantity, mine, value[k], bench.source(twin), error=error[k])
    if getattr(result, "hdr", None) is not None:
        conditional: Any = result
        why = "conditional on a highest density region of the draws: R has no twin"
        quantity = f"P({names[0]} ≫ {names[1]} | HDR)"
        yield bench.place(metrics, *names[:2]).left_out(quantity, conditional.events[0].probability, why)


def _of_two(result: Any) -> Iterator[tuple[str, str, str, float, int]]:
    """Algorithms, quantity, our value, place in the twin's answer."""
    a, b = result.names
    m = len(result.metrics)
    events = result.unconditional
    for k in range(3):
        yield a, b, f"P({events[k].name})", events[k].probability, k
    yield a, b, "P(mixed)", sum(e.probability for e in events[3:]), 3
    for j, metric in enumerate(result.metrics):
        yield a, b, f"P(|Δ {metric}| ≤ RoPE)", float(result.rope_share[j]), 4 + j
        yield a, b, f"mean of Δ {metric}", float(result.delta_mean[j]), 4 + m + j
        yield a, b, f"standard deviation of Δ {metric}", float(result.delta_sd[j]), 4 + 2 * m + j


def _of_ranking(result: Any) -> Iterator[tuple[str, str, str, float, int]]:
    names = result.names
    m = len(names)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if i != j:
                yield a, b, f"P({a} ≫ {b})", float(result.better[i, j]), j * m + i
    for i, a in enumerate(names):
        yield a, "", "P(on the Pareto front)", float(result.front[i]), m * m + i


def _objectives(metrics: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """What the twin needs of every metric; None where one is a function."""
    known = {*RATES, *FAIRNESS}
    found = []
    for name in metrics:
        base = name
        for ending in ("_difference", "_absolute", "_ratio", "_max"):
            base = base.removesuffix(ending)
        if name not in known and base not in known:
            return None
        metric = parse_metric(name, default="max")
        contrast = metric.contrast or "overall"
        sign = RATES[metric.rates[0]].better if metric.contrast is None else -1
        found.append({"rates": list(metric.rates), "contrast": contrast, "sign": float(sign), "group": 0})
    return found


def _obstacle(joint: JointDraws, objectives: Any) -> str:
    if objectives is None:
        return "of functions of the user's"
    if joint.n_draws > _MOST:
        return f"more than {_MOST:,} draws"
    if any(p.stored is not None for p in joint.posteriors):
        return "draws of a sampler: only it can repeat them"
    if joint.cells is not None and joint.uneven:
        return "effective counts of different size, paired up to the smaller"
    return ""


def _draws(joint: JointDraws) -> tuple[Any, ...]:
    """Parameters of the joint posterior: alphas, sizes, joint table, target, totals."""
    posteriors = joint.posteriors
    sizes = np.vstack([p.counts.sizes for p in posteriors])
    totals = np.vstack([p.counts.totals for p in posteriors])
    alphas = [np.asarray(p.prior + p.counts.cells) for p in posteriors]
    table = None
    if joint.cells is not None:
        table = np.asarray(paired_prior(joint.first.prior, len(posteriors)) + joint.cells)
    return alphas, sizes, table, joint.first.target, totals
