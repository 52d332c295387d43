"""MADD: interval of the binned distance, verdicts at the margin, sizes of the tests.

Cells of quantile bins call `fs.madd` itself: bins from the pooled scores of each sample, the truth
in these bins from the known laws. The others run the kernels that it calls (counts → noise → limits
→ evidence) on given bins, since the search of bandwidths has no part in any of these. "At the
margin" puts the true distance on the margin: there every verdict is false."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

import fairstats as fs
from fairstats.datasets import load_compas
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.scores import label_blind_bins
from fairstats.ground.verdict import settle
from fairstats.methods.madd.noise import MultinomialNoise, distance_limits, noise_of
from fairstats.methods.madd.permutation import (
    Sides,
    largest_test,
    multiplier_test,
    pair_test,
    permuted_counts,
    pvalues,
)
from fairstats.methods.madd.scores import Sample, bin_edges, histogram, histogram_distance
from fairstats.numerics.draws import SharedNormals

from .study import Cell, Counts

__all__ = ["CELLS", "percentile_of_equal_groups"]

LEVEL = 0.95
MARGIN = 0.2
DRAWS = 399
Array = np.ndarray
_METHOD = "madd"
#: Of the procedure: 2 counts what a group in one bin may miss, and has the standard deviation in
#: closed form.
VERSION = "2"
#: Regimes in which counts have a variance of 30 and more: procedure 3 draws these as normals, or by
#: their quantiles (`fairstats.numerics.draws`).
LARGE_COUNTS = (
    "1,000 and 1,000 rows",
    "500 and 500 rows",
    "2,000 and 2,000 rows",
    "200 and 2,000 rows, two bins",
    "COMPAS resampled, 2,000 rows",
    "groups of",
)
OF_LARGE_COUNTS = "3"


# ---------------------------------------------------------------- laws of two groups


@cache
def _plug_in() -> tuple[Array, Array]:
    """Shares of COMPAS's deciles, African-American and Caucasian."""
    table = load_compas().frame
    shares = [
        np.bincount(table.loc[table["race"] == race, "decile_score"], minlength=11)[1:]
        for race in ("African-American", "Caucasian")
    ]
    return shares[0] / shares[0].sum(), shares[1] / shares[1].sum()


def law(kind: str, n0: int, n1: int) -> Array:
    """Shares of the bins: a beta law on the blind grid, deciles, 20 uneven atoms, mass near 0, two
    bins.
    """
    if kind == "blind grid":
        edges = bin_edges(label_blind_bins(n0, n1))
        return histogram(np.sort(np.random.default_rng(1).beta(2, 3, 100_000)), edges) / 100_000
    if kind == "deciles":
        return _plug_in()[1]
    if kind == "20 atoms":
        shares = np.random.default_rng(2).dirichlet(np.full(20, 0.7))
    elif kind == "near 0":
        shares = np.array([0.94, 0.03, 0.01, 0.01, 0.005, 0.005])
    else:
        shares = np.array([0.5, 0.5])
    return shares / shares.sum()


def moved(first: Array, distance: float, how: str) -> Array:
    """A law at this distance: every other bin up, the others down.

    Or one bin up, the largest down.
    """
    sign = np.where(np.arange(first.size) % 2, -1.0, 1.0)
    if how == "one bin":
        sign = np.zeros(first.size)
        top = int(first.argmax())
        sign[[top, (top + 1) % first.size]] = (-1.0, 1.0)
    up = first[sign > 0].sum()
    down = first[sign < 0].sum()
    step = np.where(sign > 0, first / max(up, 1e-12), np.where(sign < 0, -first / down, 0.0))
    return first + min(distance / 2, 0.9 * down) * step


# ---------------------------------------------------------------- two groups


def _limits(counts: tuple[Array, Array], rng: np.random.Generator) -> Any:
    noise = MultinomialNoise(*counts)
    return distance_limits(noise, int(min(c.sum() for c in counts)), DRAWS, SharedNormals(rng))


