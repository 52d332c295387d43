"""Several algorithms at once: who outperforms whom, and who is on the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.checks import without_undefined
from fairstats.methods.um.events import signs
from fairstats.methods.um.joint import JointDraws

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairstats.methods.um.objectives import Objectives

__all__ = ["UmRanking", "rank"]


@serialisable
@dataclass(frozen=True, eq=False)
class UmRanking(Result):
    """Probabilities among several algorithms.

    Attributes
    ----------
    names, metrics : tuple of str
    rope : tuple of float
    better : ndarray of float, shape (m, m)
        P(row ≫ column); 0 on the diagonal.
    front : ndarray of float, shape (m,)
        Probability that no other algorithm practically outperforms this one.
    n_draws : int
    undefined : float
        Share of the draws left out for 0/0.
    joint : JointDraws
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    rope: tuple[float, ...]
    better: NDArray[np.float64]
    front: NDArray[np.float64]
    n_draws: int
    undefined: float
    joint: JointDraws

    title: ClassVar[str] = "Uncertainty Matters: several algorithms"

    def matrix(self) -> pd.DataFrame:
        """P(row ≫ column)."""
        import pandas as pd

        return pd.DataFrame(self.better, index=list(self.names), columns=list(self.names))

    def pareto(self) -> pd.DataFrame:
        """Probability of being on the Pareto front: columns algorithm, probability, mc_error."""
        import pandas as pd

        rows = [row for row in self.rows() if row["event"] == "Pareto front"]
        return pd.DataFrame(
            [
                {"algorithm": r["group"], "probability": r["estimate"], "mc_error": r["std_error"]}
                for r in rows
            ]
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per ordered pair, then one per algorithm."""
        pairs = [
            (a, b, "≫", self.better[i, j])
            for i, a in enumerate(self.names)
            for j, b in enumerate(self.names)
            if i != j
        ]
        fronts = [(a, "", "Pareto front", p) for a, p in zip(self.names, self.front, strict=True)]
        nan = float("nan")
        return [
            {
                "metric": ", ".join(self.metrics),
                "group": a,
                "reference": b,
                "estimate": float(p),
                "std_error": float(np.sqrt(p * (1 - p) / self.n_draws)),
                **dict.fromkeys(("ci_low", "ci_high", "statistic", "pvalue", "pvalue_adjusted"), nan),
                "n": int(self.joint.first.counts.sizes.sum()),
                "method": "paired" if self.joint.paired else "independent",
                "backend": self.joint.first.engine,
                "event": event,
            }
            for a, b, event, p in [*pairs, *fronts]
        ]

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        return ["group", "event", "reference", "estimate", "std_error"]

    def notes(self) -> list[str]:
        """RoPE and pairing."""
        rope = ", ".join(f"{m} {w:g}" for m, w in zip(self.metrics, self.rope, strict=True))
        return [
            f"≫: better by more than ε in some metric, worse by more than ε in none; ε (RoPE): {rope}.",
            "Pareto front: no other algorithm ≫ this one.",
            self.joint.reason[0].upper() + self.joint.reason[1:] + ".",
        ]


def rank(
    joint: JointDraws, names: Sequence[str], objectives: Objectives, rope: tuple[float, ...]
) -> UmRanking:
    """P(row ≫ column) of all pairs, and of being outperformed by none."""
    every = objectives.draws(joint)
    known, undefined = without_undefined(every)
    m = len(names)
    better = np.zeros((m, m))
    beaten = np.zeros((len(known), m), dtype=bool)
    for i in range(m):
        for j in range(i):
            sign = signs(known[:, i] - known[:, j], rope)
            up, down = (sign > 0).any(axis=1), (sign < 0).any(axis=1)
            better[i, j], better[j, i] = (up & ~down).mean(), (down & ~up).mean()
            beaten[:, j] |= up & ~down
            beaten[:, i] |= down & ~up
    return UmRanking(
        names=tuple(names),
        metrics=objectives.names,
        rope=rope,
        better=better,
        front=1.0 - beaten.mean(axis=0),
        n_draws=len(known),
        undefined=undefined,
        joint=joint,
    )
