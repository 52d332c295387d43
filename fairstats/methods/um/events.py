"""Events between algorithms (the paper's section 3): better, worse or equivalent.

The ranking of several.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.lazy import pd
from fairstats.ground.results import Comparison, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.draws import TOLERANCE, without_undefined
from fairstats.methods.um.joint import JointDraws
from fairstats.methods.um.metrics import Objectives
from fairstats.methods.um.result import NO_INTERVAL, NO_TEST

#: Patterns of more metrics than this are listed only where they occur.
_LISTED = 3


@serialisable(kw_only=True)
class Event(Comparison):
    """Probability of an event between two algorithms, `group` and `reference`.

    `event` is "A≫B", "B≫A", "A≈B", or the pattern of a mixed event such as "A_acc, B_fair";
    `estimate` its probability, the share of the `n_draws` draws, and `std_error` the Monte Carlo
    error; `given` what it is conditional on.
    """

    further: ClassVar[tuple[str, ...]] = ("event", "probability", "mc_error", "given", "n_draws")

    event: str
    given: str = ""
    n_draws: int = 0

    @property
    def name(self) -> str:
        """The event."""
        return self.event

    @property
    def probability(self) -> float:
        """Share of the draws."""
        return self.estimate

    @property
    def mc_error(self) -> float:
        """Monte Carlo standard error of the probability."""
        return self.std_error


def by_name(names: Sequence[str], values: Any, form: str = "g") -> str:
    """Names with their numbers, in words."""
    return ", ".join(f"{name} {number:{form}}" for name, number in zip(names, values, strict=True))


def event(name: str, share: float, draws: int, /, **about: Any) -> Event:
    """An event with the Monte Carlo error of its share of `draws`; `about` as in `Comparison`."""
    mc_error = float(np.sqrt(share * (1 - share) / draws))
    return Event(event=name, estimate=float(share), std_error=mc_error, n_draws=draws, **about)


def signs(delta: Floats, rope: Sequence[float]) -> NDArray[np.int64]:
    """1 where A is better by more than ε, −1 where B is, 0 where |Δ| ≤ ε, ties included, shape (n,
    M).
    """
    half_widths = np.asarray(rope) + TOLERANCE
    return (delta > half_widths).astype(np.int64) - (delta < -half_widths)


def event_name(pattern: Sequence[int], names: tuple[str, str], shorts: Sequence[str]) -> str:
    """The event of a pattern of signs.

    A better somewhere and worse nowhere, mirrored, both, or neither.
    """
    first_name, second_name = names
    if 1 in pattern and -1 in pattern:
        better_name = {1: first_name, -1: second_name, 0: "≈"}
        return ", ".join(
            f"{better_name[direction]}_{short_name}"
            for direction, short_name in zip(pattern, shorts, strict=True)
        )
    if 1 in pattern:
        return f"{first_name}≫{second_name}"
    if -1 in pattern:
        return f"{second_name}≫{first_name}"
    return f"{first_name}≈{second_name}"


def probabilities(
    delta: Floats,
    rope: Sequence[float],
    names: tuple[str, str],
    shorts: Sequence[str],
    **about: Any,
) -> tuple[Event, ...]:
    """Probability of every event, of draws `delta` (n, M) of ΔΘ without NaN.

    They partition, so that the sum is 1.
    """
    n_draws, n_metrics = delta.shape
    pattern_codes = np.ravel_multi_index(list(1 - signs(delta, rope).T), (3,) * n_metrics)
    counts = np.bincount(pattern_codes, minlength=3**n_metrics).tolist()
    first_name, second_name = names
    totals = {
        f"{first_name}≫{second_name}": 0,
        f"{second_name}≫{first_name}": 0,
        f"{first_name}≈{second_name}": 0,
    }
    for pattern, n_of_pattern in zip(product((1, 0, -1), repeat=n_metrics), counts, strict=True):
        name_of_event = event_name(pattern, names, shorts)
        if n_of_pattern or name_of_event in totals or n_metrics <= _LISTED:
            totals[name_of_event] = totals.get(name_of_event, 0) + n_of_pattern
    result = []
    for each_event, n_of_event in totals.items():
        result.append(
            event(
                each_event,
                n_of_event / n_draws,
                n_draws,
                group=first_name,
                reference=second_name,
                **about,
            )
        )
    return tuple(result)


@serialisable(eq=False)
class UmRanking(Result):
    """Probabilities among several algorithms.

    `better`, shape (m, m), is P(row ≫ column), 0 on the diagonal; `front`, shape (m,), the
    probability that no other algorithm practically outperforms this one; `undefined` the share of
    the draws left out for 0/0. `events` has every event of every pair, the earlier algorithm first;
    those of a pair sum to 1.
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    rope: tuple[float, ...]
    better: NDArray[np.float64]
    front: NDArray[np.float64]
    n_draws: int
    undefined: float
    joint: JointDraws
    events: tuple[Event, ...] = ()

    title: ClassVar[str] = "Uncertainty Matters: several algorithms"
    _shown: ClassVar[tuple[str, ...]] = ("group", "event", "reference", "estimate", "std_error")
    lacks: ClassVar[dict[str, str]] = {
        **NO_TEST,
        **NO_INTERVAL,
        "plot": "its table is in .matrix()",
    }

    @property
    def backend(self) -> str:
        """What drew."""
        return self.joint.first.backend

    @property
    def comparisons(self) -> tuple[Event, ...]:
        """One row per ordered pair, P(group ≫ reference), then one per algorithm, its place on the
        front.
        """
        row_fields = {"metric": ", ".join(self.metrics), **self.joint.about}
        n_draws = self.n_draws
        numbered_names = list(enumerate(self.names))
        ordered_pairs = (
            event(
                "≫",
                self.better[row_index, column_index],
                n_draws,
                group=row_name,
                reference=column_name,
                **row_fields,
            )
            for (row_index, row_name), (column_index, column_name) in permutations(
                numbered_names, 2
            )
        )
        return *ordered_pairs, *(
            event("Pareto front", self.front[row_index], n_draws, group=row_name, **row_fields)
            for row_index, row_name in numbered_names
        )

    def __getitem__(self, algorithm: Any) -> Event:
        """The row of a pair ``(a, b)``, or an algorithm's place on the Pareto front."""
        return super().__getitem__(algorithm if isinstance(algorithm, tuple) else (algorithm, ""))  # type: ignore[no-any-return]

    def sentences(self) -> list[str]:
        """One sentence per row."""
        result: list[str] = []
        for event_row in self.comparisons:
            result.append(
                f"P({event_row.group} ≫ {event_row.reference}) = {event_row.estimate:.3f}."
                if event_row.reference
                else f"{event_row.group} is outperformed by none with probability {event_row.estimate:.3f}."
            )
        return result

    def matrix(self) -> pd.DataFrame:
        """P(row ≫ column)."""
        return pd.DataFrame(self.better, index=list(self.names), columns=list(self.names))

    def pareto(self) -> pd.DataFrame:
        """Probability of being on the Pareto front: columns algorithm, probability, mc_error."""
        front_rows = [self[algorithm] for algorithm in self.names]
        return pd.DataFrame(
            [
                {
                    "algorithm": front_row.group,
                    "probability": front_row.estimate,
                    "mc_error": front_row.std_error,
                }
                for front_row in front_rows
            ]
        )

    def ranking(self) -> pd.DataFrame:
        """The algorithms by how much more often they outperform than they are outperformed.

        Columns algorithm, outperforms and outperformed (means of P(≫) over the others), net (by
        which they go), front.
        """
        outperforms, outperformed = (
            self.better.sum(axis=axis) / (len(self.names) - 1) for axis in (1, 0)
        )
        columns = {
            "outperforms": outperforms,
            "outperformed": outperformed,
            "net": outperforms - outperformed,
            "front": self.front,
        }
        table = pd.DataFrame({"algorithm": self.names, **columns})
        return table.sort_values("net", ascending=False, kind="stable", ignore_index=True)

    def notes(self) -> list[str]:
        """RoPE and pairing."""
        return [
            "≫: better by more than ε in some metric, worse by more than ε in none; "
            f"ε (RoPE): {by_name(self.metrics, self.rope)}.",
            "Pareto front: no other algorithm ≫ this one.",
            *self.joint._notes_about(self.names),
        ]


