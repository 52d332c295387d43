"""Rows with probabilities of groups, checked and summed: what `sensitive_probabilities=` brings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats, SeedOrGenerator
from fairstats.ground.errors import InputError
from fairstats.ground.groups import sensitive_columns
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.proxies import ARGUMENT, as_shares, as_true_groups, read_probabilities
from fairstats.ground.registry import Rate
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.setup import RateArguments
from fairstats.numerics.rates import inferred as kernels

SAMPLE = "calibration_sample"


@dataclass(frozen=True, eq=False)
class InferredRows:
    """Rows with probabilities: the outcomes, the shares (n, G), and true groups where known."""

    outcomes: Outcomes
    groups: tuple[str, ...]
    shares: Floats
    true_groups: NDArray[np.int64] | None

    @classmethod
    def read(cls, arguments: RateArguments, *, needs: tuple[str, ...]) -> InferredRows:
        """From the arguments of a public function; `needs`: "labels", "predictions" or both."""
        columns = read_probabilities(arguments.sensitive_probabilities, arguments.groups)
        names = list(columns)
        n_rows = len(columns[names[0]])
        y_true = arguments.y_true if "labels" in needs else None
        y_pred = arguments.y_pred if "predictions" in needs else None
        outcomes = Outcomes.from_arrays(
            y_true,
            y_pred,
            sensitive_features=np.zeros(n_rows, dtype=np.int64),
            pos_label=arguments.pos_label,
            label_values=arguments.label_values,
            missing="drop" if arguments.missing == "drop" else "raise",
            numbers={f"{ARGUMENT}[{name!r}]": column for name, column in columns.items()},
        )
        shares = as_shares(dict(zip(names, outcomes.numbers.values(), strict=True)))
        true_groups = None
        if arguments.sensitive_features is not None:
            true_columns = sensitive_columns(arguments.sensitive_features)
            one_column = len(true_columns) == 1
            checks.check_that(
                one_column,
                "sensitive_features",
                checks.listed(list(true_columns)),
                f"one column beside {ARGUMENT}=: true groups, missing where they are not known",
                "cross the columns into one",
            )
            true_groups = as_true_groups(
                next(iter(true_columns.values())), names, "sensitive_features"
            )
            checks.check_one_length(
                "sensitive_features",
                {"sensitive_features": true_groups.size, ARGUMENT: n_rows},
            )
            if outcomes.kept is not None:
                true_groups = true_groups[outcomes.kept]
            if not (true_groups >= 0).any():
                true_groups = None
        return cls(outcomes, tuple(names), shares, true_groups)


@serialisable(eq=False, kw_only=True)
class InferredCounts:
    """Sums of the probabilities of groups by cell, half and outcome: all that bounds rest on.

    Attributes
    ----------
    groups : tuple of str
        Names of the G groups.
    number : ndarray, shape (C, 2, 3)
        Rows by cell of similar probabilities, half, and outcome: success, failure, no case.
    sums, products : ndarray, shapes (C, 2, 3, G) and (C, 2, 3, G, G)
        Of the probabilities, and of their products in pairs.
    true_number, true_sums, true_products : ndarray or None
        The same by true group, the last of them unknown, in place of cells; where some are known.
    sample_number, sample_shift, sample_covariance : ndarray or None
        Rows of the calibration sample by cell, shape (C,); true shares less probabilities, (C, G);
        covariance of a row's difference of both.
    missing : MissingReport
        Rows left out.
    seed : int, optional
        Of the halves.
    """

    groups: tuple[str, ...]
    number: Floats
    sums: Floats
    products: Floats
    missing: MissingReport
    true_number: Floats | None = None
    true_sums: Floats | None = None
    true_products: Floats | None = None
    sample_number: Floats | None = None
    sample_shift: Floats | None = None
    sample_covariance: Floats | None = None
    seed: int | None = None

    @property
    def _table(self) -> kernels.Sums:
        """The sums by cell."""
        return kernels.Sums(self.number, self.sums, self.products)

    @property
    def _audited(self) -> kernels.Audited | None:
        """The sums by true group, where some are known."""
        if self.true_number is None or self.true_sums is None or self.true_products is None:
            return None
        return kernels.Audited(kernels.Sums(self.true_number, self.true_sums, self.true_products))

    @property
    def _calibration(self) -> kernels.Calibration | None:
        """What the calibration sample says, where there is one."""
        if (
            self.sample_number is None
            or self.sample_shift is None
            or self.sample_covariance is None
        ):
            return None
        return kernels.Calibration(self.sample_number, self.sample_shift, self.sample_covariance)

    @property
    def expected_cases(self) -> Floats:
        """Expected cases of every group, shape (G,)."""
        return np.asarray(self.sums[:, :, :2].sum(axis=(0, 1, 2)))

    @property
    def effective_cases(self) -> Floats:
        """(Σp)²/Σp² over the cases, shape (G,): how many rows of one group they are worth."""
        squares = np.einsum("cfogg->g", self.products[:, :, :2])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(squares > 0, self.expected_cases**2 / squares, 0.0)

    def _of_outcomes(self, outcome: int) -> float:
        """Rows with an outcome."""
        return float(self.number[:, :, outcome].sum())


def outcomes_of_rate(outcomes: Outcomes, rate: Rate) -> NDArray[np.int64]:
    """Success, failure or no case of a rate, of every row; of one column its favourable value."""
    if outcomes.y_true is None or outcomes.y_pred is None:
        column = outcomes.y_pred if outcomes.y_true is None else outcomes.y_true
        return np.where(np.asarray(column) == 1, kernels.SUCCESS, kernels.FAILURE).astype(np.int64)
    cells = np.array(["tn", "fp", "fn", "tp"])
    kinds = np.full(4, kernels.NO_CASE, dtype=np.int64)
    for position, cell in enumerate(cells):
        if cell in rate.successes:
            kinds[position] = kernels.SUCCESS
        elif cell in rate.cases:
            kinds[position] = kernels.FAILURE
    codes = 2 * outcomes.y_true.astype(np.int64) + outcomes.y_pred
    return np.asarray(kinds[codes])


@dataclass(frozen=True, eq=False)
class CellsOfRows:
    """Cells of similar probabilities and halves of the rows, and the calibration sample in them."""

    rows: InferredRows
    cells: NDArray[np.int64]
    halves: NDArray[np.int64]
    calibration: kernels.Calibration | None
    seed: int | None

    @classmethod
    def of(cls, rows: InferredRows, sample: Any, rng: SeedOrGenerator) -> CellsOfRows:
        """Cells by the probabilities alone; halves by chance."""
        generator, seed = checks.as_generator(rng)
        shares_of_sample = None
        if sample is not None:
            groups_of_sample, shares_of_sample = _read_sample(sample, rows.groups)
        cells, cells_of_sample = kernels.split_by_probabilities(rows.shares, shares_of_sample)
        calibration = None
        if shares_of_sample is not None:
            calibration = kernels.Calibration.of_rows(
                shares_of_sample, groups_of_sample, cells_of_sample, int(cells.max()) + 1
            )
        halves = generator.permutation(len(cells)) % 2
        return cls(rows, cells, halves, calibration, seed)

    def count(self, rate: Rate) -> InferredCounts:
        """The sums for a rate."""
        rows = self.rows
        kinds = outcomes_of_rate(rows.outcomes, rate)
        table = kernels.sum_rows(
            rows.shares, kinds, self.halves, self.cells, int(self.cells.max()) + 1
        )
        counts = InferredCounts(
            groups=rows.groups,
            number=table.number,
            sums=table.sums,
            products=table.products,
            missing=rows.outcomes.missing,
            seed=self.seed,
        )
        if rows.true_groups is not None:
            n_groups = len(rows.groups)
            group_codes = np.where(rows.true_groups < 0, n_groups, rows.true_groups)
            by_group = kernels.sum_rows(rows.shares, kinds, self.halves, group_codes, n_groups + 1)
            counts = replace(
                counts,
                true_number=by_group.number,
                true_sums=by_group.sums,
                true_products=by_group.products,
            )
        if self.calibration is not None:
            counts = replace(
                counts,
                sample_number=self.calibration.number,
                sample_shift=self.calibration.shift,
                sample_covariance=self.calibration.covariance,
            )
        return counts


def _read_sample(sample: Any, groups: tuple[str, ...]) -> tuple[NDArray[np.int64], Floats]:
    """True groups and probabilities of a calibration sample, every row with both."""
    allowed = "a pair: true groups, and their probabilities by the same proxy"
    cure = "calibration_sample=(known['race'], known[['f', 'm']])"
    is_pair = isinstance(sample, (tuple, list)) and len(sample) == 2
    checks.check_that(is_pair, SAMPLE, sample, allowed, cure)
    true_groups = as_true_groups(sample[0], groups, SAMPLE)
    columns = read_probabilities(sample[1], groups, SAMPLE)
    sizes = {"true groups": true_groups.size, "probabilities": len(columns[groups[0]])}
    checks.check_one_length(SAMPLE, sizes)
    complete = true_groups >= 0
    for column in columns.values():
        complete &= ~np.isnan(column)
    n_lacking = int((~complete).sum())
    if n_lacking:
        raise InputError(
            SAMPLE,
            got=f"{n_lacking:,} of {complete.size:,} rows without a group or a probability",
            allowed="rows with both",
            cure="leave out the others",
        )
    if complete.size < kernels.CELL_SAMPLE:
        raise InputError(
            SAMPLE,
            got=f"{complete.size} rows",
            allowed=f"{kernels.CELL_SAMPLE} or more",
            cure="a larger sample",
        )
    return true_groups, as_shares(columns, SAMPLE)
