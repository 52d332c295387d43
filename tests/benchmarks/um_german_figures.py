"""Every figure of the study on German credit, computed from its record.

    python -m tests.benchmarks.um_german_figures     # writes um_german_credit.json, minutes

What was drawn for one method, or one comparison, is kept and not drawn again while its part of the
record is the same; `fast` holds what takes no draws."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import fairstats as fs
from fairstats.methods.um.events import probabilities
from fairstats.methods.um.folds import strategy_factors
from fairstats.methods.um.metrics import parse_metric
from tests.benchmarks.um_german_credit import (
    AGAINST,
    COMPARED,
    FOLDS,
    FROM_FILE,
    INITIAL,
    RECORD,
    read,
)

FIGURES = RECORD.with_name("um_german_credit.json")
GROUPS = ("older", "young")
METRICS = ("accuracy", "equal_opportunity_absolute", "demographic_parity_absolute")
#: The two definitions of a cross-validation's point.
TRUTHS = ("mean over folds", "summed counts")
TARGETS = ("predictive", "parameter")
#: Half splits of the paper's r.
FEW = 5
#: Initial cross-validations whose regions are drawn.
REGIONS = 15
ROPES = (0.0, 0.01, 0.02)
LEVELS = (None, 0.95, 0.9, 0.8)
#: The paper's two comparisons, and one of run 2, on which both definitions of the truth part
#: widely.
PAIRS = {"a": (COMPARED[0], AGAINST), "b": (COMPARED[1], AGAINST), "c": (COMPARED[1], "SVM")}


class Record:
    """The pieces of runs 2 and 3, by method."""

    def __init__(self, pieces: list[dict[str, Any]]) -> None:
        self.pieces = pieces
        self.sums: dict[str, dict[int, np.ndarray]] = {}
        self.points: dict[str, dict[int, np.ndarray]] = {}
        self.halves: dict[str, dict[int, np.ndarray]] = {}
        self.calls: dict[int, dict[str, Any]] = {}
        for piece in pieces:
            if piece["run"] > 1:
                self._add(*piece["key"], piece)

    def _add(self, kind: str, method: str, k: int, piece: dict[str, Any]) -> None:
        if kind == "call":
            self.calls[k] = piece
        elif kind == "halves":
            self.halves.setdefault(method, {})[k] = np.array(piece["cells"])[..., FROM_FILE]
        elif "folds" in piece:  # run 3
            folds = np.array(piece["folds"])[..., FROM_FILE]
            self.sums.setdefault(method, {})[k] = folds.sum(axis=0)
            self.points.setdefault(method, {})[k] = of_counts(folds).mean(axis=0)
        else:
            self.sums.setdefault(method, {})[k] = np.array(piece["cells"])[..., FROM_FILE]
            self.points.setdefault(method, {})[k] = np.array([*piece["point"], np.nan])

    def of(self, method: str, truth: str, rounds: list[int]) -> np.ndarray:
        """Accuracy and both gaps of cross-validations, shape (n, 3)."""
        if truth == TRUTHS[0]:
            return np.array([self.points[method][k] for k in rounds])
        return of_counts(np.array([self.sums[method][k] for k in rounds]))

    def shared(self, pair: tuple[str, str], metrics: int = 2) -> list[int]:
        """Rounds that both methods have with so many metrics."""
        first, second = (self.points[m] for m in pair)
        both = sorted(first.keys() & second.keys())
        return [k for k in both if not np.isnan(first[k][:metrics] + second[k][:metrics]).any()]

    def ratios(self, method: str, metrics: tuple[str, ...], few: int | None = None) -> np.ndarray:
        """The larger r of the metrics over the SVM, (blocks, 2); one block without `few`."""
        both = sorted(self.halves[method].keys() & self.halves["SVM"].keys())
        found = []
        for metric in metrics:
            squares = []
            for name in ("SVM", method):
                values = parse_metric(metric).by_group(
                    np.concatenate([self.halves[name][k] for k in both]).astype(float)
                )
                gap = values.reshape(-1, 2, 2)
                squares.append((gap[:, 0] - gap[:, 1]) ** 2)
            blocks = np.array_split(np.arange(len(both)), max(1, len(both) // few) if few else 1)
            found.append([squares[1][b].sum(axis=0) / squares[0][b].sum(axis=0) for b in blocks])
        return np.max(found, axis=0)

    def splits(self, method: str) -> int:
        """Half splits in common with the SVM."""
        return len(self.halves.get(method, {}).keys() & self.halves["SVM"].keys())


def of_counts(counts: np.ndarray) -> np.ndarray:
    """Accuracy and both gaps of counts (n, G, 4), shape (n, 3)."""
    cells = counts.astype(float)
    return np.column_stack([parse_metric(m).values(cells, 0).reshape(len(cells)) for m in METRICS])


def strategies(record: Record, method: str) -> Iterator[tuple[str, str, np.ndarray]]:
    """Name, strategy, and the ratios that the initial cross-validations use in turn."""
    one = np.ones((1, 2))
    yield "1/K", "1/K", one
    yield "[0, 1/K]", "uniform", one
    if record.splits(method) >= FEW:
        both = ("accuracy", "tpr")
        for name, strategy in (("ρ_rel", "relative"), ("ρ_rel↑", "relative-uniform")):
            yield name, strategy, record.ratios(method, both)
            yield f"{name}, J = {FEW}", strategy, record.ratios(method, both, FEW)
        yield "API default", "relative", record.ratios(method, ("accuracy",), FEW)


def posterior(cells: np.ndarray, strategy: str, ratio: np.ndarray, target: Any, seed: int) -> Any:
    """The posterior of one cross-validation's summed counts."""
    factor, _ = strategy_factors(strategy, FOLDS, ratio)
    counts = fs.ConfusionCounts(GROUPS, cells * factor[:, None], cells)
    return fs.um_posterior(counts=counts, rng=seed, target=target)


