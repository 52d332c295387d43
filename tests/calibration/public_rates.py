"""Cells of the rates by way of the public functions.

What users call, at sizes and rates that users have.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import beta

import fairstats as fs
from fairstats.numerics.rates.score import Contrast
from tests.calibration.rates import VERSION, family_cell, pair_cell
from tests.calibration.study import Cell, Counts, tally_interval

Table = tuple[tuple[int, ...], ...]
Call = Callable[[dict[str, tuple[int, ...]]], Any]
#: Rows of the groups beside a reference of 2,000, by the number of groups.
FAMILIES = {
    2: (40,),
    3: (400, 40),
    8: (400, 200, 100, 60, 40, 25, 15),
    20: tuple(range(20, 400, 20)),
}


def binomial(rng: np.random.Generator, sizes: Sequence[int], rates: Sequence[float]) -> Table:
    """(selected, not selected) of every group."""
    drawn = rng.binomial(sizes, rates)
    return tuple((int(k), int(n - k)) for k, n in zip(drawn, sizes, strict=True))


def multinomial(
    rng: np.random.Generator, sizes: Sequence[int], cells: Sequence[Sequence[float]]
) -> Table:
    """(tp, fp, fn, tn) of every group."""
    return tuple(tuple(map(int, rng.multinomial(n, p))) for n, p in zip(sizes, cells, strict=True))


def study(
    rng: np.random.Generator,
    runs: int,
    *,
    draw: Callable[[np.random.Generator], Any],
    call: Callable[[Any], Any],
    truth: Sequence[float],
    fair: tuple[float, float],
    neutral: float,
) -> Counts:
    """Intervals of one comparison, adjusted tests and verdicts of all, against the truth of each.

    At an end of the fair range both verdicts are false: "satisfied" and "violated" are counted
    apart."""
    made: dict[Any, Any] = {}
    seen = dict.fromkeys(
        ("coverage", "below", "above", "size", "false violated", "false satisfied"), 0
    )
    known = answered = 0
    low, high = fair
    for _ in range(runs):
        sample = draw(rng)
        key = sample if isinstance(sample, tuple) else None
        if key is None or key not in made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = call(sample)
            found = [
                (c.verdict, *c.confidence_interval, c.pvalue_adjusted) for c in result.comparisons
            ]
            if key is not None:
                made[key] = found
        else:
            found = made[key]
        pairs = list(zip(found, truth, strict=True))
        answered += all(row[0] != "insufficient evidence" for row in found)
        seen["false violated"] += any(v == "violated" and low <= t <= high for (v, *_), t in pairs)
        seen["false satisfied"] += any(
            v == "satisfied" and not low < t < high for (v, *_), t in pairs
        )
        seen["size"] += any(p < 0.05 and t == neutral for (*_, p), t in pairs)
        (_, start, end, _), t = pairs[0]
        if not (math.isnan(start) or math.isnan(end)):
            known += 1
            seen["below"] += end < t
            seen["above"] += start > t
            seen["coverage"] += start <= t <= end
    # a sample without an answer has no verdict: errors are shares of those answered
    out: dict[str, tuple[float, int]] = {"answered": (answered, runs)}
    for name in ("coverage", "below", "above") if len(truth) == 1 else ():
        out[name] = (seen[name], known)
    if any(not low < t < high for t in truth):
        out["false satisfied"] = (seen["false satisfied"], max(answered, 1))
    if any(low <= t <= high for t in truth) and fair != (neutral, neutral):
        out["false violated"] = (seen["false violated"], max(answered, 1))
    if any(t == neutral for t in truth):
        out["size"] = (seen["size"], runs)
    return out


def named(call: Callable[..., Any], **options: Any) -> Callable[[Table], Any]:
    """A public function of counts, the first group the reference."""
    return lambda table: call(
        counts={f"g{k}": cells for k, cells in enumerate(table)}, reference="g0", **options
    )


def rate_cell(
    method: str,
    call: Callable[[Any], Any],
    sizes: Sequence[int],
    rates: Sequence[float],
    fair: tuple[float, float],
    neutral: float,
    words: str,
    **more: Any,
) -> Cell:
    """A cell of independent binomial counts.

    The truth is the ratio or the difference of the rates.
    """
    contrast = (lambda r: r / rates[0]) if neutral == 1 else (lambda r: r - rates[0])
    truth = [round(contrast(r), 12) for r in rates[1:]]
    simulate = partial(
        study,
        draw=partial(binomial, sizes=sizes, rates=rates),
        call=call,
        truth=truth,
        fair=fair,
        neutral=neutral,
    )
    return Cell("rates", method, words, simulate, **more)


def ratios() -> Iterator[Cell]:
    """The default of ratios, at the threshold and at equality, enumerated.

    Methods by name, simulated.
    """
    method = "disparate_impact()"
    for n0, n1 in ((100, 100), (2_000, 40), (2_000, 20), (10_000, 500)):
        for rate in (0.05, 0.5, 0.95):
            for ratio in (0.8, 1.0):
                words = (
                    f"{n0:,} and {n1} rows, rate of the reference {rate:g}, ratio {ratio:g},"
                    " threshold 0.8"
                )
                yield pair_cell(method, n0, n1, rate, ratio, "ratio", 0.8, words)
    for threshold, n1 in product((0.8, 0.9, 0.95), (40, 100, 200)):  # 1:50, 1:20, 1:10
        words = f"2,000 and {n1} rows, rate of the reference 0.8, ratio and threshold {threshold:g}"
        yield pair_cell(method, 2_000, n1, 0.8, threshold, "ratio", threshold, words)
    for n0, n1, rate in ((10_000, 100, 0.5), (10_000, 100, 0.05), (20_000, 200, 0.005)):
        words = f"{n0:,} and {n1} rows, rate of the reference {rate:g}, ratio and threshold 0.8"
        yield pair_cell(method, n0, n1, rate, 0.8, "ratio", 0.8, words)
    for name in ("log", "delta", "koopman"):
        words = "2,000 and 40 rows, rate of the reference 0.95, ratio and threshold 0.8"
        weak = {
            "claim": "fails",
            "remark": "Asked for by name, obeyed, and too liberal beside a small group.",
        }
        more = weak if name in ("log", "delta") else {}
        call = named(fs.disparate_impact, method=name)
        yield rate_cell(
            f"disparate_impact(method={name!r})",
            call,
            (2_000, 40),
            (0.95, 0.76),
            (0.8, 1.25),
            1.0,
            words,
            **more,
        )


def bootstraps() -> Iterator[Cell]:
    """BCa, which has no answer where a cell is empty."""
    for function, ratio in ((fs.disparate_impact, True), (fs.demographic_parity_difference, False)):
        for sizes, rates in (
            ((100, 100), (0.5, 0.4)),
            ((2_000, 40), (0.5, 0.4)),
            ((30, 30), (0.1, 0.1)),
        ):
            words = f"{sizes[0]:,} and {sizes[1]} rows, rates {rates[0]:g} and {rates[1]:g}"
            call = named(function, method="bootstrap", n_resamples=999, rng=1)
            fair, neutral = ((0.8, 1.25), 1.0) if ratio else ((-0.1, 0.1), 0.0)
            few = {
                "claim": "fails",
                "remark": "three expected cases: asked for by name, with a warning",
            }
            yield rate_cell(
                f"{function.__name__}(method='bootstrap')",
                call,
                sizes,
                rates,
                fair,
                neutral,
                words,
                runs=1_000,
                **(few if sizes[0] < 100 else {}),
            )


def families() -> Iterator[Cell]:
    """Verdicts and adjusted tests over several groups, enumerated."""
    for groups, others in FAMILIES.items():
        beside = f"{groups} groups, 2,000 beside {min(others)} to {max(others)} rows"
        for ratio in (0.8, 1.25, 1.0) if groups > 2 else ():
            words = f"{beside}, all ratios {ratio:g}, rate 0.5"
            yield family_cell("disparate_impact()", others, 2_000, 0.5, ratio, "ratio", 0.8, words)
        if groups > 2:
            words = f"{beside}, all differences −0.1, rate 0.5"
            method = "demographic_parity_difference()"
            yield family_cell(method, others, 2_000, 0.5, -0.1, "difference", 0.1, words)


def differences() -> Iterator[Cell]:
    """The default of differences, at the margin and at equality."""
    for n0, n1 in ((100, 100), (2_000, 40), (2_000, 20)):
        for rate in (0.15, 0.5, 0.95):
            for gap in (-0.1, 0.0):
                words = (
                    f"{n0:,} and {n1} rows, rate of the reference {rate:g}, difference {gap:g},"
                    " margin 0.1"
                )
                yield pair_cell(
                    "demographic_parity_difference()", n0, n1, rate, gap, "difference", 0.1, words
                )


#: Groups of a largest gap: cases per rate and group, and the true rates; two rates are equalised
#: odds.
GAPS = {
    "2,000, 400 and 40 rows, rates 0.5, 0.5, 0.5": (((2_000, 400, 40),), ((0.5, 0.5, 0.5),)),
    "2,000, 400 and 40 rows, rates 0.5, 0.4, 0.6": (((2_000, 400, 40),), ((0.5, 0.4, 0.6),)),
    "2,000, 400 and 40 rows, rates 0.9, 0.95, 0.99": (((2_000, 400, 40),), ((0.9, 0.95, 0.99),)),
    "two alike groups of 100, rate 0.05": (((100, 100),), ((0.05, 0.05),)),
    "two alike groups of 10 and 1,000, rate 0.3": (((10, 1_000),), ((0.3, 0.3),)),
    "five alike groups of 100, rate 0.5": (((100,) * 5,), ((0.5,) * 5,)),
    "five groups of 60 to 400, rates 0.1 to 0.3": (
        ((60, 80, 100, 200, 400),),
        ((0.1, 0.15, 0.2, 0.25, 0.3),),
    ),
    "two alike groups of 100 of each label, rates 0.7 and 0.2": (
        ((100, 100), (100, 100)),
        ((0.7, 0.7), (0.2, 0.2)),
    ),
    "three groups of 80 to 300, rates 0.6 to 0.75 and 0.2 to 0.25": (
        ((80, 120, 300), (150, 100, 300)),
        ((0.6, 0.7, 0.75), (0.2, 0.25, 0.2)),
    ),
    "three groups of 20 to 60, rates 0.8 to 0.9 and 0.1 to 0.15": (
        ((20, 25, 60), (30, 20, 60)),
        ((0.8, 0.8, 0.9), (0.1, 0.15, 0.1)),
    ),
}


def gap_of(rng: np.random.Generator, cases: Table, rates: Sequence[Sequence[float]]) -> Any:
    """Largest gap of a sample: of selection rates, or of true and false positive rates."""
    drawn = [rng.binomial(n, p).tolist() for n, p in zip(cases, rates, strict=True)]
    if len(cases) == 1:
        one = {f"g{k}": (j, n - j) for k, (j, n) in enumerate(zip(*drawn, *cases, strict=True))}
        return fs.demographic_parity_difference(counts=one, agg="max")
    two = {
        f"g{k}": (t, f, p - t, n - f)
        for k, (t, f, p, n) in enumerate(zip(*drawn, *cases, strict=True))
    }
    return fs.equalized_odds_difference(counts=two, agg="max")


def largest(rng: np.random.Generator, runs: int, *, cases: Table, rates: Any) -> Counts:
    """Coverage of the largest gap; size of its test where all groups are alike."""
    truth = max(max(r) - min(r) for r in rates)
    found = []
    rejected = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            result = gap_of(rng, cases, rates)
            low, high = result.confidence_interval
            found.append((low - 1e-12, high + 1e-12))
            rejected += result.pvalue <= 0.05
    counts = tally_interval(truth, found)
    return counts if truth else {**counts, "size": (rejected, runs)}


def gaps() -> Iterator[Cell]:
    """Largest gaps: the population's largest gap is to be covered."""
    for words, (cases, rates) in GAPS.items():
        name = "equalized_odds_difference" if len(cases) > 1 else "demographic_parity_difference"
        method = f"{name}(agg='max')"
        if len(cases) == 1 and len(cases[0]) == 2:  # the gap of two groups is their difference
            (n, n0), (rate, _) = cases[0], rates[0]
            yield pair_cell(method, n0, n, rate, 0.0, "difference", 0.1, words)
        else:
            simulate = partial(largest, cases=cases, rates=rates)
            yield Cell("rates", method, words, simulate, 1_000, "conservative", version=VERSION)