def interval(
    rng: np.random.Generator, runs: int, *, laws: tuple[Array, Array], n0: int, n1: int
) -> Counts:
    """Coverage of the two-sided interval; false verdicts where the truth lies on the margin."""
    truth = float(np.abs(laws[0] - laws[1]).sum())
    on_margin = abs(truth - MARGIN) < 1e-9
    ends = np.empty((runs, 4))
    for b, counts in enumerate(
        zip(rng.multinomial(n0, laws[0], runs), rng.multinomial(n1, laws[1], runs), strict=True)
    ):
        limits = _limits(counts, rng)
        evidence = limits.evidence(MARGIN)
        tail = (1 + LEVEL) / 2
        ends[b] = limits.lower(tail), limits.upper(tail), evidence.above, evidence.inside
    low, high, above, inside = ends.T
    found = {
        "coverage": (int(((low <= truth) & (truth <= high)).sum()), runs),
        "above": (int((low > truth).sum()), runs),
        "below": (int((high < truth).sum()), runs),
    }
    if on_margin or truth > MARGIN:
        found["false satisfied"] = (int((inside <= 1 - LEVEL).sum()), runs)
    if on_margin or truth < MARGIN:
        found["false violated"] = (int((above <= 1 - LEVEL).sum()), runs)
    return found


def permutation(rng: np.random.Generator, runs: int, *, shares: Array, n0: int, n1: int) -> Counts:
    """Size of the exact test; one table of permutations serves every draw with the same pooled
    counts.
    """
    rejected = 0
    for pooled in rng.multinomial(n0 + n1, shares, runs):
        drawn = permuted_counts(
            pooled, (n0, n1), DRAWS + 1, rng
        )  # the data are one more permutation
        distances = histogram_distance(*drawn)
        rejected += pvalues(float(distances[0]), distances[1:])[0] <= 1 - LEVEL
    return {"size": (rejected, runs)}


# ---------------------------------------------------------------- several groups


def family(
    rng: np.random.Generator, runs: int, *, sizes: tuple[int, ...], apart: tuple[float, ...]
) -> Counts:
    """Any false verdict over all groups against the first, by Holm; on the margin all are false."""
    base = law("deciles", 0, 0)
    laws = [moved(base, distance, "alternating") for distance in apart]
    wrong = 0
    for _ in range(runs):
        first = rng.multinomial(sizes[0], base)
        own = [rng.multinomial(n, p) for n, p in zip(sizes[1:], laws, strict=True)]
        evidence = [_limits((c, first), rng).evidence(MARGIN) for c in own]
        rulings = settle(evidence, confidence_level=LEVEL, adjust="holm")
        wrong += any(
            (r.verdict == "violated" and d <= MARGIN) or (r.verdict == "satisfied" and d >= MARGIN)
            for r, d in zip(rulings, apart, strict=True)
        )
    return {"false verdict": (wrong, runs)}


def family_of_tests(rng: np.random.Generator, runs: int, *, sizes: tuple[int, ...]) -> Counts:
    """Any adjusted p-value at most 5%, all pairs of groups with one law."""
    base = law("deciles", 0, 0)
    rejected = 0
    for _ in range(runs):
        counts = [rng.multinomial(n, base) for n in sizes]
        p = []
        for first, second in combinations(range(len(sizes)), 2):
            pooled = counts[first] + counts[second]
            pair = (sizes[first], sizes[second])
            drawn = histogram_distance(*permuted_counts(pooled, pair, 999, rng))
            p.append(pvalues(float(histogram_distance(counts[first], counts[second])), drawn)[0])
        rejected += bool((adjust_pvalues(p, "holm") <= 1 - LEVEL).any())
    return {"size": (rejected, runs)}


def largest(
    rng: np.random.Generator, runs: int, *, sizes: tuple[int, ...], decimals: int = 1
) -> Counts:
    """Size of the test of one distribution in all groups, at the quantiles of every pair."""
    rejected = 0
    pairs = [
        Sides((i,), (j,), label_blind_bins(sizes[i], sizes[j]))
        for i, j in combinations(range(len(sizes)), 2)
    ]
    for _ in range(runs):
        samples = [Sample(np.sort(np.round(rng.beta(2, 3, n), decimals))) for n in sizes]
        found = largest_test(samples, pairs, 199, rng)
        rejected += found is not None and found[0].pvalue <= 1 - LEVEL
    return {"size": (rejected, runs)}


# ---------------------------------------------------------------- quantile bins, by the public
# function


@dataclass(frozen=True)
class ScoreLaw:
    """Scores of one group: a monotone map of u in [0, 1] with the distribution function `below`,
    and its inverse.
    """

    inverse: Callable[[Array], Array]
    below: Callable[[Array], Array]