def regions(record: Record, method: str) -> list[dict[str, Any]]:
    """Tables 1 and 12.1: area of the 95% region, and shares of the repeated cross-validations in
    it.
    """
    rounds = sorted(record.sums[method])
    clouds = [record.of(method, truth, rounds)[:, :2] for truth in TRUTHS]
    rows = []
    for (name, strategy, ratios), target in product(strategies(record, method), TARGETS):
        found = [
            posterior(record.sums[method][k], strategy, ratios[i % len(ratios)], target, i).hdr(
                METRICS[:2], 0.95, backend="scipy", support=[(0, 1), (0, 1)]
            )
            for i, k in enumerate(rounds[:REGIONS])
        ]
        rows.append(
            {
                "strategy": name,
                "target": target,
                "area": float(np.mean([r.area for r in found])),
                "shares": [
                    float(100 * np.mean([r.contains(c).mean() for r in found])) for c in clouds
                ],
                "r": np.median(ratios, axis=0).tolist() if "ρ" in name or "API" in name else None,
            }
        )
    return rows


def known_pairs(record: Record) -> dict[str, tuple[str, str]]:
    """The pairs whose methods are both in the record."""
    return {name: pair for name, pair in PAIRS.items() if set(pair) <= record.sums.keys()}


def events_of(delta: np.ndarray, rope: float) -> dict[str, float]:
    """Probability of every event of ΔΘ, larger better for A."""
    shorts = ("acc", "fair") if delta.shape[1] == 2 else ("acc", "fair1", "fair2")
    return {
        e.event: e.probability
        for e in probabilities(delta, [rope] * delta.shape[1], ("A", "B"), shorts)
    }


def differences(record: Record, pair: tuple[str, str], truth: str, metrics: int = 2) -> np.ndarray:
    """ΔΘ of the cross-validations that both methods have, larger better for A."""
    rounds = record.shared(pair, metrics)
    first, second = (record.of(m, truth, rounds)[:, :metrics] for m in pair)
    return (first - second) * np.array([1.0, -1.0, -1.0])[:metrics]