def together(
    rng: np.random.Generator, runs: int, *, call: Any, sizes: Any, rates: Any, ratio: bool
) -> Counts:
    """Whether the intervals of all comparisons hold at once."""
    truths = [r / rates[0] if ratio else r - rates[0] for r in rates[1:]]
    held = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            found = call(binomial(rng, sizes, rates)).comparisons
            held += all(
                not (
                    c.confidence_interval.low > t + 1e-12 or c.confidence_interval.high < t - 1e-12
                )
                for c, t in zip(found, truths, strict=True)
            )
    return {"coverage": (held, runs)}


def simultaneous() -> Iterator[Cell]:
    """Intervals that hold together."""
    for words, sizes, rates in (
        ("4 groups of 100", (100,) * 4, (0.3, 0.3, 0.4, 0.5)),
        ("6 groups of 100, rate 0.05", (100,) * 6, (0.05,) * 6),
        ("5 groups, 1,000 beside 20 to 40", (1_000, 20, 20, 40, 40), (0.2,) * 5),
        ("20 groups, 2,000 beside 20 to 380", (2_000, *FAMILIES[20]), (0.5,) * 20),
    ):
        for function, ratio in (
            (fs.disparate_impact, True),
            (fs.demographic_parity_difference, False),
        ):
            call = named(function, simultaneous="max-z")
            simulate = partial(together, call=call, sizes=sizes, rates=rates, ratio=ratio)
            method = f"{function.__name__}(simultaneous='max-z')"
            yield Cell(
                "rates",
                method,
                f"all intervals at once, {words}",
                simulate,
                1_000,
                "conservative",
                version=VERSION,
            )


