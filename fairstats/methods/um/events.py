"""Events between algorithms (the paper's section 3): better, worse or equivalent; the ranking of several."""

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
from fairstats.methods.um.draws import without_undefined
from fairstats.methods.um.joint import JointDraws
from fairstats.methods.um.metrics import Objectives
from fairstats.methods.um.result import NO_INTERVAL, NO_TEST

#: A difference this little above the RoPE is on its boundary.
TOLERANCE = 1e-12
#: Patterns of more metrics than this are listed only where they occur.
_LISTED = 3


@serialisable(kw_only=True)
class Event(Comparison):
    """Probability of an event between two algorithms, `group` and `reference`.

    `event` is "A≫B", "B≫A", "A≈B", or the pattern of a mixed event such as "A_acc, B_fair"; `estimate` its probability,
    the share of the `n_draws` draws, and `std_error` the Monte Carlo error; `given` what it is conditional on.
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
    return ", ".join(f"{name} {value:{form}}" for name, value in zip(names, values, strict=True))


def event(name: str, share: float, draws: int, /, **about: Any) -> Event:
    """An event with the Monte Carlo error of its share of `draws`; `about` as in `Comparison`."""
    error = float(np.sqrt(share * (1 - share) / draws))
    return Event(event=name, estimate=float(share), std_error=error, n_draws=draws, **about)


def signs(delta: Floats, rope: Sequence[float]) -> NDArray[np.int64]:
    """1 where A is better by more than ε, −1 where B is, 0 where |Δ| ≤ ε, shape (n, M)."""
    width = np.asarray(rope) + TOLERANCE
    return (delta > width).astype(np.int64) - (delta < -width)


def event_name(pattern: Sequence[int], names: tuple[str, str], shorts: Sequence[str]) -> str:
    """The event of a pattern of signs: A better somewhere and worse nowhere, mirrored, both, or neither."""
    a, b = names
    if 1 in pattern and -1 in pattern:
        owner = {1: a, -1: b, 0: "≈"}
        return ", ".join(f"{owner[sign]}_{short}" for sign, short in zip(pattern, shorts, strict=True))
    return f"{a}≫{b}" if 1 in pattern else f"{b}≫{a}" if -1 in pattern else f"{a}≈{b}"


def probabilities(
    delta: Floats, rope: Sequence[float], names: tuple[str, str], shorts: Sequence[str], **about: Any
) -> tuple[Event, ...]:
    """Probability of every event, of draws `delta` (n, M) of ΔΘ without NaN; they partition, so that the sum is 1."""
    n, m = delta.shape
    codes = np.ravel_multi_index(list(1 - signs(delta, rope).T), (3,) * m)
    counts = np.bincount(codes, minlength=3**m).tolist()
    a, b = names
    totals = {f"{a}≫{b}": 0, f"{b}≫{a}": 0, f"{a}≈{b}": 0}
    for pattern, count in zip(product((1, 0, -1), repeat=m), counts, strict=True):
        name = event_name(pattern, names, shorts)
        if count or name in totals or m <= _LISTED:
            totals[name] = totals.get(name, 0) + count
    return tuple(event(k, v / n, n, group=a, reference=b, **about) for k, v in totals.items())


@serialisable(eq=False)
class UmRanking(Result):
    """Probabilities among several algorithms.

    `better`, shape (m, m), is P(row ≫ column), 0 on the diagonal; `front`, shape (m,), the probability that no other
    algorithm practically outperforms this one; `undefined` the share of the draws left out for 0/0. `events` has every
    event of every pair, the earlier algorithm first; those of a pair sum to 1.
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
    lacks: ClassVar[dict[str, str]] = {**NO_TEST, **NO_INTERVAL, "plot": "its table is in .matrix()"}

    @property
    def backend(self) -> str:
        """What drew."""
        return self.joint.first.backend

    @property
    def comparisons(self) -> tuple[Event, ...]:
        """One row per ordered pair, P(group ≫ reference), then one per algorithm, its place on the front."""
        about, n = {"metric": ", ".join(self.metrics), **self.joint.about}, self.n_draws
        named = list(enumerate(self.names))
        pairs = (
            event("≫", self.better[i, j], n, group=a, reference=b, **about) for (i, a), (j, b) in permutations(named, 2)
        )
        return *pairs, *(event("Pareto front", self.front[i], n, group=a, **about) for i, a in named)

    def __getitem__(self, algorithm: Any) -> Event:
        """The row of a pair ``(a, b)``, or an algorithm's place on the Pareto front."""
        return super().__getitem__(algorithm if isinstance(algorithm, tuple) else (algorithm, ""))  # type: ignore[no-any-return]

    def sentences(self) -> list[str]:
        """One sentence per row."""
        return [
            f"P({row.group} ≫ {row.reference}) = {row.estimate:.3f}."
            if row.reference
            else f"{row.group} is outperformed by none with probability {row.estimate:.3f}."
            for row in self.comparisons
        ]

    def matrix(self) -> pd.DataFrame:
        """P(row ≫ column)."""
        return pd.DataFrame(self.better, index=list(self.names), columns=list(self.names))

    def pareto(self) -> pd.DataFrame:
        """Probability of being on the Pareto front: columns algorithm, probability, mc_error."""
        rows = [self[name] for name in self.names]
        return pd.DataFrame([{"algorithm": r.group, "probability": r.estimate, "mc_error": r.std_error} for r in rows])

    def ranking(self) -> pd.DataFrame:
        """The algorithms by how much more often they outperform than they are outperformed.

        Columns algorithm, outperforms and outperformed (means of P(≫) over the others), net (by which they go), front.
        """
        up, down = (self.better.sum(axis=k) / (len(self.names) - 1) for k in (1, 0))
        columns = {"outperforms": up, "outperformed": down, "net": up - down, "front": self.front}
        table = pd.DataFrame({"algorithm": self.names, **columns})
        return table.sort_values("net", ascending=False, kind="stable", ignore_index=True)

    def notes(self) -> list[str]:
        """RoPE and pairing."""
        return [
            "≫: better by more than ε in some metric, worse by more than ε in none; "
            f"ε (RoPE): {by_name(self.metrics, self.rope)}.",
            "Pareto front: no other algorithm ≫ this one.",
            self.joint.note,
        ]


def rank(joint: JointDraws, names: Sequence[str], objectives: Objectives, rope: tuple[float, ...]) -> UmRanking:
    """P(row ≫ column) of all pairs, and of being outperformed by none."""
    known, undefined = without_undefined(joint._objectives(objectives))
    m = len(names)
    better, beaten = np.zeros((m, m)), np.zeros((len(known), m), dtype=bool)
    about = {"metric": ", ".join(objectives.names), **joint.about}
    events: list[Event] = []
    for i, j in combinations(range(m), 2):
        delta = known[:, i] - known[:, j]
        events += probabilities(delta, rope, (names[i], names[j]), objectives.shorts, **about)
        sign = signs(delta, rope)
        up, down = (sign > 0).any(axis=1), (sign < 0).any(axis=1)
        for k, other, wins in ((i, j, up & ~down), (j, i, down & ~up)):
            better[k, other] = wins.mean()
            beaten[:, other] |= wins
    return UmRanking(
        names=tuple(names), metrics=objectives.names, rope=rope, better=better, front=1.0 - beaten.mean(axis=0),
        n_draws=len(known), undefined=undefined, joint=joint, events=tuple(events),
    )  # fmt: skip
