"""Two groups within strata, as `compare_pair` compares them: adjusted means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, listed
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import (
    OF_ERRORS,
    StratumMoments,
    rows_beside_rests,
)
from fairstats.methods.rates.numbers.compare import (
    MEAN_INTERVAL,
    MIN_UNITS,
    GroupValues,
    contrast_of_means,
    interval_of_mean,
    roots_by_parts,
)
from fairstats.methods.rates.numbers.contrasts import (
    ExpectedRatio,
    MeanDifference,
    NumberContrast,
    PartContrast,
)
from fairstats.methods.rates.numbers.result import HALL
from fairstats.methods.rates.setup import POOLED
from fairstats.numerics.means.hall import Moments, Statistics, hall_statistics, sum_of_means
from fairstats.numerics.means.strata import (
    UNITS_OF_SHAPE,
    UNITS_OF_VARIANCE,
    BetweenStrata,
    Homogeneity,
    adjusted_mean,
    homogeneity_test,
    mantel_haenszel_weights,
)

_MOST_NAMES = 8


class WithinStrataOfPair(GroupValues, Protocol):
    """Two groups (positions 0 and 1) within strata."""

    @property
    def rows(self) -> MomentCounts:
        """All rows of both in the strata that are used."""

    @property
    def n(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of both in all strata, shape (H,) each."""

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which strata are used, shape (H,)."""

    @property
    def shares(self) -> Floats:
        """Weights of these, which add up to 1."""

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """Whether one contrast holds in all strata; None where nothing tests it."""

    def informative(self, *, ratio: bool) -> int:
        """Strata that such a test counts."""

    def left_out(self) -> str:
        """Which strata are not used, with their rows; empty where all are."""

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""


@dataclass(frozen=True, eq=False)
class PairWithinStrata:
    """Adjusted means of a group (position 0) and its reference (1), as `GroupValues`.

    `parts`: moments of both in all strata, shape (H,) each; `used`: strata with two units of both;
    `shares`: of these; `rows`: moments of all rows of both in them; `weights`: of both in all
    strata; `between`: what their strata share.
    """

    names: tuple[str, str]
    strata: tuple[str, ...]
    parts: tuple[Moments, Moments]
    n: tuple[NDArray[np.int64], NDArray[np.int64]]
    used: NDArray[np.bool_]
    shares: Floats
    rows: MomentCounts
    column: str
    root: bool
    weights: tuple[Floats, Floats]
    between: tuple[BetweenStrata | None, BetweenStrata | None] = (None, None)

    @property
    def spread(self) -> bool:
        """Whether clusters lie in several of the strata that are used."""
        for position in (0, 1):
            between = self._between(position)
            if between is not None and np.any(np.triu(between.weights, 1)):
                return True
        return False

    @property
    def method(self) -> str:
        """Name of the procedure."""
        return HALL

    @property
    def interval_method(self) -> str:
        """Name of what a group's own interval is by."""
        return MEAN_INTERVAL

    def used_parts(self, position: int) -> Moments:
        """Moments of one of both in the strata that are used."""
        return self.parts[position].take(self.used)

    def weights_of(self, position: int) -> Floats:
        """Shares of the strata that are used in the weight of one of both."""
        weight = self.weights[position][self.used]
        return np.asarray(weight / weight.sum())

    def mean(self, position: int) -> Moments:
        """Moments of the adjusted mean."""
        return adjusted_mean(self.used_parts(position), self.shares, self._between(position))

    def _between(self, position: int) -> BetweenStrata | None:
        between = self.between[position]
        return None if between is None else between.take(self.used)

    def value(self, position: int) -> float:
        """The adjusted mean, or its root."""
        if not self.used.any():
            return math.nan
        mean = float(self.mean(position).mean)
        return math.sqrt(mean) if self.root else mean

    def interval(self, position: int, z: float) -> tuple[float, float]:
        """By Student's t."""
        if not self.used.any():
            return math.nan, math.nan
        return interval_of_mean(self.mean(position), z, root=self.root)

    def variances(self) -> Floats:
        """Variances of the adjusted means."""
        return np.array([float(self.mean(position).variance) for position in (0, 1)])

    def why_not(self, position: int, *, ratio: bool) -> str:
        """Too few rows in the strata that both share, or numbers that have no ratio."""
        name = self.names[position]
        kind = "clusters" if self.rows.clustered else "rows"
        if not self.used.any():
            if position == 1:
                return ""
            return f"{name} and {self.names[1]}: no stratum has two {kind} of both."
        size = np.asarray(self.used_parts(position).size)
        beyond = float((size - 1).sum())
        between = self._between(position)
        if between is not None:
            # a unit in several strata counts once
            own_shares = self.weights_of(position)
            beyond = min(beyond, 1 / float(own_shares @ between.weights @ own_shares) - 1)
        if beyond < MIN_UNITS - 1 - 1e-9:
            return (
                f"{name} has {beyond:.3g} {kind} beyond the first of every stratum that it shares"
                f" with {self.names[1 - position]}, and adjusted means need {MIN_UNITS - 1}."
            )
        if float(size.max()) < UNITS_OF_SHAPE - 1e-9:
            return f"{name} has no stratum with {UNITS_OF_SHAPE} {kind}, so no skewness is known."
        place = self.rows.columns.index(self.column)
        if ratio and self.rows.negative[place, position]:
            return f"{name} has numbers below 0, of which a ratio has no meaning."
        if ratio and not self.value(position) > 0:
            return f"{name} has the mean 0, so no ratio."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """Of both adjusted means."""
        return contrast_of_means(
            self.mean(group), self.mean(reference), ratio=ratio, root=self.root
        )

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """Whether one contrast holds in all strata.

        Of roots not their difference: it is the mean squares whose difference would be tested. Nor
        where clusters lie in several strata, which are not independent.
        """
        if (self.root and not ratio) or self.spread:
            return None
        return homogeneity_test(self.used_parts(0), self.used_parts(1), ratio=ratio)

    def informative(self, *, ratio: bool) -> int:
        """Strata with five rows of both and a spread."""
        return homogeneity_test(self.used_parts(0), self.used_parts(1), ratio=ratio).informative

    def left_out(self) -> str:
        """Which strata are not used, with their rows; empty where all are."""
        kind = "clusters" if self.rows.clustered else "rows"
        return words_of_left_out(self.names, self.strata, self.n, self.used, f"two {kind} of both")

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        alone = np.array([place])
        parts = [sum_of_means(part.take(alone), np.ones(1)) for part in self.parts]
        means = [float(part.mean) for part in parts]
        values = [math.sqrt(mean) if self.root and mean >= 0 else mean for mean in means]
        estimate = math.nan
        limits = (math.nan, math.nan)
        if min(int(n[place]) for n in self.n) > 0:
            estimate = divided(*values) if ratio else values[0] - values[1]
        enough = min(float(part.size) for part in parts) >= UNITS_OF_SHAPE - 1e-9
        varies = enough and float(parts[0].variance) + float(parts[1].variance) > 0
        if varies and not (ratio and min(means) <= 0):
            contrast = contrast_of_means(parts[0], parts[1], ratio=ratio, root=self.root)
            limits = contrast.limits(z)
        return row_of_one_stratum(self, place, values, estimate, limits)


