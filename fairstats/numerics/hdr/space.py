"""Regions without a grid: three or more quantities, and draws with few distinct values.

**Three and more dimensions** (quantile approach of Hyndman 1996): f_α is the 1 − prob quantile of
the densities at the draws, each without its own kernel, which would be a large part of it: the
region would hold too little of new draws. With H_jk = h_j·h_k·ρ_jk, ρ the draws' correlation,

    f(x) = 1/n·Σ |2πH|^(−1/2)·exp{−½(x − X_i)ᵀH⁻¹(x − X_i)},
    h_j = sd_j·[4/((d + 2)·n)]^(1/(d + 4))

(the normal reference bandwidth; Scott 2015, section 6.3).

**Few distinct values.** A kernel density is a row of spikes whose height is a matter of bandwidth.
The region that means something is the least set of values that holds the probability: the most
frequent first, ties together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.progress import under_way
from fairstats.numerics.hdr.grids import FloatArray
from fairstats.numerics.hdr.result import HdrRegion, level_error

#: Kernels are put on at most this many draws: every k-th in lexicographic order, in whatever order
#: rows come.
MOST_CENTRES = 2_500
#: Distances computed at a time: as many as fit the processor's cache.
BLOCK = 2**18
#: exp(−100) is nothing beside any kernel that matters, and quicker than numbers that underflow.
NEGLIGIBLE = -100.0
#: Draws are taken as discrete when they have at most this many distinct values …
MOST_VALUES = 25
#: … and each occurs at least this often on average.
LEAST_REPEATS = 5
#: Whole numbers are, however many values they take, when each occurs at least this often on
#: average.
WHOLE_REPEATS = 2


def normal_reference_bandwidth(samples: FloatArray) -> FloatArray:
    """Bandwidths that are best for a normal density and n kernels.

    sd_j·(4/((d + 2)·n))^(1/(d + 4)), shape (d,).
    """
    d = samples.shape[1]
    n = min(len(samples), MOST_CENTRES)
    return np.asarray(samples.std(axis=0, ddof=1) * (4 / ((d + 2) * n)) ** (1 / (d + 4)))


@dataclass(frozen=True)
class PointDensity:
    """Gaussian kernel density in d dimensions, with the draws' correlation in the kernel.

    `centres`, shape (m, d): whitened: the kernel is N(0, I) around each; `whiten`, shape (d, d):
    draw @ whiten is on that scale; `height`: density at the centre of one kernel of mass 1, in the
    units of the draws.
    """

    centres: FloatArray
    whiten: FloatArray
    height: float

    @classmethod
    def of(cls, samples: FloatArray, bandwidth: FloatArray) -> PointDensity:
        """Kernels on the draws, N(0, H) with H_ij = h_i·h_j·ρ_ij.

        InputError if columns are linearly dependent.
        """
        correlation = np.corrcoef(samples.T)
        if float(np.linalg.eigvalsh(correlation)[0]) < 1e-10:
            got = "columns of which one is a linear combination of the others"
            raise InputError(
                "samples",
                got=got,
                allowed="draws with a density",
                cure="leave that column out",
            )
        bandwidth_root = np.linalg.cholesky(correlation) * bandwidth[:, None]
        whiten: FloatArray = np.asarray(np.linalg.inv(bandwidth_root).T, dtype=np.float64)
        kernel_height = abs(float(np.linalg.det(whiten))) / (2 * math.pi) ** (samples.shape[1] / 2)
        return cls(samples[_every_kth(samples)] @ whiten, whiten, kernel_height)

    def at(self, points: FloatArray) -> FloatArray:
        """Density at any points, shape (k, d) → (k,)."""
        return self._kernel_sums(points) * (self.height / len(self.centres))

    def of_others(self, samples: FloatArray) -> FloatArray:
        """Density at the draws themselves, each without the kernel on it."""
        kernel_totals = self._kernel_sums(samples)
        n_centres = len(self.centres)
        has_own_kernel = np.zeros(len(samples), dtype=bool)
        has_own_kernel[_every_kth(samples)] = True
        return (
            np.where(
                has_own_kernel,
                np.maximum(kernel_totals - 1, 0.0) / (n_centres - 1),
                kernel_totals / n_centres,
            )
            * self.height
        )

    def _kernel_sums(self, points: FloatArray) -> FloatArray:
        """Sum of exp(−½·squared distance) over the centres."""
        whitened = points @ self.whiten
        point_norms, centre_norms = (
            0.5 * np.einsum("ij,ij->i", positions, positions)
            for positions in (whitened, self.centres)
        )
        point_factor = np.column_stack([whitened, np.ones(len(whitened)), point_norms])
        centre_factor = np.vstack([self.centres.T, -centre_norms, -np.ones(len(self.centres))])
        kernel_totals = np.empty(len(whitened))
        block_rows = max(BLOCK // len(self.centres), 1)
        for block_start in range(0, len(whitened), block_rows):
            exponents = point_factor[block_start : block_start + block_rows] @ centre_factor
            np.clip(exponents, NEGLIGIBLE, 0.0, out=exponents)
            kernel_totals[block_start : block_start + block_rows] = np.exp(
                exponents, out=exponents
            ).sum(axis=1)
        return kernel_totals


def _every_kth(samples: FloatArray) -> np.ndarray:
    """Rows that get a kernel: all, or every k-th in lexicographic order up to `MOST_CENTRES`."""
    spacing = math.ceil(len(samples) / MOST_CENTRES)
    if spacing == 1:
        return np.arange(len(samples))
    return np.lexsort(samples.T[::-1])[::spacing]


@under_way("density regions")
def space_regions(
    samples: FloatArray,
    probs: FloatArray,
    bandwidth: FloatArray | None,
    level: str,
) -> tuple[dict[str, Any], Callable[[FloatArray], FloatArray]]:
    """Fields of the result for draws of d ≥ 3 quantities, and the density at any points; `level`:
    of `grids.LEVELS`.
    """
    if bandwidth is None:
        bandwidths = normal_reference_bandwidth(samples)
    else:
        bandwidths = bandwidth
    density = PointDensity.of(samples, bandwidths)
    if level == "leave_one_out":
        at_samples = density.of_others(samples)
    else:
        at_samples = density.at(samples)
    region_list = []
    for prob, falpha in zip(
        probs.tolist(), np.quantile(at_samples, 1 - probs).tolist(), strict=True
    ):
        mass_held = float((at_samples >= falpha).mean())
        region_list.append(
            HdrRegion(
                prob=prob,
                falpha=falpha,
                falpha_error=level_error(at_samples, prob),
                mass=mass_held,
                density_mass=None,
            )
        )
    modal_point = samples[at_samples.argmax()].copy()
    method = "Gaussian kernel density at the draws"
    if level == "leave_one_out":
        method += ", each without its own kernel"
    return {
        "regions": tuple(region_list),
        "dimension": samples.shape[1],
        "kind": "density",
        "mode": modal_point,
        "modes": modal_point[None, :],
        "bandwidth": bandwidths,
        "axes": (),
        "values": np.empty(0),
        "method": method,
        "level": level,
    }, density.at


def is_constant(samples: FloatArray) -> bool:
    """Whether all rows are one point, up to rounding (8 units in the last place)."""
    spread = np.ptp(samples, axis=0)
    return bool((spread <= 8 * np.finfo(float).eps * np.abs(samples).max(axis=0)).all())


def is_discrete(samples: FloatArray) -> bool:
    """Whether the rows are whole numbers that repeat, or take few values.

    Whole numbers (counts) are discrete however many values they have, if each occurs
    `WHOLE_REPEATS` times on average (incomes to the unit, each of which occurs once, have a
    density); others if they take at most `MOST_VALUES` values, each `LEAST_REPEATS` times on
    average.
    """
    first_rows = samples[: MOST_VALUES * 10]  # the quick look
    are_whole = _are_whole(first_rows) and _are_whole(samples)
    if not are_whole and any(
        np.unique(row_block[:, 0]).size > MOST_VALUES for row_block in (first_rows, samples)
    ):
        return False
    n_distinct = len(np.unique(samples, axis=0))
    if are_whole and len(samples) >= WHOLE_REPEATS * n_distinct:
        return True
    return n_distinct <= MOST_VALUES and len(samples) >= LEAST_REPEATS * n_distinct


def _are_whole(samples: FloatArray) -> bool:
    return bool((samples == np.floor(samples)).all())


def frequencies(samples: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct rows, sorted, shape (m, d), and the share of the draws at each.

    What is constant is one value.
    """
    if is_constant(samples):
        return np.median(samples, axis=0)[None, :], np.ones(1)
    values, counts = np.unique(samples, axis=0, return_counts=True)
    return values, counts / len(samples)