def chosen(
    rng: np.random.Generator,
    runs: int,
    *,
    function: Any,
    sizes: Sequence[int],
    rates: Sequence[float],
) -> Counts:
    """The highest rate as reference: all intervals hold the contrast with the group chosen.

    Any p < α.
    """
    held = rejected = 0
    true = {f"g{k}": r for k, r in enumerate(rates)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            counts = {f"g{k}": cells for k, cells in enumerate(binomial(rng, sizes, rates))}
            found = function(counts=counts, reference="highest")
            ends = []
            for c in found.comparisons:
                a = true[c.group]
                b = true[c.reference]
                truth = a / b if found.scale == "ratio" else a - b
                ends.append(c.confidence_interval.low <= truth <= c.confidence_interval.high)
            held += all(ends)
            rejected += any(c.pvalue_adjusted < 0.05 for c in found.comparisons)
    counted: dict[str, tuple[float, int]] = {"coverage": (held, runs)}
    return {**counted, "size": (rejected, runs)} if len(set(rates)) == 1 else counted


def highest() -> Iterator[Cell]:
    """A reference that the data choose."""
    for words, sizes, rates in (
        ("4 alike groups of 100", (100,) * 4, (0.4,) * 4),
        ("4 groups of 100, rates 0.3 to 0.5", (100,) * 4, (0.3, 0.3, 0.4, 0.5)),
        ("8 alike groups, 2,000 beside 15 to 400", (2_000, *FAMILIES[8]), (0.5,) * 8),
    ):
        for function in (fs.disparate_impact, fs.demographic_parity_difference):
            simulate = partial(chosen, function=function, sizes=sizes, rates=rates)
            method = f"{function.__name__}(reference='highest')"
            yield Cell(
                "rates",
                method,
                f"all intervals at once, {words}",
                simulate,
                1_000,
                "conservative",
                version=VERSION,
            )


def confusions() -> Iterator[Cell]:
    """Every other metric of labels and predictions, at a large group beside a small one."""
    base = 0.4
    tpr = 0.7
    fpr = 0.2
    for n1, (tpr1, fpr1) in ((40, (0.7, 0.2)), (40, (0.55, 0.3)), (400, (0.55, 0.3))):
        words = f"2,000 and {n1} rows, TPR {tpr:g} and {tpr1:g}, FPR {fpr:g} and {fpr1:g}"
        errors = ((tpr, fpr), (tpr1, fpr1))
        yield from _metrics([m for m in METRICS if m[0] not in CASES], n1, base, errors, words)
        yield from _single_rates(n1, base, errors, words)
    # functions of the cells where errors or positives are few
    functions = [m for m in METRICS if _by_wider_limits(m[0])]
    for n1, share, (tpr, fpr) in (
        (20, 0.5, (0.95, 0.05)),
        (20, 0.2, (0.5, 0.3)),
        (40, 0.1, (0.8, 0.1)),
    ):
        words = f"2,000 and {n1} rows, {share:.0%} positive, TPR {tpr:g}, FPR {fpr:g}"
        yield from _metrics(functions, n1, share, ((tpr, fpr), (tpr, fpr)), words)


def _metrics(
    metrics: Iterable[tuple[str, Callable[[Table], Any], Callable[..., float], float]],
    n1: int,
    base: float,
    errors: Iterable[tuple[float, float]],
    words: str,
) -> Iterator[Cell]:
    """Metrics of 2,000 and `n1` rows by the true and false positive rate of both groups."""
    cells = [(base * t, (1 - base) * f, base * (1 - t), (1 - base) * (1 - f)) for t, f in errors]
    draw = partial(multinomial, sizes=(2_000, n1), cells=cells)
    for method, call, value, neutral in metrics:
        a, b = (value(*c) for c in cells)
        truth = b / a if neutral == 1 else b - a
        fair = (0.8, 1.25) if neutral == 1 else (-0.1, 0.1)
        simulate = partial(
            study, draw=draw, call=call, truth=[round(truth, 12)], fair=fair, neutral=neutral
        )
        claim = "conservative" if _by_wider_limits(method) else "valid"
        yield Cell("rates", method, words, simulate, 2_000, claim)


def _single_rates(
    n1: int, base: float, errors: Iterable[tuple[float, float]], words: str
) -> Iterator[Cell]:
    """Metrics of one rate, enumerated.

    Given its cases, as many as there are on average, it is a binomial.
    """
    cells = [(base * t, (1 - base) * f, base * (1 - t), (1 - base) * (1 - f)) for t, f in errors]
    for method, _, value, neutral in METRICS:
        if method not in CASES:
            continue
        rate0, rate = (value(*c) for c in cells)
        n0, n = (
            max(round(rows * CASES[method](*c)), 1)
            for rows, c in zip((2_000, n1), cells, strict=True)
        )
        contrast: Contrast = "ratio" if neutral == 1 else "difference"
        size = 0.8 if neutral == 1 else 0.1
        truth = rate / rate0 if neutral == 1 else rate - rate0
        given = f"{words}: {n0:,} and {n} cases"
        yield pair_cell(method, n0, n, rate0, round(truth, 12), contrast, size, given)


def _by_wider_limits(method: str) -> bool:
    """Functions of the cells and ratios of means: the wider of two limits."""
    return any(name in method for name in ("f1", "mcc", "_ratio'"))


def odds() -> Iterator[Cell]:
    """Equalised and average odds.

    Signed differences of both rates in one family, and largest gaps.
    """
    base = 0.4
    tpr = 0.7
    fpr = 0.2
    for n1, (tpr1, fpr1) in (
        (40, (0.7, 0.2)),
        (40, (0.55, 0.3)),
        (400, (0.55, 0.3)),
        (400, (0.6, 0.1)),
    ):
        cells = [
            (base * t, (1 - base) * f, base * (1 - t), (1 - base) * (1 - f))
            for t, f in ((tpr, fpr), (tpr1, fpr1))
        ]
        draw = partial(multinomial, sizes=(2_000, n1), cells=cells)
        words = f"2,000 and {n1} rows, TPR {tpr:g} and {tpr1:g}, FPR {fpr:g} and {fpr1:g}"
        signed = [round(tpr1 - tpr, 12), round(fpr1 - fpr, 12)]
        simulate = partial(
            study,
            draw=draw,
            call=named(fs.equalized_odds_difference),
            truth=signed,
            fair=(-0.1, 0.1),
            neutral=0.0,
        )
        yield Cell(
            "rates",
            "equalized_odds_difference()",
            f"signed, {words}",
            simulate,
            runs=2_000,
            version=VERSION,
        )
        for function, truth in (
            (fs.equalized_odds_difference, max(map(abs, signed))),
            (fs.average_odds_difference, abs(sum(signed)) / 2),
        ):
            gap = partial(absolute, draw=draw, function=function, truth=round(truth, 12))
            method = f"{function.__name__}(agg='max')"
            yield Cell(
                "rates", method, f"absolute, {words}", gap, 1_000, "conservative", version=VERSION
            )


def absolute(
    rng: np.random.Generator, runs: int, *, draw: Callable[..., Table], function: Any, truth: float
) -> Counts:
    """Coverage of the largest gap; size of its test where there is none."""
    found = []
    rejected = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        for _ in range(runs):
            result = named(function, agg="max")(draw(rng))
            low, high = result.confidence_interval
            found.append((low - 1e-12, high + 1e-12))
            rejected += result.pvalue <= 0.05
    counts = tally_interval(truth, found)
    return counts if truth else {**counts, "size": (rejected, runs)}


def _group_metric(name: str) -> Callable[[Table], Any]:
    return named(fs.group_metric, metric=name)


def _mcc(tp: float, fp: float, fn: float, tn: float) -> float:
    return (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


#: Name, function of counts, value of a group from (tp, fp, fn, tn), value of equality.
METRICS: tuple[tuple[str, Callable[[Table], Any], Callable[..., float], float], ...] = (
    (
        "conditional_accuracy(label=1)",
        named(fs.conditional_accuracy, label=1),
        lambda tp, fp, fn, tn: tp / (tp + fn),
        1.0,
    ),
    (
        "conditional_use_accuracy(prediction=0)",
        named(fs.conditional_use_accuracy, prediction=0),
        lambda tp, fp, fn, tn: tn / (tn + fn),
        1.0,
    ),
    (
        "group_metric(metric='disparate_impact_labels')",
        _group_metric("disparate_impact_labels"),
        lambda tp, fp, fn, tn: tp + fn,
        1.0,
    ),
    (
        "group_metric(metric='demographic_parity_difference_labels')",
        _group_metric("demographic_parity_difference_labels"),
        lambda tp, fp, fn, tn: tp + fn,
        0.0,
    ),
    (
        "equal_opportunity_difference()",
        named(fs.equal_opportunity_difference),
        lambda tp, fp, fn, tn: tp / (tp + fn),
        0.0,
    ),
    (
        "predictive_parity_difference()",
        named(fs.predictive_parity_difference),
        lambda tp, fp, fn, tn: tp / (tp + fp),
        0.0,
    ),
    (
        "average_odds_difference()",
        named(fs.average_odds_difference),
        lambda tp, fp, fn, tn: (tp / (tp + fn) + fp / (fp + tn)) / 2,
        0.0,
    ),
    (
        "group_metric(metric='balanced_accuracy_difference')",
        _group_metric("balanced_accuracy_difference"),
        lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (fp + tn)) / 2,
        0.0,
    ),
    (
        "group_metric(metric='false_omission_rate_difference')",
        _group_metric("false_omission_rate_difference"),
        lambda tp, fp, fn, tn: fn / (tn + fn),
        0.0,
    ),
    (
        "group_metric(metric='f1_difference')",
        _group_metric("f1_difference"),
        lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
        0.0,
    ),
    ("group_metric(metric='mcc_difference')", _group_metric("mcc_difference"), _mcc, 0.0),
    (
        "group_metric(metric='f1_ratio')",
        _group_metric("f1_ratio"),
        lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
        1.0,
    ),
    (
        "group_metric(metric='average_odds_ratio')",
        _group_metric("average_odds_ratio"),
        lambda tp, fp, fn, tn: (tp / (tp + fn) + fp / (fp + tn)) / 2,
        1.0,
    ),
    (
        "group_metric(metric='balanced_accuracy_ratio')",
        _group_metric("balanced_accuracy_ratio"),
        lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (fp + tn)) / 2,
        1.0,
    ),
)