class PairNames(NamedTuple):
    """A group and what it is compared with, and the places of both among the groups of moments.

    `of_all`: compared with everybody, of whom the second place has all but the group.
    """

    names: tuple[str, str]
    places: tuple[int, int]
    of_all: bool = False

    def named(self, rows: MomentCounts) -> MomentCounts:
        """The rows of both by these names; those of everybody are all."""
        n = rows.n
        if self.of_all:
            n = np.array([n[0], n.sum()])
        return replace(rows, groups=self.names, n=n)


def names_of_pair(
    moments: StratumMoments, group: str, reference: str, comparisons: str = "reference"
) -> PairNames:
    """Where a group and its reference are; those of pooled groups stand behind the groups."""
    place = moments.groups.index(group)
    if comparisons not in POOLED:
        return PairNames((group, reference), (place, moments.groups.index(reference)))
    rest = len(moments.groups) // 2 + place
    return PairNames((group, reference), (place, rest), of_all=comparisons == "overall")


def rows_by_side(outcomes: Outcomes, comparisons: str) -> tuple[Outcomes, NDArray[np.intp] | None]:
    """The rows of every group, where groups are pooled also those of all others of each behind them;
    and where each row stood before, None if they are the same.
    """
    if comparisons not in POOLED:
        return outcomes, None
    return rows_beside_rests(outcomes)


def pair_within_strata(
    moments: StratumMoments, pair: PairNames, column: str, *, root: bool
) -> PairWithinStrata:
    """Both groups in all strata, and the weights of the strata that are used."""
    cells = moments.cells
    places = pair.places
    parts = []
    for place in places:
        parts.append(
            Moments(
                mean=moments._of_group(cells.means(column), place),
                variance=moments._of_group(cells.variance_of_mean(column), place),
                third=moments._of_group(cells.third_cumulant_of_mean(column), place),
                size=moments._of_group(cells.effective_units, place),
            )
        )
    fewest = np.minimum(parts[0].size, parts[1].size)
    used = np.asarray(fewest >= UNITS_OF_VARIANCE - 1e-9)
    n_of_cells = cells.n.reshape(len(moments.strata), len(moments.groups))
    pair_class = PairBesideAll if pair.of_all else PairWithinStrata
    return pair_class(
        names=pair.names,
        strata=moments.strata,
        parts=(parts[0], parts[1]),
        n=(n_of_cells[:, places[0]], n_of_cells[:, places[1]]),
        used=used,
        shares=shares_of_rows(moments, places, used),
        rows=pair.named(moments._pair(places[0], places[1], np.flatnonzero(used))),
        column=column,
        root=root,
        weights=(
            moments._of_group(cells.weights[0], places[0]),
            moments._of_group(cells.weights[0], places[1]),
        ),
        between=(
            between_strata(moments, column, places[0]),
            between_strata(moments, column, places[1]),
        ),
    )