def rank(
    joint: JointDraws,
    names: Sequence[str],
    objectives: Objectives,
    rope: tuple[float, ...],
) -> UmRanking:
    """P(row ≫ column) of all pairs, and of being outperformed by none."""
    defined_draws, undefined = without_undefined(joint._draw_objectives(objectives))
    n_algorithms = len(names)
    better = np.zeros((n_algorithms, n_algorithms))
    beaten = np.zeros((len(defined_draws), n_algorithms), dtype=bool)
    row_fields = {"metric": ", ".join(objectives.names), **joint.about}
    events: list[Event] = []
    for first_index, second_index in combinations(range(n_algorithms), 2):
        differences = defined_draws[:, first_index] - defined_draws[:, second_index]
        events += probabilities(
            differences,
            rope,
            (names[first_index], names[second_index]),
            objectives.shorts,
            **row_fields,
        )
        directions = signs(differences, rope)
        better_somewhere = (directions > 0).any(axis=1)
        worse_somewhere = (directions < 0).any(axis=1)
        for winner, loser, wins in (
            (first_index, second_index, better_somewhere & ~worse_somewhere),
            (second_index, first_index, worse_somewhere & ~better_somewhere),
        ):
            better[winner, loser] = wins.mean()
            beaten[:, loser] |= wins
    return UmRanking(
        names=tuple(names),
        metrics=objectives.names,
        rope=rope,
        better=better,
        front=1.0 - beaten.mean(axis=0),
        n_draws=len(defined_draws),
        undefined=undefined,
        joint=joint,
        events=tuple(events),
    )
