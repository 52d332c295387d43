"""Cells of groups against everybody, and of extremes over all groups.

The fair range ends at the truth, so that a verdict of either kind is false, each one-sided at .05.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import fairstats as fs
from fairstats.ground.registry import RATES
from fairstats.methods.rates.disparity import FEWEST_ROWS, make_weighted_scores
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.methods.rates.extremes import make_extreme
from tests.calibration.study import Cell, Counts


def counted(row: Any, truth: float, wrong: dict[str, int]) -> None:
    """What an interval and a verdict at the edge say of the truth."""
    low, high = row.confidence_interval
    wrong["above"] += low > truth
    wrong["below"] += high < truth
    wrong["false violated"] += row.verdict == "violated"
    wrong["false satisfied"] += row.verdict == "satisfied"


def shares_of(wrong: dict[str, int], answered: int, runs: int) -> Counts:
    """The counts of a cell."""
    counts: dict[str, tuple[float, int]] = {}
    for measure, total in wrong.items():
        counts[measure] = (float(total), answered)
    missed = wrong["above"] + wrong["below"]
    counts["coverage"] = (float(answered - missed), answered)
    counts["answered"] = (float(answered), runs)
    return counts


def nothing_wrong() -> dict[str, int]:
    """No errors so far."""
    return dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)


def _overall(
    sizes: Sequence[int],
    rates: Sequence[float],
    contrast: str,
    words: str,
    runs: int,
    *,
    weighted: bool = False,
) -> Cell:
    """The first group against everybody; weights are gamma(2), by themselves or of each group."""
    weights_of_groups = np.arange(1, len(sizes) + 1) if weighted else np.ones(len(sizes))
    shares = np.array(sizes) * weights_of_groups
    shares = shares / shares.sum()
    of_all = float(shares @ np.array(rates))
    truth = rates[0] / of_all if contrast == "ratio" else rates[0] - of_all
    function = fs.disparate_impact if contrast == "ratio" else fs.demographic_parity_difference
    options: dict[str, Any] = {"comparisons": "overall", "adjust": "none"}
    if contrast == "ratio":
        options["threshold"] = min(truth, 1 / truth)
    else:
        options["margin"] = abs(truth)
    group = np.repeat(np.arange(len(sizes)), sizes)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = nothing_wrong()
        answered = 0
        for _ in range(runs):
            if weighted:
                weight = rng.gamma(2, size=group.size) * weights_of_groups[group]
                hired = rng.random(group.size) < np.array(rates)[group]
                rows = {"y_pred": hired, "sensitive_features": group, "sample_weight": weight}
                result = function(**rows, **options)
            else:
                selected = rng.binomial(sizes, rates)
                counts = {
                    place: (int(k), int(n - k))
                    for place, (k, n) in enumerate(zip(selected, sizes, strict=True))
                }
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = function(counts=counts, **options)
            row = result["0"]
            if row.verdict != "insufficient evidence":
                answered += 1
                counted(row, truth, wrong)
        return shares_of(wrong, answered, runs)

    kind = "disparate_impact" if contrast == "ratio" else "demographic_parity_difference"
    name = f"{kind}(comparisons='overall')"
    return Cell("rates", name, words, simulate, runs, "conservative")


def _of_everybody() -> Iterator[Cell]:
    yield _overall((200, 600, 1_200), (0.3, 0.4, 0.45), "ratio", "200 of 2,000 rows", 2_000)
    yield _overall((1_200, 600, 200), (0.5, 0.4, 0.3), "difference", "1,200 of 2,000 rows", 2_000)
    yield _overall(
        (600, 300, 300), (0.5, 0.15, 0.6), "difference", "600 of 1,200, the others far apart", 2_000
    )
    yield _overall((30, 150, 300), (0.1, 0.2, 0.25), "ratio", "30 of 480 rows", 1_000)
    words = "200 of 1,100 rows, gamma(2) weights that differ between groups"
    yield _overall((200, 300, 600), (0.3, 0.4, 0.5), "difference", words, 2_000, weighted=True)


def _extreme(
    sizes: Sequence[int],
    tprs: Sequence[float],
    fprs: Sequence[float],
    contrast: str,
    agg: str,
    words: str,
    runs: int = 2_000,
) -> Cell:
    """Limits of an extreme of TPR and FPR, half the rows of each group positive."""
    rates = [tprs, fprs]
    if contrast == "ratio":
        values = [min(of_rate) / max(of_rate) for of_rate in rates]
    else:
        values = [max(of_rate) - min(of_rate) for of_rate in rates]
    truth = float(np.mean(values) if agg == "mean" else min(values))
    positives = np.array(sizes) // 2

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = nothing_wrong()
        outside = ("above", "below") if contrast == "ratio" else ("below", "above")
        for _ in range(runs):
            tp = rng.binomial(positives, tprs)
            fp = rng.binomial(positives, fprs)
            cells = np.column_stack([tp, fp, positives - tp, positives - fp]).tolist()
            counts = fs.ConfusionCounts.from_counts(dict(enumerate(map(tuple, cells))))
            estimates = [estimate_rate(counts, RATES[rate]) for rate in ("tpr", "fpr")]
            extreme, _ = make_extreme(estimates, contrast, agg)  # type: ignore[arg-type]
            low, high = extreme.range(0.025)
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            low, high = extreme.range(0.05)
            beyond = {"above": low > truth, "below": high < truth}
            wrong["false satisfied"] += beyond[outside[0]]
            wrong["false violated"] += beyond[outside[1]]
        return shares_of(wrong, runs, runs)

    name = f"group_metric(metric='equalized_odds_{contrast}', agg='{agg}')"
    return Cell("rates", name, words, simulate, runs, "conservative")


def _of_extremes() -> Iterator[Cell]:
    apart = ((400, 1_000, 600), (0.8, 0.6, 0.7), (0.2, 0.3, 0.4))
    alike = ((60, 1_000, 60), (0.9, 0.9, 0.9), (0.1, 0.1, 0.1))
    few = ((20, 2_000), (0.9, 0.8), (0.1, 0.25))
    for setting, words in (
        (apart, "groups of 400 to 1,000 rows that differ"),
        (alike, "60, 60 and 1,000 rows of equal rates .9 and .1"),
        (few, "20 beside 2,000 rows, rates .8 and .9, .1 and .25"),
    ):
        yield _extreme(*setting, "ratio", "min", words)
        yield _extreme(*setting, "ratio", "mean", words)
        yield _extreme(*setting, "difference", "mean", words)


def _odds_within_strata(
    n: Sequence[int], n_reference: Sequence[int], rates: Sequence[float], odds: float, words: str
) -> Cell:
    """Interval and both one-sided tests of an odds ratio at its truth, the same in all strata."""
    reference = np.array(rates)
    own = odds * reference / (1 - reference + odds * reference)

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        shape = (runs, len(rates))
        drawn = np.concatenate(
            [rng.binomial(n, own, shape), rng.binomial(n_reference, reference, shape)], axis=1
        )
        distinct, number = np.unique(drawn, axis=0, return_counts=True)
        k, k0 = np.split(distinct, 2, axis=1)
        found = fs.rates.stratified(k, n, k0, n_reference, contrast="odds_ratio", null=odds)
        answered = ~np.isnan(found.estimate)
        total = int(number[answered].sum())
        events = {
            "above": found.low > odds,
            "below": found.high < odds,
            "false violated": found.pvalue_less <= 0.05,
            "false satisfied": found.pvalue_greater <= 0.05,
        }
        wrong = {name: int(number[answered & seen].sum()) for name, seen in events.items()}
        return shares_of(wrong, total, runs)

    name = "group_metric(contrast='odds_ratio', strata=)"
    return Cell("strata", name, words, simulate, 20_000, "conservative")


def _of_strata() -> Iterator[Cell]:
    for odds in (0.5, 2.0):
        yield _odds_within_strata(
            (5, 4, 6),
            (8, 6, 9),
            (0.2, 0.5, 0.8),
            odds,
            f"4 to 6 beside 6 to 9 rows, truth {odds:g}",
        )
        yield _odds_within_strata(
            (20, 15, 10, 30),
            (300, 200, 100, 400),
            (0.85, 0.9, 0.7, 0.95),
            odds,
            f"10 to 30 beside 100 to 400 rows, rates .7 to .95, truth {odds:g}",
        )
        yield _odds_within_strata(
            (5,) * 10, (50,) * 10, (0.1,) * 10, odds, f"10 × (5 beside 50 rows), .1, truth {odds:g}"
        )


def _disparity(
    sizes: Sequence[int],
    shares: Sequence[float],
    accepted: tuple[Sequence[float], Sequence[float]],
    words: str,
) -> Cell:
    """Limits of the conditional disparity; `accepted`: rates of the group and of all others."""
    share = np.array(shares)
    own, others = (np.array(rates) for rates in accepted)
    among_rejected = share * (1 - own) / (share * (1 - own) + (1 - share) * (1 - others))
    among_accepted = share * own / (share * own + (1 - share) * others)
    truth = float(np.array(sizes) / sum(sizes) @ (among_rejected - among_accepted))
    laws = np.column_stack(
        [share * own, share * (1 - own), (1 - share) * others, (1 - share) * (1 - others)]
    )

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = nothing_wrong()
        answered = 0
        for _ in range(runs):
            rows = np.array(
                [rng.multinomial(n, law) for n, law in zip(sizes, laws, strict=True)], dtype=float
            )
            n_accepted = rows[:, 0] + rows[:, 2]
            n_rejected = rows[:, 1] + rows[:, 3]
            known = (n_accepted > 0) & (n_rejected > 0)
            if min(n_accepted[known].sum(), n_rejected[known].sum()) < FEWEST_ROWS:
                continue
            answered += 1
            of = make_weighted_scores(
                rows[known, 1], n_rejected[known], rows[known, 0], n_accepted[known]
            )
            low, high = of.limits(1.959964)
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            low, high = of.limits(1.644854)
            wrong["false violated"] += low > truth
            wrong["false satisfied"] += high < truth
        return shares_of(wrong, answered, runs)

    name = "group_metric(metric='conditional_demographic_disparity')"
    return Cell("strata", name, words, simulate, 2_000, "conservative", version="2")


def _of_disparities() -> Iterator[Cell]:
    three = ((0.2, 0.4, 0.3), ((0.3, 0.5, 0.7), (0.4, 0.6, 0.7)))
    yield _disparity((100, 60, 40), *three, "100, 60 and 40 rows")
    yield _disparity((900, 600, 500), *three, "500 to 900 rows")
    few = ((0.1,) * 3, ((0.9,) * 3, (0.95,) * 3))
    yield _disparity((600, 400, 300), *few, "a tenth of 300 to 600 rows, .9 and .95 accepted")
    many = ((0.3,) * 12, ((0.5,) * 12, (0.5,) * 12))
    yield _disparity((12,) * 12, *many, "12 strata of 12 rows, no disparity")
    yield _disparity((400,), (0.05,), ((0.2,), (0.5,)), "one stratum, 20 of 400 rows")


CELLS = (*_of_everybody(), *_of_extremes(), *_of_strata(), *_of_disparities())