@dataclass(frozen=True, eq=False)
class PairBesideAll(PairWithinStrata):
    """A group (position 0) beside everybody (1) in all strata, as `GroupValues`.

    The second of `parts` are all others. With f the share of the group in the weight of a stratum,
    everybody's mean there is f·m₁ + (1 − f)·m₀; both are summed with the weights ω of the group, so
    that the contrast is observed less, or by, expected.
    """

    def own_shares(self) -> Floats:
        """ω of the strata that are used: the group's weights."""
        return self.weights_of(0)

    def share_in_all(self) -> Floats:
        """The shares f in the strata that are used."""
        weight, others = (each[self.used] for each in self.weights)
        return np.asarray(weight / (weight + others))

    def of_group(self, slopes: Floats) -> Moments:
        """Σ c·m₁ over the strata, c the slopes."""
        return adjusted_mean(self.used_parts(0), slopes, self._between(0))

    def of_others(self, slopes: Floats) -> Moments:
        """Σ c·m₀ of all others."""
        return adjusted_mean(self.used_parts(1), slopes, self._between(1))

    def mean(self, position: int) -> Moments:
        """Moments of the group's mean, and of everybody's at its weights."""
        shares = self.own_shares()
        if position == 0:
            return self.of_group(shares)
        share = self.share_in_all()
        parts = (self.of_group(shares * share), self.of_others(shares * (1 - share)))
        columns = {}
        for name in ("mean", "variance", "third", "size"):
            columns[name] = np.array([float(getattr(part, name)) for part in parts])
        return sum_of_means(Moments(**columns), np.ones(2))

    def why_not(self, position: int, *, ratio: bool) -> str:
        """The same; a ratio needs a mean of all others, too: without one it is 1 over a share."""
        found = super().why_not(position, ratio=ratio)
        if found or not ratio or position == 0 or not self.used.any():
            return found
        if not float(self.of_others(self.own_shares()).mean) > 0:
            return f"all others than {self.names[0]} have the mean 0, so no ratio."
        return ""

    def contrast(self, group: int, reference: int, *, ratio: bool) -> NumberContrast:
        """Beside everybody; equality is that with all others."""
        if ratio:
            return self._ratio()
        if self.root:
            return self._difference_of_roots()
        slopes = self.own_shares() * (1 - self.share_in_all())
        return MeanDifference(self.of_group(slopes), self.of_others(slopes))

    def _ratio(self) -> ExpectedRatio:
        shares = self.own_shares()
        share = self.share_in_all()
        observed = float(self.mean(0).mean)
        expected = float(self.mean(1).mean)
        # of Σ ω·m₁/E, E = Σ ω·(f·m₁ + (1 − f)·m₀)
        by_group = self.of_group(shares * (expected - observed * share) / expected**2)
        by_others = self.of_others(shares * (1 - share) * observed / expected**2)

        def statistics(ratio: float) -> Statistics:
            return hall_statistics(
                self.of_group(shares * (1 - ratio * share)),
                self.of_others(shares * (1 - share)),
                ratio=ratio,
            )

        return ExpectedRatio(
            value=observed / expected,
            error=math.sqrt(float(by_group.variance) + float(by_others.variance)),
            of_ratio=statistics,
            largest=1 / float(share.min()),
            root=self.root,
        )

    def _difference_of_roots(self) -> PartContrast:
        shares = self.own_shares()
        share = self.share_in_all()
        own = self.mean(0)
        everybody = self.mean(1)
        values = (math.sqrt(float(own.mean)), math.sqrt(float(everybody.mean)))
        others = self.of_others(shares * (1 - share))
        from_group = 0.0
        from_others = 0.0
        # a root of 0 has no slope: all its errors are 0
        if min(values) > 0:
            slopes = shares * (1 / (2 * values[0]) - share / (2 * values[1]))
            from_group = float(self.of_group(slopes).variance)
            from_others = float(others.variance) / (4 * values[1] ** 2)
        # how far everybody's mean square moves with the group's: their covariance, over its variance
        apart = [float(self.of_group(shares * (1 + sign * share)).variance) for sign in (1, -1)]
        variance = float(own.variance)
        slope = (apart[0] - apart[1]) / (4 * variance) if variance > 0 else 0.0
        return roots_by_parts(own, others, everybody, slope, (from_group, from_others))

    def homogeneity(self, *, ratio: bool) -> Homogeneity | None:
        """None: a group is not as far from everybody in every stratum, where its share differs."""
        return None

    def row_of_stratum(self, place: int, z: float, *, ratio: bool) -> dict[str, Any]:
        """What a table says of one stratum."""
        alone = np.arange(len(self.strata)) == place
        pair = replace(self, used=alone, shares=np.ones(1))
        # rows without weight are counted, and have no mean
        has_both = min(float(weight[place]) for weight in self.weights) > 0
        values = [math.nan, math.nan]
        estimate = math.nan
        limits = (math.nan, math.nan)
        if has_both:
            values = [pair.value(0), pair.value(1)]
            estimate = divided(values[0], values[1]) if ratio else values[0] - values[1]
        sizes = [float(np.asarray(part.size)[place]) for part in self.parts]
        varies = has_both and min(sizes) >= UNITS_OF_SHAPE - 1e-9
        varies = varies and float(pair.mean(1).variance) > 0
        if varies and not (ratio and min(values) <= 0):
            limits = pair.contrast(0, 1, ratio=ratio).limits(z)
        row = row_of_one_stratum(self, place, values, estimate, limits)
        if self.used[place]:
            row["weight"] = float(self.own_shares()[int(self.used[:place].sum())])
        row["n_reference"] += row["n"]
        return row


