"""Moments of numbers of every group within the strata of a confounder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.factors import Factor
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.outcomes import MissingReport, Outcomes
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_length, check_shape
from fairstats.ground.strata import strata_in_order
from fairstats.ground.tallies.moments import MomentCounts, refuse_spread_clusters

#: Rows of `SharedClusters.products`.
OF_ERRORS, OF_ERROR_AND_WEIGHT, OF_WEIGHT_AND_ERROR = range(3)


@serialisable(eq=False)
class SharedClusters:
    """Clusters with rows of a group in several strata.

    Attributes
    ----------
    places : ndarray of int, shape (m, 2)
        Pairs of crossings of strata and groups that share clusters, the smaller place first.
    weights : ndarray of float, shape (m,)
        Of each pair Σ over clusters of the product of their weights W in both crossings.
    products : ndarray of float, shape (3, V, m)
        Of every number, with e the excess of a cluster in a crossing: Σ e·e, Σ e·W and Σ W·e, the
        first crossing's first.
    """

    places: NDArray[np.int64]
    weights: NDArray[np.float64]
    products: NDArray[np.float64]

    def check_stored(self) -> None:
        """Raise unless what was read from a file has sums of every pair."""
        check_shape(self, "places", self.places, (self.weights.size, 2))
        check_length(self, "products", self.products, 3)

    @classmethod
    def _of_units(
        cls,
        unit_of_row: NDArray[np.intp],
        cell_of_row: NDArray[np.intp],
        size: int,
        weight: Floats,
        excesses: Sequence[Floats],
    ) -> SharedClusters:
        """Of rows with their cluster and crossing, weights, and excesses of every number."""
        from scipy.sparse import coo_array, triu

        shape = (int(unit_of_row.max()) + 1, size)

        def totals(values: Floats) -> Any:
            return coo_array((values, (unit_of_row, cell_of_row)), shape=shape).tocsr()

        lies_in = totals(np.ones(unit_of_row.size))
        shared = triu(lies_in.T @ lies_in, k=1, format="coo")
        first = shared.row
        second = shared.col

        def at_pairs(left: Any, right: Any) -> Floats:
            return np.asarray((left.T @ right).tocsr()[first, second], dtype=np.float64).ravel()

        weights = totals(weight)
        products = []
        for excess in excesses:
            errors = totals(excess)
            products.append(
                [at_pairs(errors, errors), at_pairs(errors, weights), at_pairs(weights, errors)]
            )
        return cls(
            places=np.stack([first, second], axis=1).astype(np.int64),
            weights=at_pairs(weights, weights),
            products=np.moveaxis(np.array(products), 0, 1),
        )

    def _beside_rest(self, means: Floats, new_means: Floats, n_groups: int) -> SharedClusters:
        """Of crossings of strata with the groups, and behind them with all others of each.

        `means`, `new_means`: of every number in the crossings of now and then. Where the mean of a
        crossing moves by δ, the excesses e of its clusters become e − δ·W.
        """
        strata, groups = np.divmod(self.places, n_groups)
        new_places = [strata * 2 * n_groups + groups]
        members = [np.arange(self.weights.size)]
        for rest in range(n_groups):
            others = np.flatnonzero(groups[:, 0] != rest)
            new_places.append(strata[others] * 2 * n_groups + n_groups + rest)
            members.append(others)
        places = np.concatenate(new_places)
        member = np.concatenate(members)
        shift = new_means[:, places] - means[:, self.places[member]]
        first = shift[..., 0]
        second = shift[..., 1]
        errors, with_weight, with_first_weight = self.products[:, :, member]
        weights = self.weights[member]
        moved = np.array(
            [
                errors
                - second * with_weight
                - first * with_first_weight
                + first * second * weights,
                with_weight - first * weights,
                with_first_weight - second * weights,
            ]
        )
        distinct, pair = np.unique(places, axis=0, return_inverse=True)
        pair = pair.ravel()
        products = np.zeros((len(distinct), *moved.shape[:2]))
        np.add.at(products, pair, np.moveaxis(moved, 2, 0))
        sums = np.bincount(pair, weights, len(distinct)).astype(np.float64)
        return SharedClusters(
            places=distinct.astype(np.int64),
            weights=sums,
            products=np.moveaxis(products, 0, 2),
        )


@serialisable(eq=False)
class StratumMoments:
    """Sums of numbers per stratum and group.

    Attributes
    ----------
    strata, groups : tuple of str
        Names of the H strata and G groups.
    cells : MomentCounts
        Moments of the H·G crossings, the groups of a stratum next to each other.
    attribute : str
        Name of the column of strata, empty where it is not known.
    shared : SharedClusters, optional
        Clusters that lie in several strata; `cells` count each once in every crossing.
    """

    strata: tuple[str, ...]
    groups: tuple[str, ...]
    cells: MomentCounts
    attribute: str = ""
    shared: SharedClusters | None = None

    def check_stored(self) -> None:
        """Raise unless what was read from a file has its sums for every stratum and group."""
        check_length(self, "cells", self.cells.groups, len(self.strata) * len(self.groups))

    @classmethod
    def _from_outcomes(
        cls, outcomes: Outcomes, numbers: Mapping[str, Floats], attribute: str = ""
    ) -> StratumMoments:
        """Sums of the numbers of validated rows that have strata."""
        strata, crossed = _cross(outcomes)
        apart, is_spread = _clusters_by_crossing(outcomes, crossed)
        cells = MomentCounts._from_outcomes(apart, numbers)
        moments = cls(
            strata=strata, groups=outcomes.groups.labels, cells=cells, attribute=attribute
        )
        if outcomes.cluster is None or not is_spread:
            return moments
        places = crossed.groups.codes.astype(np.intp)
        weight = outcomes.weight
        if weight is None:
            weight = np.ones(places.size)
        excesses = []
        for place, values in enumerate(numbers.values()):
            excesses.append(weight * (values - cells.mean[place][places]))
        _, unit_of_row = np.unique(outcomes.cluster.codes, return_inverse=True)
        shared = SharedClusters._of_units(unit_of_row, places, len(cells.groups), weight, excesses)
        return replace(moments, shared=shared)

    @classmethod
    def _from_cells(
        cls,
        strata: tuple[str, ...],
        groups: tuple[str, ...],
        cells: MomentCounts,
        positions: Sequence[tuple[int, int]],
        attribute: str,
    ) -> StratumMoments:
        """From moments of some crossings, with the places of stratum and group of each."""
        places = [stratum * len(groups) + group for stratum, group in positions]
        crossed = cells._with_new_groups(cross_names(strata, groups), places)
        return cls(strata=strata, groups=groups, cells=crossed, attribute=attribute)

    def _beside_rest(self) -> StratumMoments:
        """The same with all others of each group as further groups, behind the groups.

        Positions of group g and of its rest are g and G + g.
        """
        n_groups = len(self.groups)
        n_strata = len(self.strata)
        strata, groups = np.divmod(np.arange(n_strata * n_groups), n_groups)
        joined = self.cells
        for group in range(n_groups):
            elsewhere = n_strata
            places = np.where(groups == group, elsewhere, strata)
            names = (*self.strata, "elsewhere")
            merged = self.cells._with_new_groups(names, places.tolist())
            joined = joined._beside(merged._take_groups(range(n_strata)))
        n_sides = 2 * n_groups
        order = np.empty((n_strata, n_sides), dtype=np.intp)
        order[:, :n_groups] = np.arange(n_strata * n_groups).reshape(n_strata, n_groups)
        behind = n_strata * n_groups + np.arange(n_groups * n_strata)
        order[:, n_groups:] = behind.reshape(n_groups, n_strata).T
        names = (*self.groups, *names_of_rests(self.groups))
        cells = replace(
            joined._take_groups(order.ravel().tolist()),
            groups=cross_names(self.strata, names),
        )
        shared = None
        if self.shared is not None:
            shared = self.shared._beside_rest(self.cells.mean, cells.mean, n_groups)
        return replace(self, groups=names, cells=cells, shared=shared)

    def _of_group(self, values: NDArray[np.float64], group: int) -> Floats:
        """Of values of all crossings, shape (…, H·G), those of one group, shape (…, H)."""
        return np.asarray(values[..., group :: len(self.groups)])

    def _pair(self, group: int, reference: int, strata: NDArray[np.intp]) -> MomentCounts:
        """The rows of two groups in some of the strata, each group's together."""
        names = (self.groups[group], self.groups[reference])
        n_groups = len(self.groups)
        elsewhere = 2
        places = np.full(len(self.cells.groups), elsewhere)
        places[strata * n_groups + group] = 0
        places[strata * n_groups + reference] = 1
        joined = self.cells._with_new_groups((*names, "elsewhere"), places.tolist())
        return joined._take_groups((0, 1))