#: Metrics of one rate → the share of rows that are its cases.
CASES: dict[str, Callable[..., float]] = {
    "conditional_accuracy(label=1)": lambda tp, fp, fn, tn: tp + fn,
    "conditional_use_accuracy(prediction=0)": lambda tp, fp, fn, tn: tn + fn,
    "group_metric(metric='disparate_impact_labels')": lambda tp, fp, fn, tn: 1.0,
    "group_metric(metric='demographic_parity_difference_labels')": lambda tp, fp, fn, tn: 1.0,
    "equal_opportunity_difference()": lambda tp, fp, fn, tn: tp + fn,
    "predictive_parity_difference()": lambda tp, fp, fn, tn: tp + fp,
    "group_metric(metric='false_omission_rate_difference')": lambda tp, fp, fn, tn: tn + fn,
}


#: Clusters that have rows of both groups: their number, rows of the reference and of the group in
#: each, and the correlation of two rows of a group.
SHARED = ((12, 20, 5, 0.1), (40, 10, 5, 0.3), (200, 6, 2, 0.1))


def rows_of_shared_clusters(
    rng: np.random.Generator, *, design: tuple[int, int, int, float], rates: tuple[float, float]
) -> dict[str, Any]:
    """Both groups of a cluster have chances at one level of their beta laws."""
    n_clusters, rows_of_reference, rows_of_group, correlation = design
    concentration = 1 / correlation - 1
    level = rng.random(n_clusters)
    selected = []
    for rate, rows in zip(rates, (rows_of_reference, rows_of_group), strict=True):
        chance = beta.ppf(level, rate * concentration, (1 - rate) * concentration)
        selected.append(rng.random((n_clusters, rows)) < chance[:, None])
    drawn = np.hstack(selected)
    group = np.repeat(["g0", "g1"], (rows_of_reference, rows_of_group))
    return {
        "y_pred": drawn.ravel().astype(int),
        "sensitive_features": np.tile(group, n_clusters),
        "cluster": np.repeat(np.arange(n_clusters), drawn.shape[1]),
    }