def cases(record: Record, pair: tuple[str, str]) -> dict[str, int]:
    """The most probable and the worst cross-validation, by means over folds, as the paper chooses
    them.
    """
    delta = differences(record, pair, TRUTHS[0])
    rounds = record.shared(pair)
    away = np.linalg.norm(delta - delta.mean(axis=0), axis=1)
    usual = _only(events_of(delta.mean(axis=0)[None], 0.01))
    other = np.array([_only(events_of(d[None], 0.01)) != usual for d in delta])
    worst = int(np.argmax(np.where(other, away, -1.0))) if other.any() else int(away.argmax())
    return {"most probable": rounds[int(away.argmin())], "worst": rounds[worst]}


def _only(events: dict[str, float]) -> str:
    return max(events, key=lambda e: events[e])


def compared(
    record: Record,
    pair: tuple[str, str],
    k: int,
    index: int,
    name: str,
    target: str,
    **options: Any,
) -> Any:
    """`um_compare` of both methods' posteriors of one cross-validation under one strategy."""
    made = []
    for method in pair:
        strategy, ratios = next((s, r) for n, s, r in strategies(record, method) if n == name)
        seed = 2 * index + len(made)
        made.append(
            posterior(record.sums[method][k], strategy, ratios[index % len(ratios)], target, seed)
        )
    options = {"metrics": ("accuracy", "equal_opportunity"), "rope": 0.01, "rng": index} | options
    return fs.um_compare(*made, **options)


def comparison(record: Record, pair: tuple[str, str]) -> dict[str, Any]:
    """Tables 2, 3, 12.2 to 12.5, and how often the likeliest event of the truth is the
    posterior's.
    """
    names = [name for name, *_ in strategies(record, pair[0])]
    chosen = cases(record, pair)
    found = {}
    for case, k in chosen.items():
        found[case] = {
            f"{name}|{target}": _shares(compared(record, pair, k, k, name, target, hdr=0.95))
            for name, target in product(names, TARGETS)
        }
        found[f"{case}, grid"] = {
            f"{rope:g}|{level or 'none'}": _shares(
                compared(record, pair, k, k, "ρ_rel↑", "predictive", rope=rope, hdr=level)
            )
            for rope, level in product(ROPES, LEVELS)
        }
    rounds = record.shared(pair)[:INITIAL]
    for name, target in product(names, TARGETS):
        every = [_shares(compared(record, pair, k, i, name, target)) for i, k in enumerate(rounds)]
        first = [_only(events) for events in every]
        found[f"initial|{name}|{target}"] = {
            "likeliest": {e: first.count(e) / len(first) for e in dict.fromkeys(first)},
            "mean": {e: float(np.mean([events[e] for events in every])) for e in every[0]},
        }
    return {"cases": chosen, "found": found, "initial": len(rounds)}


def _shares(result: Any) -> dict[str, float]:
    return {e.event: round(e.probability, 4) for e in result.events}


def three(record: Record, pair: tuple[str, str]) -> dict[str, Any]:
    """Table 13.1: three objectives, at the most probable cross-validation."""
    metrics = ("accuracy", "equal_opportunity", "demographic_parity")
    k = cases(record, pair)["most probable"]
    return {
        f"{name}|{target}": _shares(
            compared(record, pair, k, k, name, target, hdr=0.95, metrics=metrics)
        )
        for name, target in product([n for n, *_ in strategies(record, pair[0])], TARGETS)
    }