def logit_normal(centre: float, spread: float = 1.0) -> ScoreLaw:
    """Scores 1/(1 + exp(−z)), z normal."""
    return ScoreLaw(
        inverse=lambda u: expit(centre + spread * ndtri(u)),
        below=lambda x: ndtr((logit(x) - centre) / spread),
    )


def tilted(distance: float) -> ScoreLaw:
    """Uniform scores of which the lower half is more frequent.

    This far from uniform ones in bins that part them.
    """
    low = 0.5 + distance / 4
    return ScoreLaw(
        inverse=lambda u: np.where(u < low, u / low / 2, 1 - (1 - u) / (1 - low) / 2),
        below=lambda x: np.where(x < 0.5, 2 * x * low, 1 - 2 * (1 - x) * (1 - low)),
    )


def rounded(law: ScoreLaw, values: int) -> ScoreLaw:
    """The same scores in so many equal steps: ties."""
    return ScoreLaw(
        inverse=lambda u: (
            (np.minimum(np.floor(law.inverse(u) * values), values - 1) + 0.5) / values
        ),
        below=lambda x: law.below(np.clip(np.floor(x * values + 0.5) / values, 0.0, 1.0)),
    )


def with_zeros(law: ScoreLaw, share: float) -> ScoreLaw:
    """This share of scores is 0."""
    return ScoreLaw(
        inverse=lambda u: np.where(
            u < share, 0.0, law.inverse(np.clip((u - share) / (1 - share), 0.0, 1.0))
        ),
        below=lambda x: np.where(x > 0, share + (1 - share) * law.below(x), 0.0),
    )


def distance_in(edges: Array, first: ScoreLaw, second: ScoreLaw) -> float:
    """δ = Σ_k |p0_k − p1_k| in the bins with these inner edges."""
    gap = np.concatenate([[0.0], first.below(edges) - second.below(edges), [0.0]])
    return float(np.abs(np.diff(gap)).sum())


def by_function(
    rng: np.random.Generator, runs: int, *, laws: tuple[ScoreLaw, ScoreLaw], n0: int, n1: int
) -> Counts:
    """Coverage of the interval, one-sided errors at the truth, size or power, by `fs.madd` at its
    defaults.

    A margin that lies exactly at the truth in the printed bins would be called violated where the
    lower one-sided limit lies above it, satisfied where the upper one lies below: those are the
    "false" verdicts that are counted."""
    group = np.repeat(["a", "b"], [n0, n1])
    names = (
        "coverage",
        "above",
        "below",
        "false violated",
        "false satisfied",
        "rejected",
        "violated",
    )
    found = dict.fromkeys(names, 0)
    alike = laws[0] is laws[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)  # small groups are what is asked for
        for _ in range(runs):
            score = np.concatenate(
                [law.inverse(rng.random(n)) for law, n in zip(laws, (n0, n1), strict=True)]
            )
            result = fs.madd(
                score, sensitive_features=group, n_resamples=DRAWS, max_bins=60, rng=rng
            )
            (c,) = result.comparisons
            truth = distance_in(c.edges, *laws)
            low, high = c.confidence_interval
            found["above"] += low > truth + 1e-12
            found["below"] += high < truth - 1e-12
            found["coverage"] += low <= truth + 1e-12 and truth - 1e-12 <= high
            found["false violated"] += c.bounds.low > truth + 1e-12
            found["false satisfied"] += c.bounds.high < truth - 1e-12
            found["rejected"] += c.pvalue <= 1 - LEVEL
            found["violated"] += c.verdict == "violated"
    rejected = found.pop("rejected")
    violated = found.pop("violated")
    counts: dict[str, tuple[float, int]] = {name: (number, runs) for name, number in found.items()}
    # alike groups: the test; unlike ones: how often the verdict says so
    counts["size" if alike else "power"] = (rejected if alike else violated, runs)
    return counts


# ---------------------------------------------------------------- weights and clusters


def weighted(rng: np.random.Generator, n: int, cv: float) -> Sample:
    """Rows with one law and gamma weights of this coefficient of variation."""
    return Sample(np.sort(rng.beta(2, 3, n)), rng.gamma(cv**-2, cv**2, n))


