"""Rows with probabilities of groups, checked and summed: what `sensitive_probabilities=` brings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats, SeedOrGenerator
from fairstats.ground.errors import InputError
from fairstats.ground.groups import sensitive_columns
from fairstats.ground.outcomes import MissingReport, Outcomes, even_weights
from fairstats.ground.proxies import ARGUMENT, as_shares, as_true_groups, read_probabilities
from fairstats.ground.registry import Rate
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.setup import RateArguments
from fairstats.numerics.rates import inferred as kernels

SAMPLE = "calibration_sample"


@dataclass(frozen=True, eq=False)
class InferredRows:
    """Rows with probabilities: the outcomes, the shares (n, G), and true groups where known.

    Weights, where they differ, have a mean of 1.
    """

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
            sample_weight=arguments.sample_weight,
            cluster=arguments.cluster,
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

    @cached_property
    def weights(self) -> Floats | None:
        """The weights over their mean; None where all are alike, which say nothing."""
        weight = self.outcomes.weight
        if weight is None:
            return None
        total = float(weight.sum())
        check_that_some_count(total)
        if even_weights(weight.size, total, float((weight**2).sum())):
            return None
        return np.asarray(weight * (weight.size / total))

    @property
    def clusters(self) -> NDArray[np.int64] | None:
        """Codes of the clusters, from 0; None where rows are independent."""
        cluster = self.outcomes.cluster
        return None if cluster is None else cluster.codes.astype(np.int64)


def check_that_some_count(total: float) -> None:
    """Raise where all weights are 0."""
    checks.check_that(
        total > 0, "sample_weight", f"a sum of {total:g}", "weights of which some are above 0"
    )


@serialisable(eq=False, kw_only=True)
class InferredDesign:
    """What weights and clusters add to sums: all that their errors rest on.

    Attributes
    ----------
    number, sums, products : ndarray or None
        As in `InferredCounts`, with squared weights; None where rows have no weights.
    scatter : ndarray or None
        By half, products of the clusters' sums of probabilities by cell, outcome and group, shape
        (2, 3CG, 3CG); None where rows do not come in clusters.
    """

    number: Floats | None = None
    sums: Floats | None = None
    products: Floats | None = None
    scatter: Floats | None = None

    @classmethod
    def _of(cls, table: kernels.Sums) -> InferredDesign | None:
        """Of sums; None where they have neither."""
        if not table.has_design:
            return None
        squares = table.squares
        if squares is None:
            return cls(scatter=table.scatter)
        return cls(
            number=squares.number,
            sums=squares.sums,
            products=squares.products,
            scatter=table.scatter,
        )

    def _attach(self, table: kernels.Sums) -> kernels.Sums:
        """The sums with what this adds."""
        squares = None
        if self.number is not None and self.sums is not None and self.products is not None:
            squares = kernels.Sums(self.number, self.sums, self.products)
        return replace(table, squares=squares, scatter=self.scatter)


@serialisable(eq=False, kw_only=True)
class InferredCounts:
    """Sums of the probabilities of groups by cell, half and outcome: all that bounds rest on.

    Under weights, of a mean of 1, every row counts in the sums for its weight.

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
    design, true_design : InferredDesign or None
        What weights and clusters add to both sets of sums.
    cases : ndarray or None
        Where rows have weights: expected cases of every group, each row counted once, shape (G,).
    audited_rows : int or None
        The same of rows with a true group.
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
    design: InferredDesign | None = None
    true_design: InferredDesign | None = None
    cases: Floats | None = None
    audited_rows: int | None = None

    @property
    def _table(self) -> kernels.Sums:
        """The sums by cell."""
        table = kernels.Sums(self.number, self.sums, self.products)
        return table if self.design is None else self.design._attach(table)

    @property
    def _audited(self) -> kernels.Audited | None:
        """The sums by true group, where some are known."""
        if self.true_number is None or self.true_sums is None or self.true_products is None:
            return None
        table = kernels.Sums(self.true_number, self.true_sums, self.true_products)
        if self.true_design is not None:
            table = self.true_design._attach(table)
        return kernels.Audited(table)

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
    def weighted(self) -> bool:
        """Whether rows have weights that differ."""
        return self.design is not None and self.design.number is not None

    @property
    def clustered(self) -> bool:
        """Whether rows come in clusters."""
        return self.design is not None and self.design.scatter is not None

    @property
    def expected_cases(self) -> Floats:
        """Expected cases of every group, shape (G,)."""
        if self.cases is not None:
            return self.cases
        return np.asarray(self.sums[:, :, :2].sum(axis=(0, 1, 2)))

    @property
    def effective_cases(self) -> Floats:
        """(Σwp)²/Σ(wp)² over the cases, shape (G,): how many rows of one group they are worth.

        Under clusters the sums of clusters take the place of the wp.
        """
        table = self._table
        constant = np.zeros(self.number.shape)
        units = []
        for group in range(len(self.groups)):
            slope = np.zeros(self.sums.shape)
            slope[:, :, :2, group] = 1.0
            units.append(kernels.Term(constant, slope).units(table))
        return np.array(units)

    @property
    def n_audited(self) -> int:
        """Rows with a true group."""
        if self.audited_rows is not None:
            return self.audited_rows
        audited = self._audited
        return 0 if audited is None else round(audited.n_audited)

    def _of_outcome(self, outcome: int) -> float:
        """How many rows, or clusters, those with an outcome are worth; their number without weights."""
        constant = np.zeros(self.number.shape)
        constant[:, :, outcome] = 1.0
        return kernels.Term(constant, np.zeros(self.sums.shape)).units(self._table)


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
        most_splits = kernels.MOST_SPLITS
        if rows.clusters is not None:
            most_splits = kernels.MOST_SPLITS_OF_CLUSTERS
        cells, cells_of_sample = kernels.split_by_probabilities(
            rows.shares, shares_of_sample, most_splits
        )
        calibration = None
        if shares_of_sample is not None:
            calibration = kernels.Calibration.of_rows(
                shares_of_sample, groups_of_sample, cells_of_sample, int(cells.max()) + 1
            )
        if rows.clusters is None:
            halves = generator.permutation(len(cells)) % 2
        else:
            halves = kernels.halve_clusters(rows.clusters, generator)
        return cls(rows, cells, halves, calibration, seed)

    def count(self, rate: Rate) -> InferredCounts:
        """The sums for a rate."""
        rows = self.rows
        kinds = outcomes_of_rate(rows.outcomes, rate)
        table = kernels.sum_rows(
            rows.shares,
            kinds,
            self.halves,
            self.cells,
            int(self.cells.max()) + 1,
            rows.weights,
            rows.clusters,
        )
        cases = None
        if rows.weights is not None:
            cases = rows.shares[kinds != kernels.NO_CASE].sum(axis=0)
        counts = InferredCounts(
            groups=rows.groups,
            number=table.number,
            sums=table.sums,
            products=table.products,
            missing=rows.outcomes.missing,
            seed=self.seed,
            design=InferredDesign._of(table),
            cases=cases,
        )
        if rows.true_groups is not None:
            n_groups = len(rows.groups)
            group_codes = np.where(rows.true_groups < 0, n_groups, rows.true_groups)
            by_group = kernels.sum_rows(
                rows.shares,
                kinds,
                self.halves,
                group_codes,
                n_groups + 1,
                rows.weights,
                rows.clusters,
            )
            counts = replace(
                counts,
                true_number=by_group.number,
                true_sums=by_group.sums,
                true_products=by_group.products,
                true_design=InferredDesign._of(by_group),
                audited_rows=int((rows.true_groups >= 0).sum()) if cases is not None else None,
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