def of_shared_clusters() -> Iterator[Cell]:
    """Two groups in the same clusters: at equality, at the threshold and at the margin."""
    for design, rate in product(SHARED, (0.2, 0.5, 0.9)):
        n_clusters, rows_of_reference, rows_of_group, correlation = design
        words = (
            f"{n_clusters} clusters of {rows_of_reference} and {rows_of_group} rows, ICC"
            f" {correlation:g}, rate of the reference {rate:g}"
        )
        for ratio in (1.0, 0.8):
            yield Cell(
                "rates",
                "disparate_impact(cluster=…), clusters of both groups",
                f"{words}, ratio {ratio:g}, threshold 0.8",
                partial(
                    study,
                    draw=partial(
                        rows_of_shared_clusters, design=design, rates=(rate, rate * ratio)
                    ),
                    call=lambda rows: fs.disparate_impact(**rows, reference="g0"),
                    truth=[ratio],
                    fair=(0.8, 1.25),
                    neutral=1.0,
                ),
                2_000,
            )
        for gap in (0.0, -0.1):
            # 10,000 samples: .065 ± .002 wrong "satisfied"
            worse = (
                {"claim": "fails", "remark": "Rates near 0 of groups that hold together strongly."}
                if (correlation, rate, gap) == (0.3, 0.2, -0.1)
                else {}
            )
            yield Cell(
                "rates",
                "demographic_parity_difference(cluster=…), clusters of both groups",
                f"{words}, difference {gap:g}, margin 0.1",
                partial(
                    study,
                    draw=partial(rows_of_shared_clusters, design=design, rates=(rate, rate + gap)),
                    call=lambda rows: fs.demographic_parity_difference(
                        **rows, reference="g0", margin=0.1
                    ),
                    truth=[gap],
                    fair=(-0.1, 0.1),
                    neutral=0.0,
                ),
                2_000,
                **worse,
            )


CELLS = [
    *ratios(),
    *bootstraps(),
    *families(),
    *differences(),
    *gaps(),
    *simultaneous(),
    *highest(),
    *confusions(),
    *odds(),
    *of_shared_clusters(),
]