def clustered(
    rng: np.random.Generator, clusters: tuple[int, int], icc: float, within: bool
) -> list[Sample]:
    """Clusters of ten rows on a latent normal scale: each in one group, or with rows of both."""
    total = sum(clusters)
    cluster = np.repeat(np.arange(total), 10)
    latent = np.sqrt(icc) * rng.standard_normal(total)[cluster]
    latent += np.sqrt(1 - icc) * rng.standard_normal(cluster.size)
    score = 1 / (1 + np.exp(-latent))
    group = (cluster >= clusters[0]).astype(int) if within else rng.integers(0, 2, cluster.size)
    order = np.argsort(score)
    rows = [order[group[order] == g] for g in (0, 1)]
    return [Sample(score[r], None, cluster[r]) for r in rows]


def linearised(
    rng: np.random.Generator,
    runs: int,
    *,
    make: Callable[[np.random.Generator], list[Sample]],
    n_bins: int = 8,
) -> Counts:
    """Alike groups: coverage of 0 and size of the test, permuting whole clusters or by
    multipliers.
    """
    edges = bin_edges(n_bins)
    covered = 0
    rejected = 0
    for _ in range(runs):
        samples = make(rng)
        noise = noise_of(samples[0], samples[1], edges)
        normals = SharedNormals(rng)
        limits = distance_limits(noise, min(s.n_units for s in samples), DRAWS, normals)
        test = pair_test(samples[0], samples[1], edges, 199, normals) or multiplier_test(
            noise, 199, normals
        )
        covered += limits.lower((1 + LEVEL) / 2) <= 0
        rejected += test.pvalue <= 1 - LEVEL
    return {"coverage": (covered, runs), "size": (rejected, runs)}


def percentile_of_equal_groups(n: int, n_bins: int, replicates: int, seed: int) -> float:
    """Coverage of the percentile bootstrap for equal groups: the reason why it is not offered."""
    rng = np.random.default_rng(seed)
    shares = np.full(n_bins, 1 / n_bins)
    covered = 0
    for _ in range(replicates):
        counts = rng.multinomial(n, shares, size=2)
        drawn = [rng.multinomial(n, c / n, size=199) for c in counts]
        covered += np.quantile(histogram_distance(drawn[0], drawn[1]), (1 - LEVEL) / 2) <= 0
    return covered / replicates


# ---------------------------------------------------------------- cells

#: Equal sizes, then one group in ten, in fifty, in a hundred.
_SIZES = ((1_000, 1_000), (200, 2_000), (40, 2_000), (100, 10_000), (30, 300), (15, 60))


