"""Posteriors where groups, or outcomes of some rows, are not known: data augmentation.

Row i has probabilities p_ig of the groups, and of its cell c (label and prediction) what is known.
Under the model

    group of i ~ Categorical(p_i),    cell of i | group g ~ Categorical(π_g),    π_g ~ Dirichlet(α),

in which cells depend on the group alone, not on the proxy beside it (McCartan et al. 2024), two
steps alternate (Tanner & Wong 1987): complete the rows, given π,

    P(group g, cell c | row i) ∝ p_ig π_gc    over the cells that agree with what is known of it,

and draw π_g ~ Dirichlet(α + counts of the completed rows). Rows that are alike are completed
together, by one multinomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.encoding import binary_columns
from fairstats.ground.errors import InputError
from fairstats.ground.groups import sensitive_columns
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.proxies import ARGUMENT, as_shares, as_true_groups, read_probabilities
from fairstats.methods.um.counting import CELLS, cell_of
from fairstats.methods.um.pymc_models import Diagnostics, Sampled

#: Chains, and their steps before draws are kept.
CHAINS = 4
_WARM_UP = 250
#: Distinct probabilities up to which they are taken as they are; more are rounded to these parts,
#: the first with no more bins than these, and rows of one bin have its mean.
_MOST_DISTINCT = 500
_PARTS = (100, 50, 20, 10, 5, 2)
_MOST_BINS = 1_000
#: What the sampler is called.
NAME = "data augmentation"


@dataclass(frozen=True, eq=False)
class KindOfRows:
    """Rows of which the same is known: `cells` that they may be in; distinct shares (J, G) and the
    number of rows with each (J,).
    """

    cells: tuple[int, ...]
    shares: Floats
    number: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """Rows of unknown groups, or cells, by what is known of them.

    `sure`: counts (G, 4) of the others; `rounded`: parts that probabilities are rounded to, 0 for
    none.
    """

    groups: tuple[str, ...]
    sure: NDArray[np.int64]
    kinds: tuple[KindOfRows, ...]
    n_rows: int
    rounded: int

    @classmethod
    def read(
        cls,
        y_true: Any,
        y_pred: Any,
        probabilities: Any,
        *,
        sensitive_features: Any = None,
        pos_label: Any = None,
        label_values: Any = None,
        missing: str = "raise",
        groups: Sequence[Any] | None = None,
    ) -> IncompleteRows:
        """From the arguments of `um_posterior`; missing labels and predictions are unknown."""
        checks.check_choice("missing", missing, ("raise", "drop"))
        for argument, values in (("y_true", y_true), ("y_pred", y_pred)):
            checks.check_given(argument, values, "one value per row, missing where not known")
        check_row_labels(y_true=y_true, y_pred=y_pred, sensitive_probabilities=probabilities)
        columns = read_probabilities(probabilities, groups)
        names = tuple(columns)
        codes = []
        for factor in binary_columns(
            pos_label, label_values, y_true=y_true, y_pred=y_pred
        ).values():
            codes.append(np.asarray(factor.codes, dtype=np.int64))  # type: ignore[union-attr]
        true_codes, predicted_codes = codes
        n_rows = len(columns[names[0]])
        lengths = {"y_true": true_codes.size, "y_pred": predicted_codes.size, ARGUMENT: n_rows}
        known_groups = np.full(n_rows, -1)
        if sensitive_features is not None:
            known_columns = sensitive_columns(sensitive_features)
            checks.check_that(
                len(known_columns) == 1,
                "sensitive_features",
                checks.listed(list(known_columns)),
                f"one column beside {ARGUMENT}=",
                "cross the columns into one",
            )
            known_groups = as_true_groups(
                next(iter(known_columns.values())), names, "sensitive_features"
            )
            lengths["sensitive_features"] = known_groups.size
        checks.check_one_length(", ".join(lengths), lengths)
        lacking = np.zeros(n_rows, dtype=bool)
        for column in columns.values():
            lacking |= np.isnan(column)
        lacking &= known_groups < 0
        if lacking.any() and missing == "raise":
            raise InputError(
                ARGUMENT,
                got=f"{int(lacking.sum()):,} rows without a probability and without a group",
                allowed='probabilities of every row whose group is not known, or missing="drop"',
                cure="the shares of the groups where nothing else is known",
            )
        complete = ~lacking
        shares = np.zeros((n_rows, len(names)))
        unknown = complete & (known_groups < 0)
        if unknown.any():
            shares[unknown] = as_shares({name: column[unknown] for name, column in columns.items()})
        sure_groups = known_groups >= 0
        shares[sure_groups] = np.eye(len(names))[known_groups[sure_groups]]
        return cls._of_codes(
            names, true_codes[complete], predicted_codes[complete], shares[complete]
        )

    @classmethod
    def _of_codes(
        cls,
        names: tuple[str, ...],
        true_codes: NDArray[np.int64],
        predicted_codes: NDArray[np.int64],
        shares: Floats,
    ) -> IncompleteRows:
        """Rows by what is known of them; codes are 0, 1, or −1 for unknown."""
        n_groups = len(names)
        sure = np.zeros((n_groups, len(CELLS)), dtype=np.int64)
        kinds = []
        is_sure = shares.max(axis=1) == 1
        sure_groups = shares.argmax(axis=1)
        bins = np.full(len(shares), -1)
        bins[~is_sure], shares_of_bins, rounded = _gather(shares[~is_sure])
        for label in (0, 1, -1):
            for prediction in (0, 1, -1):
                in_cell = (true_codes == label) & (predicted_codes == prediction)
                cells = _cells_that_agree(label, prediction)
                if not in_cell.any() or len(cells) == len(CELLS):
                    continue
                number = np.bincount(bins[in_cell & ~is_sure], minlength=len(shares_of_bins))
                counts = np.bincount(sure_groups[in_cell & is_sure], minlength=n_groups)
                distinct = shares_of_bins
                if len(cells) == 1:
                    sure[:, cells[0]] = counts
                else:
                    distinct = np.concatenate([distinct, np.eye(n_groups)])
                    number = np.concatenate([number, counts])
                occurs = number > 0
                if occurs.any():
                    kinds.append(KindOfRows(cells, distinct[occurs], number[occurs]))
        return cls(names, sure, tuple(kinds), len(shares), rounded)

    @property
    def n_unknown(self) -> int:
        """Rows with something to complete."""
        return int(sum(kind.number.sum() for kind in self.kinds))

    def expected_counts(self) -> Floats:
        """Counts (G, 4) by the probabilities alone, unknown cells spread evenly: where to start."""
        counts = self.sure.astype(np.float64)
        for kind in self.kinds:
            by_group = kind.number @ kind.shares
            counts[:, kind.cells] += by_group[:, None] / len(kind.cells)
        return counts


def _gather(shares: Floats) -> tuple[NDArray[np.int64], Floats, int]:
    """Bin of each row of similar shares, the mean shares of each bin, and what they are rounded to
    parts of, 0 for not at all.

    A bin is a proxy, too: cells that depend on the group alone do not depend on the bin either, and
    the mean of its shares is the share of the group in it.
    """
    _, bins = np.unique(shares, axis=0, return_inverse=True)
    bins = bins.ravel()
    parts = 0
    if bins.max(initial=0) >= _MOST_DISTINCT:
        for parts in _PARTS:
            _, bins = np.unique(np.rint(parts * shares), axis=0, return_inverse=True)
            bins = bins.ravel()
            if bins.max() < _MOST_BINS:
                break
    number = np.bincount(bins)
    sums = [np.bincount(bins, shares[:, group]) for group in range(shares.shape[1])]
    means = np.stack(sums, axis=1) / np.maximum(number, 1)[:, None]
    return bins.astype(np.int64), means, parts


def _cells_that_agree(label: int, prediction: int) -> tuple[int, ...]:
    """Cells, by position, of rows with a label and a prediction; −1: unknown."""
    cells = []
    for possible_label in (0, 1) if label < 0 else (label,):
        for possible_prediction in (0, 1) if prediction < 0 else (prediction,):
            cells.append(int(cell_of(possible_label, possible_prediction, 0)))
    return tuple(sorted(cells))


def complete_rows(rows: IncompleteRows, pi: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Counts of all rows in every chain, those that are incomplete drawn given π; both (chains, G,
    4).
    """
    n_chains, n_groups, _ = pi.shape
    counts = np.repeat(rows.sure[None], n_chains, axis=0)
    for kind in rows.kinds:
        weights = kind.shares[None, :, :, None] * pi[:, None][..., kind.cells]
        weights = weights.reshape(n_chains, len(kind.number), -1)
        weights /= weights.sum(axis=2, keepdims=True)
        completed = rng.multinomial(kind.number, weights).sum(axis=1)
        counts[:, :, kind.cells] += completed.reshape(n_chains, n_groups, -1)
    return counts


