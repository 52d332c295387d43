"""All marginal subgroups of a crossed table: their counts, evidence, and the law of the largest.

A subgroup fixes the values of some attributes (sex = f and age = 60+); what holds for the attributes
not named is added up. Of a subgroup with k of n and the rest with k₀ of n₀, r = k/n,

    evidence      Fisher's exact test: given K = k + k₀, k is hypergeometric at equal rates
    limits        of r − r₀, those of Clopper & Pearson by MOVER (Zou & Donner 2008; `exact_limits`)
    the largest   max |T_s|/√Var T_s of noise that is drawn for the crossed cells (`largest_scores`)
    shrinkage     r̃ = (k + mκ)/(n + κ), a common Beta prior of the subgroups of a partition.

Subgroups of different attributes overlap, so that their estimates are correlated; the law of the
largest of them is simulated from the crossed cells, never from a covariance of all subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.numerics.draws import resample_blocks
from fairstats.numerics.rates.binomial import beta_limits

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Node:
    """The crossing of some of the attributes: `codes`, shape (S, d), the values of each subgroup.

    `attributes`: their positions, d of them; `parent`: position of the crossing that it is added up
    from, −1 for the cells themselves; `sums`: sparse, shape (S, subgroups of the parent).
    """

    attributes: tuple[int, ...]
    codes: Whole
    parent: int
    sums: Any


def lattice(codes: Whole, depth: int) -> list[Node]:
    """Every crossing that leads to those of at most `depth` attributes, parents first.

    Each is made once: from its parent one attribute is dropped, at or after the place of the last
    one that was dropped, so that what stands before it stays for good. Crossings of which more than
    `depth` attributes would stay lead nowhere.
    """
    nodes: list[Node] = []
    waiting: list[tuple[tuple[int, ...], Whole, int, Any, int]] = [
        (tuple(range(codes.shape[1])), codes, -1, None, 0)
    ]
    while waiting:
        attributes, node_codes, parent, sums, first_droppable = waiting.pop()
        nodes.append(Node(attributes=attributes, codes=node_codes, parent=parent, sums=sums))
        for dropped in range(first_droppable, min(len(attributes), depth + 1)):
            if len(attributes) == 1:
                break
            other_attributes = attributes[:dropped] + attributes[dropped + 1 :]
            child_codes, child_sums = _add_up(np.delete(node_codes, dropped, axis=1))
            waiting.append((other_attributes, child_codes, len(nodes) - 1, child_sums, dropped))
    return nodes


def _add_up(codes: Whole) -> tuple[Whole, Any]:
    """The distinct rows of codes, and the matrix that adds up what agrees in them."""
    from scipy.sparse import csr_matrix

    distinct, group = np.unique(_one_number(codes), return_inverse=True)
    group = group.reshape(-1)
    first = np.zeros(distinct.size, dtype=np.int64)
    first[group[::-1]] = np.arange(group.size)[::-1]
    ones = np.ones(group.size)
    sums = csr_matrix((ones, (group, np.arange(group.size))), shape=(distinct.size, group.size))
    return codes[first], sums


def _one_number(codes: Whole) -> Whole:
    """One number for every row of codes, in mixed radix; renumbered before it would overflow."""
    number = np.zeros(codes.shape[0], dtype=np.int64)
    for column in codes.T:
        n_levels = int(column.max(initial=0)) + 1
        if (int(number.max(initial=0)) + 1) * n_levels >= 1 << 62:
            number = np.unique(number, return_inverse=True)[1].reshape(-1).astype(np.int64)
        number = number * n_levels + column
    return number


def marginal_sums(nodes: list[Node], values: Floats, depth: int) -> Floats:
    """Values of the cells, shape (C,) or (C, B), added up for all subgroups, shape (S,) or (S, B).

    In the order of `nodes`, of those of at most `depth` attributes.
    """
    of_node: list[Floats] = []
    for node in nodes:
        of_node.append(values if node.parent < 0 else node.sums @ of_node[node.parent])
    return np.concatenate(
        [
            summed
            for node, summed in zip(nodes, of_node, strict=True)
            if len(node.attributes) <= depth
        ]
    )


def exact_pvalues(successes: Whole, cases: Whole, total_successes: int, total_cases: int) -> Floats:
    """Fisher's exact test of every subgroup against the rest: twice the smaller tail, at most 1.

    Given both margins the successes of a subgroup are hypergeometric where its rate is that of the
    rest.
    """
    from scipy.stats import hypergeom

    law = hypergeom(total_cases, total_successes, cases)
    lower = law.cdf(successes)
    upper = law.sf(successes - 1)
    return np.asarray(np.minimum(2 * np.minimum(lower, upper), 1.0))


def exact_limits(
    successes: Floats,
    cases: Floats,
    successes_rest: Floats,
    cases_rest: Floats,
    critical: float,
) -> tuple[Floats, Floats]:
    """Limits of the differences r − r₀ at a critical value of |z|, also where a subgroup is small.

    With [l, u] and [l₀, u₀] the limits of Clopper and Pearson of both rates, whose tails are those
    of the normal law beyond the critical value, recovered as by Zou and Donner (MOVER):

        d − √[(r − l)² + (u₀ − r₀)²],      d + √[(u − r)² + (r₀ − l₀)²],      d = r − r₀.

    The score at the same critical value, far in its tail, holds together in .83 of samples where
    subgroups have one or two successes.
    """
    rate = successes / cases
    rate_rest = successes_rest / cases_rest
    tail = float(ndtr(-critical))
    low, high = beta_limits(successes, cases, tail)
    low_rest, high_rest = beta_limits(successes_rest, cases_rest, tail)
    difference = rate - rate_rest
    below = difference - np.hypot(rate - low, high_rest - rate_rest)
    above = difference + np.hypot(high - rate, rate_rest - low_rest)
    return np.maximum(below, -1.0), np.minimum(above, 1.0)


def normal_score(pvalues: Floats) -> Floats:
    """|z| of two-sided p-values; that of an exact one is no larger than a normal |z| would be."""
    return np.asarray(-ndtri(np.clip(pvalues / 2, 1e-300, 0.5)))


def largest_scores(
    nodes: list[Node],
    cases: Floats,
    is_judged: NDArray[np.bool_],
    depth: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """Draws of the largest |z| over all subgroups where no rate differs, shape (n_resamples,).

    With G_c independent normal of variance n_c, the cases of a cell, and sums over cells

        T_s = G(s)/n_s − G(rest)/n_rest,        Var T_s = 1/n_s + 1/n_rest,

    T_s/√Var has the joint law of the score statistics of all subgroups at equal rates: the rate
    itself drops out.
    """
    n_cells = cases.size
    total = float(cases.sum())
    cases_kept = marginal_sums(nodes, cases, depth)[is_judged]
    cases_of_others = total - cases_kept
    scale = np.sqrt(1 / cases_kept + 1 / cases_of_others)
    largest = []
    for n_draws in resample_blocks(n_resamples, n_cells, "Largest subgroup"):
        noise = rng.standard_normal((n_cells, n_draws)) * np.sqrt(cases)[:, None]
        inside = marginal_sums(nodes, noise, depth)[is_judged]
        everywhere = noise.sum(axis=0)
        contrast = inside / cases_kept[:, None] - (everywhere - inside) / cases_of_others[:, None]
        largest.append(np.abs(contrast / scale[:, None]).max(axis=0))
    return np.concatenate(largest)


def search_pvalues(scores: Floats, largest: Floats) -> Floats:
    """Share of draws whose largest |z| reaches each, the observed one counted among them."""
    ordered = np.sort(largest)
    beyond = ordered.size - np.searchsorted(ordered, scores, side="left")
    return np.asarray((1 + beyond) / (1 + ordered.size))


def shrunken_rates(successes: Floats, cases: Floats) -> Floats:
    """Posterior means of the rates of one partition under a common Beta prior.

    With m the pooled rate of G groups, N = Σn cases in all, and V the variance between groups,

        V = [Σ n(r − m)² − (G − 1) m(1 − m)]/(N − Σn²/N),      κ = m(1 − m)/V − 1,

        r̃ = (k + mκ)/(n + κ);      all are m where V ≤ 0.
    """
    total = float(cases.sum())
    pooled = float(successes.sum()) / total
    rates = successes / np.maximum(cases, 1)
    spread = float((cases * (rates - pooled) ** 2).sum())
    within = pooled * (1 - pooled)
    weight = total - float((cases**2).sum()) / total
    if weight > 0:
        between = (spread - (cases.size - 1) * within) / weight
    else:
        between = 0.0
    if between <= 0 or within <= 0:
        return np.full(cases.size, pooled)
    strength = max(within / between - 1, 0.0)
    return np.asarray((successes + pooled * strength) / (cases + strength))