def _pairs() -> list[Cell]:
    cells = []
    for n0, n1 in _SIZES:
        for kind, how in (
            ("blind grid", "alternating"),
            ("deciles", "alternating"),
            ("deciles", "one bin"),
            ("20 atoms", "alternating"),
            ("near 0", "one bin"),
            ("two bins", "alternating"),
        ):
            first = law(kind, n0, n1)
            for distance, words in ((0.0, "alike"), (MARGIN, "at the margin"), (0.6, "far")):
                if how == "one bin" and distance == 0:
                    continue
                simulate = partial(
                    interval, laws=(first, moved(first, distance, how)), n0=n0, n1=n1
                )
                regime = f"{n0:,} and {n1:,} rows, {kind}, {words}, {how}"
                cells.append(Cell("madd", _METHOD, regime, simulate, 2_000, "conservative"))
        for kind in ("deciles", "20 atoms", "near 0"):
            size = partial(permutation, shares=law(kind, n0, n1), n0=n0, n1=n1)
            regime = f"permutation test, {n0:,} and {n1:,} rows, {kind}"
            cells.append(Cell("madd", _METHOD, regime, size, 4_000, "conservative"))
    for n in (100, 500, 2_000):
        simulate = partial(interval, laws=_plug_in(), n0=n // 2, n1=n - n // 2)
        cells.append(
            Cell("madd", _METHOD, f"COMPAS resampled, {n:,} rows", simulate, 2_000, "conservative")
        )
    return cells


def _families() -> list[Cell]:
    cells = []
    for count in (2, 7, 19):
        small = (2_000, *([2_000, 200, 40, 400, 100, 1_000, 60] * 3)[:count])
        mixed = tuple(([MARGIN, MARGIN, 0.0, MARGIN, 0.3, MARGIN, 0.1] * 3)[:count])
        groups = f"{count + 1} groups of 40 to 2,000 rows"
        margins = partial(family, sizes=small, apart=(MARGIN,) * count)
        cells.append(
            Cell("madd", _METHOD, f"{groups}, all at the margin", margins, 2_000, "conservative")
        )
        beside = partial(family, sizes=small, apart=mixed)
        cells.append(
            Cell("madd", _METHOD, f"{groups}, some at the margin", beside, 2_000, "conservative")
        )
    for sizes in ((2_000, 200, 40), (2_000, 1_000, 200, 100, 60, 40, 30, 20)):
        rows = f"{len(sizes)} groups of {min(sizes)} to {max(sizes):,} rows"
        tests = partial(family_of_tests, sizes=sizes)
        cells.append(Cell("madd", _METHOD, f"adjusted tests, {rows}", tests, 2_000, "conservative"))
        test = partial(largest, sizes=sizes)
        words = f"test of the largest, {rows}, ties"
        cells.append(Cell("madd", _METHOD, words, test, 2_000, "conservative", version=VERSION))
    return cells


def _surveys() -> list[Cell]:
    cells = []
    for cv in (0.5, 1.0, 1.5):
        for n0, n1 in ((300, 300), (40, 400)):

            def make(
                rng: np.random.Generator, cv: float = cv, n0: int = n0, n1: int = n1
            ) -> list[Sample]:
                return [weighted(rng, n0, cv), weighted(rng, n1, cv)]

            regime = f"weights, CV {cv:g}, {n0} and {n1} rows"
            simulate = partial(linearised, make=make, n_bins=5)
            cells.append(
                Cell("madd", _METHOD, regime, simulate, 2_000, "conservative", version=VERSION)
            )
    for clusters in ((60, 60), (10, 100), (6, 30)):
        for icc in (0.02, 0.3):
            for within in (True, False):

                def draw(
                    rng: np.random.Generator,
                    clusters: tuple[int, int] = clusters,
                    icc: float = icc,
                    within: bool = within,
                ) -> list[Sample]:
                    return clustered(rng, clusters, icc, within)

                where = (
                    f"{clusters[0]} and {clusters[1]} clusters"
                    if within
                    else f"{sum(clusters)} clusters of both"
                )
                regime = f"{where}, ICC {icc:g}"
                simulate = partial(linearised, make=draw, n_bins=4)
                cells.append(
                    Cell("madd", _METHOD, regime, simulate, 2_000, "conservative", version=VERSION)
                )
    return cells


def _quantiles() -> list[Cell]:
    """Sizes of case D10 and smaller, tied and piled up scores: alike, and apart."""
    # the first has a mean score of .015
    low = logit_normal(-4.5, 0.8)
    shifted = logit_normal(-3.8, 0.8)
    middle = logit_normal(0.0)
    cells = []
    for n0, n1 in ((500, 500), (60, 2_000), (30, 300), (25, 25), (2_000, 2_000)):
        sizes = f"{n0:,} and {n1:,} rows"
        pairs = {
            "mean score 1.5%, alike": (low, low),
            "mean score 1.5%, logit shift .7": (low, shifted),
            "uniform, at the margin": (tilted(0.0), tilted(MARGIN)),
            "ten scores, alike": (rounded(middle, 10),) * 2,
            "ten scores, at the margin": (rounded(tilted(0.0), 10), rounded(tilted(MARGIN), 10)),
            "60% zeros, logit shift .7": (with_zeros(low, 0.6), with_zeros(shifted, 0.6)),
        }
        for words, laws in pairs.items():
            simulate = partial(by_function, laws=laws, n0=n0, n1=n1)
            cells.append(
                Cell(
                    "madd",
                    _METHOD,
                    f"pooled quantiles, {sizes}, {words}",
                    simulate,
                    2_000,
                    "conservative",
                )
            )
    return cells


def _by_today(cell: Cell) -> Cell:
    """The cell with the version of the procedure that draws its counts."""
    if any(words in cell.regime for words in LARGE_COUNTS):
        return replace(cell, version=OF_LARGE_COUNTS)
    return cell


CELLS = [_by_today(cell) for cell in (*_pairs(), *_families(), *_surveys(), *_quantiles())]
