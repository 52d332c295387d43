"""Subgroups of a balanced crossed table, and leaves of a tree: false discoveries, simultaneous
limits, the search's p-value.

The kernels of the package on tables with fixed cells, of which every run draws new successes. In a
balanced table a difference by the first attribute leaves all subgroups that do not name it exactly
alike to the rest: these are the true null hypotheses beside false ones.
`tests/methods/rates/test_subgroups.py` holds the public function against the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.numerics.rates.leaves import grow_leaves, half_of_rows
from fairstats.numerics.rates.subgroups import (
    exact_limits,
    exact_pvalues,
    largest_scores,
    lattice,
    marginal_sums,
    normal_score,
    search_pvalues,
)
from tests.calibration.study import Cell, Counts

LEVEL = 0.95
RATE = 0.05
DEPTH = 3
N_RESAMPLES = 999
#: Runs that share draws of the largest |z|.
_RUNS_PER_LAW = 20
#: Values of the attributes, 120 cells; subgroups of fewer rows are not looked at.
LEVELS = (2, 3, 4, 5)


def crossed_codes() -> np.ndarray:
    """Values of the attributes of every cell, shape (C, 4)."""
    grids = np.meshgrid(*[np.arange(size) for size in LEVELS], indexing="ij")
    return np.stack(grids, axis=-1).reshape(-1, len(LEVELS))


def rates_of_cells(codes: np.ndarray, rate: float, effect: float, *, hidden: bool) -> np.ndarray:
    """Lower by the effect where the first attribute is 0; hidden: and the second is, too."""
    lower = codes[:, 0] == 0
    if hidden:
        lower = lower & (codes[:, 1] == 0)
    return np.where(lower, rate - effect, rate)


def simulate(
    rng: np.random.Generator,
    runs: int,
    *,
    per_cell: int,
    rate: float,
    effect: float,
    adjust: str,
    hidden: bool = False,
) -> Counts:
    """False discoveries (their share, 0 where nothing is flagged), coverage of all limits together,
    and size of the search's p-value where nothing differs, or how often a hidden subgroup is
    flagged.
    """
    codes = crossed_codes()
    nodes = lattice(codes, DEPTH)
    cases_of_cells = np.full(len(codes), float(per_cell))
    rates = rates_of_cells(codes, rate, effect, hidden=hidden)
    cases = marginal_sums(nodes, cases_of_cells, DEPTH)
    expected = marginal_sums(nodes, cases_of_cells * rates, DEPTH)
    total = float(cases_of_cells.sum())
    rest = total - cases
    truth = expected / cases - (float((cases_of_cells * rates).sum()) - expected) / rest
    is_null = np.abs(truth) < 1e-12
    kept = np.ones(cases.size, dtype=bool)
    harmonic = float((1 / np.arange(1, cases.size + 1)).sum()) if adjust == "fdr_by" else 1.0
    in_hidden = (codes[:, 0] == 0) & (codes[:, 1] == 0)
    n_inside = marginal_sums(nodes, in_hidden.astype(float), DEPTH)
    n_cells = marginal_sums(nodes, np.ones(len(codes)), DEPTH)
    of_hidden = int(np.flatnonzero((n_inside == n_cells) & (n_cells == in_hidden.sum()))[0])
    false_share = 0.0
    held = found = n_shown = 0
    largest = np.zeros(0)
    critical = np.nan
    for run in range(runs):
        successes = rng.binomial(per_cell, rates).astype(float)
        k = marginal_sums(nodes, successes, DEPTH)
        total_k = float(successes.sum())
        pvalues = exact_pvalues(
            k.astype(np.int64), cases.astype(np.int64), int(total_k), int(total)
        )
        flagged = adjust_pvalues(pvalues.tolist(), "fdr_bh") * harmonic <= RATE
        false_share += (flagged & is_null).sum() / max(flagged.sum(), 1)
        n_shown += bool(flagged[of_hidden])
        if run % _RUNS_PER_LAW == 0:  # of the cases alone, which all runs share
            largest = largest_scores(nodes, cases_of_cells, kept, DEPTH, N_RESAMPLES, rng)
            critical = float(np.quantile(largest, LEVEL, method="higher"))
        low, high = exact_limits(k, cases, total_k - k, rest, critical)
        held += bool(((low <= truth) & (truth <= high)).all())
        smallest = search_pvalues(normal_score(pvalues), largest).min()
        found += bool(smallest <= 1 - LEVEL)
    counts: dict[str, tuple[float, int]] = {
        "false verdict": (false_share, runs),
        "coverage": (held, runs),
    }
    if effect == 0:
        counts["size"] = (found, runs)
    if hidden:
        counts["power"] = (n_shown, runs)
    return counts


def simulate_leaves(
    rng: np.random.Generator, runs: int, *, per_cell: int, rate: float, effect: float
) -> Counts:
    """The same of leaves, of a tree that another half of the rows fits; the truth is that of the
    leaves that were found, given the cases of the half that judges.
    """
    codes = crossed_codes()
    cases = np.full(len(codes), per_cell, dtype=np.int64)
    rates = rates_of_cells(codes, rate, effect, hidden=True)
    least = max(20, int(cases.sum()) // 100)
    false_share = 0.0
    held = found = n_grown = 0
    for _ in range(runs):
        successes = rng.binomial(cases, rates)
        rows = np.column_stack([successes, cases - successes])
        fitting = half_of_rows(rows, rng)
        judging = rows - fitting
        leaves = grow_leaves(
            codes,
            LEVELS,
            (True, False, True, False),
            fitting[:, 0].astype(float),
            fitting.sum(axis=1).astype(float),
            depth=DEPTH,
            least=least,
        )
        if len(leaves) < 2:
            continue
        n_grown += 1
        leaf_of_cell = np.zeros((len(codes), 1), dtype=np.int64)
        for number, leaf in enumerate(leaves):
            leaf_of_cell[leaf.cells] = number
        n_judging = judging.sum(axis=1).astype(float)
        k = np.bincount(leaf_of_cell[:, 0], judging[:, 0])
        n = np.bincount(leaf_of_cell[:, 0], n_judging)
        expected = np.bincount(leaf_of_cell[:, 0], n_judging * rates)
        rest = n.sum() - n
        truth = expected / n - (expected.sum() - expected) / rest
        pvalues = exact_pvalues(k.astype(np.int64), n.astype(np.int64), int(k.sum()), int(n.sum()))
        harmonic = float((1 / np.arange(1, n.size + 1)).sum())
        flagged = adjust_pvalues(pvalues.tolist(), "fdr_bh") * harmonic <= RATE
        false_share += (flagged & (np.abs(truth) < 1e-12)).sum() / max(flagged.sum(), 1)
        cells_of_leaves = lattice(np.arange(n.size)[:, None], 1)
        kept = np.ones(n.size, dtype=bool)
        largest = largest_scores(cells_of_leaves, n, kept, 1, N_RESAMPLES, rng)
        critical = float(np.quantile(largest, LEVEL, method="higher"))
        low, high = exact_limits(k, n, k.sum() - k, rest, critical)
        held += bool(((low <= truth) & (truth <= high)).all())
        smallest = search_pvalues(normal_score(pvalues), largest).min()
        found += bool(smallest <= 1 - LEVEL)
    counts: dict[str, tuple[float, int]] = {
        "false verdict": (false_share, n_grown),
        "coverage": (held, n_grown),
    }
    if effect == 0:
        counts["size"] = (found, n_grown)
    else:
        counts["power"] = (found, n_grown)
    return counts


def _cells() -> Iterator[Cell]:
    for adjust in ("fdr_by", "fdr_bh"):
        for per_cell, rate in ((10, 0.1), (40, 0.05), (40, 0.3)):
            for effect in (0.0, 0.04):
                what = "no difference" if effect == 0 else f"first attribute differs by {effect:g}"
                yield Cell(
                    "subgroups",
                    f'subgroups, adjust="{adjust}"',
                    f"2 × 3 × 4 × 5 cells of {per_cell}, depth {DEPTH}, rate {rate:g}, {what}",
                    partial(simulate, per_cell=per_cell, rate=rate, effect=effect, adjust=adjust),
                    runs=2_000,
                    claim="conservative",
                )


def _cells_of_many_runs() -> Iterator[Cell]:
    """Ten thousand data sets: nothing is wrong, or one subgroup of 20 cells is."""
    for effect, what in (
        (0.0, "no difference"),
        (0.1, "one subgroup of two attributes lower by .1"),
    ):
        yield Cell(
            "subgroups",
            'subgroups, adjust="fdr_by"',
            f"2 × 3 × 4 × 5 cells of 20, depth {DEPTH}, rate 0.3, {what}",
            partial(
                simulate,
                per_cell=20,
                rate=0.3,
                effect=effect,
                adjust="fdr_by",
                hidden=effect > 0,
            ),
            runs=10_000,
            claim="conservative",
        )


def _cells_of_leaves() -> Iterator[Cell]:
    for per_cell, rate in ((10, 0.1), (40, 0.05), (40, 0.3)):
        for effect in (0.0, 0.04):
            what = "no difference"
            if effect:
                what = f"one subgroup of two attributes lower by {effect:g}"
            yield Cell(
                "subgroups",
                'subgroups, search="tree"',
                f"2 × 3 × 4 × 5 cells of {per_cell}, depth {DEPTH}, rate {rate:g}, {what}",
                partial(simulate_leaves, per_cell=per_cell, rate=rate, effect=effect),
                runs=2_000,
                claim="conservative",
            )


CELLS = (*_cells(), *_cells_of_many_runs(), *_cells_of_leaves())