def sample_by_augmentation(
    rows: IncompleteRows, prior: Floats, n_draws: int, entropy: int
) -> tuple[Sampled, Floats]:
    """Draws of π, (n_draws, G, 4), with their convergence, and the mean of the completed counts."""
    per_chain = -(-n_draws // CHAINS)
    chains = np.empty((CHAINS, per_chain, *prior.shape))
    mean_counts = np.zeros(prior.shape)
    generator = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(0, 7)))
    # from far apart: laws that rest on the square root of the expected counts
    start = np.repeat((prior + rows.expected_counts() ** 0.5 + 0.5)[None], CHAINS, axis=0)
    pi = _draw_dirichlet(start, generator)
    for step in range(-_WARM_UP, per_chain):
        counts = complete_rows(rows, pi, generator)
        pi = _draw_dirichlet(prior + counts, generator)
        if step >= 0:
            chains[:, step] = pi
            mean_counts += counts.mean(axis=0)
    rhat, effective = convergence(chains.reshape(CHAINS, per_chain, -1))
    diagnostics = Diagnostics(
        rhat=rhat,
        ess=effective,
        divergences=0,
        chains=CHAINS,
        draws=CHAINS * per_chain,
        sampler=NAME,
    )
    # draws of the chains in turn, so that the first n of them come from all
    draws = chains.transpose(1, 0, 2, 3).reshape(-1, *prior.shape)[:n_draws]
    return Sampled(draws, diagnostics, None), mean_counts / per_chain