def cross_with_strata(outcomes: Outcomes) -> tuple[tuple[str, ...], Outcomes]:
    """Names of the strata, and the rows with the crossings of stratum and group as groups.

    Clusters that have rows in several of them keep their code; an error where one has several groups.
    """
    strata, crossed = _cross(outcomes)
    _clusters_by_crossing(outcomes, crossed)
    return strata, crossed


def places_of_strata(outcomes: Outcomes) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Place of the stratum of each row among those that have rows, and their names."""
    if outcomes.strata is None:
        raise InputError("strata", got="None", allowed="one value per row", cure="pass strata=")
    names, order = strata_in_order(outcomes.strata)
    present = set(np.unique(outcomes.strata.codes).tolist())
    kept = [place for place in order if place in present]
    rank = np.zeros(len(names), dtype=np.intp)
    rank[kept] = np.arange(len(kept))
    return rank[outcomes.strata.codes], tuple(names[place] for place in kept)


def _cross(outcomes: Outcomes) -> tuple[tuple[str, ...], Outcomes]:
    """The same, wherever clusters lie."""
    places, strata = places_of_strata(outcomes)
    codes = places * len(outcomes.groups.labels) + outcomes.groups.codes
    labels = cross_names(strata, outcomes.groups.labels)
    crossed = replace(outcomes.groups, codes=codes, labels=labels, levels=labels)
    return strata, replace(outcomes, groups=crossed)


def names_of_rests(groups: Sequence[str]) -> tuple[str, ...]:
    """What all others of each group are called."""
    return tuple(f"all but {group}" for group in groups)


def rows_beside_rests(outcomes: Outcomes) -> tuple[Outcomes, NDArray[np.intp]]:
    """Rows of every group, and behind them those of all others of each as further groups.

    Groups are as those of `StratumMoments._beside_rest`; also where each row stood before. A
    cluster's rows are one there once more for every group that it is not of.
    """
    codes = outcomes.groups.codes.astype(np.intp)
    n_groups = len(outcomes.groups.labels)
    places = [np.arange(codes.size)]
    new_codes = [codes]
    copies = [np.zeros(codes.size, dtype=np.intp)]
    for group in range(n_groups):
        others = np.flatnonzero(codes != group)
        places.append(others)
        new_codes.append(np.full(others.size, n_groups + group))
        copies.append(np.full(others.size, group + 1))
    rows = np.concatenate(places)

    def repeated(column: Any) -> Any:
        return None if column is None else column[rows]

    def repeated_factor(factor: Factor | None) -> Factor | None:
        return None if factor is None else replace(factor, codes=factor.codes[rows])

    labels = (*outcomes.groups.labels, *names_of_rests(outcomes.groups.labels))
    groups = replace(outcomes.groups, codes=np.concatenate(new_codes), labels=labels, levels=labels)
    cluster = outcomes.cluster
    if cluster is not None:
        apart = cluster.codes[rows].astype(np.int64) * (n_groups + 1) + np.concatenate(copies)
        cluster = replace(cluster, codes=np.unique(apart, return_inverse=True)[1])
    numbers = {name: column[rows] for name, column in outcomes.numbers.items()}
    beside = replace(
        outcomes,
        groups=groups,
        y_true=repeated(outcomes.y_true),
        y_pred=repeated(outcomes.y_pred),
        score=repeated(outcomes.score),
        weight=repeated(outcomes.weight),
        cluster=cluster,
        strata=repeated_factor(outcomes.strata),
        missing=MissingReport(),
        extra=repeated(outcomes.extra),
        kept=None,
        number=repeated(outcomes.number),
        squares=repeated(outcomes.squares),
        features=repeated(outcomes.features),
        numbers=numbers,
    )
    return beside, rows


def cross_names(strata: tuple[str, ...], groups: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the crossings, the groups of a stratum next to each other."""
    names = []
    for stratum in strata:
        for group in groups:
            names.append(f"{stratum}{INTERSECTION}{group}")
    return tuple(names)


def _clusters_by_crossing(outcomes: Outcomes, crossed: Outcomes) -> tuple[Outcomes, bool]:
    """The crossed rows with a cluster's rows in every crossing as a cluster of their own, and
    whether some clusters have several.
    """
    cluster = outcomes.cluster
    if cluster is None:
        return crossed, False
    codes = cluster.codes.astype(np.int64)
    n_clusters = np.unique(codes).size
    n_groups = len(outcomes.groups.labels)
    of_groups = codes * n_groups + outcomes.groups.codes
    refuse_spread_clusters(_count_spread(of_groups // n_groups, of_groups))
    n_cells = len(crossed.groups.labels)
    pairs, apart = np.unique(codes * n_cells + crossed.groups.codes, return_inverse=True)
    crossed = replace(crossed, cluster=replace(cluster, codes=apart.astype(np.intp)))
    return crossed, bool(pairs.size > n_clusters)


def _count_spread(clusters: NDArray[np.int64], pairs: NDArray[np.int64]) -> int:
    """How many clusters have several pairs."""
    _, first_rows = np.unique(pairs, return_index=True)
    _, counts = np.unique(clusters[first_rows], return_counts=True)
    return int((counts > 1).sum())
