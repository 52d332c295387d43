"""Moments of numbers of every group within the strata of a confounder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_length
from fairstats.ground.strata import strata_in_order
from fairstats.ground.tallies.moments import MomentCounts


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
    """

    strata: tuple[str, ...]
    groups: tuple[str, ...]
    cells: MomentCounts
    attribute: str = ""

    def check_stored(self) -> None:
        """Raise unless what was read from a file has its sums for every stratum and group."""
        check_length(self, "cells", self.cells.groups, len(self.strata) * len(self.groups))

    @classmethod
    def _from_outcomes(
        cls, outcomes: Outcomes, numbers: Mapping[str, Floats], attribute: str = ""
    ) -> StratumMoments:
        """Sums of the numbers of validated rows that have strata."""
        strata, crossed = cross_with_strata(outcomes)
        cells = MomentCounts._from_outcomes(crossed, numbers)
        return cls(strata=strata, groups=outcomes.groups.labels, cells=cells, attribute=attribute)

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
    """Names of the strata, and the rows with the crossings of stratum and group as groups."""
    if outcomes.strata is None:
        raise InputError("strata", got="None", allowed="one value per row", cure="pass strata=")
    names, order = strata_in_order(outcomes.strata)
    present = set(np.unique(outcomes.strata.codes).tolist())
    kept = [place for place in order if place in present]
    rank = np.zeros(len(names), dtype=np.intp)
    rank[kept] = np.arange(len(kept))
    codes = rank[outcomes.strata.codes] * len(outcomes.groups.labels) + outcomes.groups.codes
    strata = tuple(names[place] for place in kept)
    labels = cross_names(strata, outcomes.groups.labels)
    _refuse_clusters_in_several_strata(outcomes, codes)
    crossed = replace(outcomes.groups, codes=codes, labels=labels, levels=labels)
    return strata, replace(outcomes, groups=crossed)


def cross_names(strata: tuple[str, ...], groups: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the crossings, the groups of a stratum next to each other."""
    names = []
    for stratum in strata:
        for group in groups:
            names.append(f"{stratum}{INTERSECTION}{group}")
    return tuple(names)


def _refuse_clusters_in_several_strata(outcomes: Outcomes, codes: NDArray[np.intp]) -> None:
    """Raise where a cluster has rows in several strata, whose means would not be independent."""
    if outcomes.cluster is None:
        return
    clusters = outcomes.cluster.codes.astype(np.int64)
    pairs = np.unique(np.stack([clusters, codes]), axis=1)
    n_spread = int((np.unique(pairs[0], return_counts=True)[1] > 1).sum())
    refuse_clusters_in_several_strata(n_spread)


def refuse_clusters_in_several_strata(n_spread: int) -> None:
    """Raise where so many clusters have rows in several strata."""
    if n_spread:
        raise InputError(
            "strata",
            got=f"{n_spread:,} clusters with rows in more than one stratum",
            allowed="clusters that lie within one stratum: only then are strata independent",
            cure="strata of which each cluster has one (a person's branch), or leave out strata",
        )