def fast(record: Record) -> dict[str, Any]:
    """What takes no draws: what was run, the truths, the variance ratios, the API's own answers."""
    number: dict[str, int] = {}
    for piece in record.pieces:
        kind, method, _ = piece["key"]
        key = f"{piece['run']}|{method}|{kind}"
        number[key] = number.get(key, 0) + 1
    truths = {}
    for name, pair in known_pairs(record).items():
        for truth in TRUTHS:
            delta = differences(record, pair, truth)
            truths[f"{name}|{truth}"] = {
                "n": len(delta),
                "mean": delta.mean(axis=0).tolist(),
                "events": {f"{rope:g}": events_of(delta, rope) for rope in ROPES},
            }
            delta = differences(record, pair, truth, 3) if name != "c" else np.empty((0, 3))
            if len(delta):
                truths[f"{name}|{truth}"]["three"] = {
                    "n": len(delta),
                    "events": events_of(delta, 0.01),
                }
    ratios = {
        f"{method}|{metric}": record.ratios(method, (metric,)).ravel().tolist()
        for method in sorted(record.halves)
        for metric in ("accuracy", "tpr")
    }
    points = {
        method: [record.of(method, t, sorted(own))[:, :2].mean(axis=0).tolist() for t in TRUTHS]
        for method, own in record.sums.items()
    }
    calls: dict[str, Any] = {"n": len(record.calls)}
    for target in TARGETS:
        lists = [piece["events"][target] for piece in record.calls.values()]
        for name, pair in known_pairs(record).items():
            known = [{e: p for a, b, e, p in events if (a, b) == pair} for events in lists]
            if known and known[0]:
                plain = [{_plain(e, pair): p for e, p in events.items()} for events in known]
                first = [_only(events) for events in plain]
                calls[f"{name}|{target}"] = {
                    "mean": {e: float(np.mean([events[e] for events in plain])) for e in plain[0]},
                    "likeliest": {e: first.count(e) / len(first) for e in dict.fromkeys(first)},
                }
    few = {}
    for method in sorted(record.halves):
        for metric in ("accuracy", "tpr") if record.splits(method) >= 4 * FEW else ():
            spread = record.ratios(method, (metric,), FEW)
            few[f"{method}|{metric}"] = [float(spread.min()), float(spread.max())]
    return {
        "few": few,
        "number": number,
        "truths": truths,
        "ratios": ratios,
        "points": points,
        "calls": calls,
    }


def _plain(event: str, pair: tuple[str, str]) -> str:
    """The event with A and B in place of the names."""
    a, b = pair
    return event.replace(a, "A").replace(b, "B")


@cache
def loaded() -> Record:
    """The record in the repository."""
    return Record(read())


def _mark(record: Record, methods: tuple[str, ...]) -> str:
    """A mark of the part of the record that these methods and the reference have."""
    own = [
        [m, k, kind, np.asarray(cells).tolist()]
        for m in (*methods, "SVM")
        for kind, pieces in (("cv", record.sums), ("halves", record.halves))
        for k, cells in sorted(pieces.get(m, {}).items())
    ]
    return hashlib.sha256(json.dumps(own).encode()).hexdigest()[:16]


def drawn(record: Record, kept: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is drawn, piece by piece; what is kept under the same mark is not drawn again."""
    jobs: list[tuple[str, tuple[str, ...], Any]] = [
        (f"regions|{m}", (m,), lambda m=m: regions(record, m))
        for m in sorted(record.sums)
        if len(record.sums[m]) >= FEW
    ]
    for name, pair in known_pairs(record).items():
        jobs.append((f"comparison|{name}", pair, lambda p=pair: comparison(record, p)))
        if name != "c":
            jobs.append((f"three|{name}", pair, lambda p=pair: three(record, p)))
    for key, methods, job in jobs:
        mark = _mark(record, methods)
        old = kept.get(key, {})
        yield key, old if old.get("mark") == mark else {"mark": mark, "value": job()}


def main() -> None:
    """Compute, and write after every piece."""
    record = loaded()
    kept = json.loads(FIGURES.read_text())["drawn"] if FIGURES.exists() else {}
    made: dict[str, Any] = {}
    for key, value in drawn(record, kept):
        made[key] = value
        write(fast(record), kept | made)
    write(fast(record), made)


def write(quick: Any, made: Any) -> None:
    """The file of figures."""
    text = json.dumps({"fast": quick, "drawn": made}, ensure_ascii=False, indent=0)
    FIGURES.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