def _draw_dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    gammas = rng.standard_gamma(alpha)
    return np.asarray(gammas / gammas.sum(axis=-1, keepdims=True))


def convergence(chains: Floats) -> tuple[float, float]:
    """Largest split r-hat and least effective number of draws of chains (chains, draws, quantity).

    Of halves of chains (Gelman et al. 2013, section 11.4); autocorrelations by Fourier transform,
    summed in pairs as long as these are positive (Geyer 1992).
    """
    n_half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :n_half], chains[:, n_half : 2 * n_half]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = n_half * halves.mean(axis=1).var(axis=0, ddof=1)
    total = (n_half - 1) / n_half * within + between / n_half
    varies = within > 0
    if not varies.any():
        return 1.0, float(halves.shape[0] * n_half)
    rhat = np.sqrt(total[varies] / within[varies])
    centred = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n_half, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n_half].mean(axis=0) / n_half
    correlation = 1 - (within - covariance)[:, varies] / total[varies]
    correlation[0] = 1.0
    pairs = correlation[: n_half // 2 * 2].reshape(-1, 2, correlation.shape[1]).sum(axis=1)
    goes_on = np.cumprod(pairs > 0, axis=0)
    time = 2 * (pairs * goes_on).sum(axis=0) - 1
    n_all = halves.shape[0] * n_half
    return float(rhat.max()), float((n_all / np.maximum(time, 1 / np.log10(n_all))).min())


def counts_of(rows: IncompleteRows, totals: Floats) -> ConfusionCounts:
    """The mean completed counts as a table."""
    cells = {}
    for group, values in zip(rows.groups, totals.tolist(), strict=True):
        cells[group] = dict(zip(CELLS, values, strict=True))
    return ConfusionCounts.from_effective(cells)