def between_strata(moments: StratumMoments, column: str, group: int) -> BetweenStrata | None:
    """What the strata of a group share; None where its clusters lie in one each."""
    shared = moments.shared
    if shared is None:
        return None
    strata, groups = np.divmod(shared.places, len(moments.groups))
    own = groups[:, 0] == group
    if not own.any():
        return None
    first, second = strata[own].T
    cells = moments.cells
    total = moments._of_group(cells.weights[0], group)
    total = np.where(total > 0, total, 1.0)
    units = moments._of_group(cells.units.astype(np.float64), group)
    factor = np.sqrt(units / np.maximum(units - 1, 1))
    weights = np.diag(moments._of_group(cells.weights[1], group) / total**2)
    errors = np.diag(moments._of_group(cells.variance_of_mean(column), group))
    of_pairs = 1 / (total[first] * total[second])
    of_errors = shared.products[OF_ERRORS, cells.columns.index(column), own]
    for rows, columns in ((first, second), (second, first)):
        weights[rows, columns] = shared.weights[own] * of_pairs
        errors[rows, columns] = of_errors * of_pairs * factor[rows] * factor[columns]
    return BetweenStrata(weights=weights, errors=errors)


def shares_of_rows(
    moments: StratumMoments, places: tuple[int, int], used: NDArray[np.bool_]
) -> Floats:
    """Weights of Mantel and Haenszel of the strata that are used, by the rows of two groups."""
    if not used.any():
        return np.zeros(0)
    weights = [moments._of_group(moments.cells.weights[0], place)[used] for place in places]
    return mantel_haenszel_weights(weights[0], weights[1])


def divided(value: float, reference: float) -> float:
    """The ratio of two values; infinite, or none, by 0."""
    if reference == 0:
        return math.inf if value > 0 else math.nan
    return value / reference


def row_of_one_stratum(
    pair: WithinStrataOfPair,
    place: int,
    values: Sequence[float],
    estimate: float,
    limits: tuple[float, float],
) -> dict[str, Any]:
    """What a table says of one stratum: rows and values of both, its weight, and the contrast."""
    weight = 0.0
    if pair.used[place]:
        weight = float(pair.shares[int(pair.used[:place].sum())])
    return {
        "n": int(pair.n[0][place]),
        "value": values[0],
        "n_reference": int(pair.n[1][place]),
        "value_reference": values[1],
        "weight": weight,
        "estimate": estimate,
        "ci_low": limits[0],
        "ci_high": limits[1],
    }


def words_of_left_out(
    names: tuple[str, str],
    strata: tuple[str, ...],
    n: tuple[NDArray[np.int64], NDArray[np.int64]],
    used: NDArray[np.bool_],
    needs: str,
) -> str:
    """Which strata that have rows are not used, for want of what, and their rows."""
    has_rows = (n[0] > 0) | (n[1] > 0)
    unused = np.flatnonzero(has_rows & ~used)
    if not unused.size:
        return ""
    named = listed([strata[place] for place in unused.tolist()], _MOST_NAMES)
    rows_of_both = []
    for name, rows in zip(names, n, strict=True):
        rows_of_both.append(f"{int(rows[unused].sum()):,} of {int(rows.sum()):,} rows of {name}")
    return (
        f"{names[0]} against {names[1]}: left out {unused.size} of {int(has_rows.sum())} strata"
        f" without {needs} ({named}), with {' and '.join(rows_of_both)}."
    )