def least_mass(masses: FloatArray, prob: float) -> float:
    """The largest p such that the values of mass ≥ p together hold at least `prob`."""
    descending = np.sort(masses)[::-1]
    enough = np.cumsum(descending) >= prob * (1 - 1e-12)
    return float(descending[int(enough.argmax())])


def runs(values: FloatArray, included: np.ndarray) -> FloatArray:
    """Intervals [first, last] of neighbouring included values, shape (k, 2)."""
    padded = np.concatenate([[False], included, [False]])
    first_index = np.flatnonzero(padded[1:] & ~padded[:-1])
    last_index = np.flatnonzero(padded[:-1] & ~padded[1:]) - 1
    return np.column_stack([values[first_index], values[last_index]])


def discrete_regions(samples: FloatArray, probs: FloatArray) -> dict[str, Any]:
    """Fields of the result for draws with few distinct values, shape (n, d)."""
    distinct_values, shares = frequencies(samples)
    n_rows, dimension = samples.shape
    line_values = distinct_values[:, 0]
    region_list = []
    for prob in probs.tolist():
        least_share = least_mass(shares, prob)
        is_member = shares >= least_share
        value_runs = None
        run_masses = None
        if dimension == 1:
            value_runs = runs(line_values, is_member)
            run_masses = np.array(
                [
                    shares[(line_values >= run_low) & (line_values <= run_high)].sum()
                    for run_low, run_high in value_runs
                ]
            )
        level_noise = math.sqrt(least_share * (1 - least_share) / n_rows)
        region_list.append(
            HdrRegion(
                prob=prob,
                falpha=least_share,
                falpha_error=level_noise,
                mass=float(shares[is_member].sum()),
                density_mass=None,
                intervals=value_runs,
                interval_masses=run_masses,
            )
        )
    by_share = np.argsort(-shares, kind="stable")
    modal_values = distinct_values[by_share[shares[by_share] == shares.max()]]
    return {
        "regions": tuple(region_list),
        "dimension": dimension,
        "kind": "discrete",
        "mode": float(modal_values[0, 0]) if dimension == 1 else modal_values[0],
        "modes": modal_values[:, 0] if dimension == 1 else modal_values,
        "bandwidth": None,
        "axes": (distinct_values,),
        "values": shares,
        "method": "frequencies of the distinct values",
    }
