"""What `um_compare` returns for two algorithms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.definitions import metric_names
from fairstats.methods.um.events import Event
from fairstats.methods.um.joint import JointDraws

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["UmComparison"]


@serialisable
@dataclass(frozen=True, eq=False)
class UmComparison(Result):
    """Probabilities of the events of a comparison.

    Attributes
    ----------
    names : (str, str)
        The algorithms, A first.
    metrics, shorts : tuple of str
    rope : tuple of float
        ε per metric.
    hdr : float or None
        Level of the highest density region that the events are conditional on.
    events : tuple of Event
        What was asked for: conditional where `hdr` is given. They sum to 1.
    unconditional : tuple of Event
        The same over all draws.
    by_scale : tuple of (scale, events)
        At multiples of the RoPE.
    delta_mean, delta_sd : ndarray of float, shape (M,)
        Of ΔΘ, larger better for A.
    rope_share : ndarray of float, shape (M,)
        P(|Δ_j| ≤ ε_j) of each metric alone, over all draws.
    undefined : float
        Share of the draws left out for 0/0.
    joint : JointDraws
        The posteriors, and whether the draws are paired.
    region_backend : str
        What computed the region.
    """

    names: tuple[str, str]
    metrics: tuple[str, ...]
    shorts: tuple[str, ...]
    rope: tuple[float, ...]
    hdr: float | None
    events: tuple[Event, ...]
    unconditional: tuple[Event, ...]
    by_scale: tuple[tuple[float, tuple[Event, ...]], ...]
    delta_mean: NDArray[np.float64]
    delta_sd: NDArray[np.float64]
    rope_share: NDArray[np.float64]
    undefined: float
    joint: JointDraws
    region_backend: str = ""
    _delta: Any = field(default=None, init=False, repr=False)
    _region: Any = field(default=None, init=False, repr=False)

    title: ClassVar[str] = "Uncertainty Matters: comparison of two algorithms"

    @property
    def p_a_better(self) -> float:
        """P(A ≫ B): better in some metric, worse in none."""
        return self.events[0].probability

    @property
    def p_b_better(self) -> float:
        """P(B ≫ A)."""
        return self.events[1].probability

    @property
    def p_equivalent(self) -> float:
        """P(A ≈ B): equivalent in every metric."""
        return self.events[2].probability

    @property
    def paired(self) -> bool:
        """Whether the draws are paired by row."""
        return self.joint.paired

    @property
    def delta(self) -> NDArray[np.float64]:
        """Draws of ΔΘ, larger better for A, shape (n, M), without undefined ones.

        Raises
        ------
        InputError
            After a round trip through `to_dict`, where a metric was a function.
        """
        if self._delta is None:
            from fairstats.methods.um.objectives import as_objectives

            try:
                objectives = as_objectives(self.metrics)
            except InputError as problem:
                raise InputError(
                    "metrics",
                    got=f"{self.metrics}, read from a file",
                    allowed=", ".join(metric_names()) + "; functions are not stored",
                    cure="run um_compare again",
                ) from problem
            every = objectives.draws(self.joint)
            delta = every[:, 0] - every[:, 1]
            object.__setattr__(self, "_delta", delta[~np.isnan(delta).any(axis=1)])
        return np.asarray(self._delta)

    @property
    def given(self) -> str:
        """What the probabilities are conditional on; empty for nothing."""
        return "" if self.hdr is None else f"ΔΘ in its {100 * self.hdr:g}% HDR"

    def rows(self) -> list[dict[str, Any]]:
        """One row per event."""
        nan = float("nan")
        a, b = self.names
        return [
            {
                "metric": ", ".join(self.metrics),
                "group": a,
                "reference": b,
                "estimate": event.probability,
                "std_error": event.mc_error,
                "ci_low": nan,
                "ci_high": nan,
                "statistic": nan,
                "pvalue": nan,
                "pvalue_adjusted": nan,
                "n": int(self.joint.first.counts.sizes.sum()),
                "method": "paired" if self.paired else "independent",
                "backend": self.joint.first.engine,
                "event": event.name,
                "probability": event.probability,
                "mc_error": event.mc_error,
                "given": self.given,
                "n_draws": event.n_draws,
            }
            for event in self.events
        ]

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        return ["event", "probability", "mc_error", *(["given"] if self.hdr is not None else [])]

    def sensitivity(self) -> pd.DataFrame:
        """Probabilities at several sizes of the RoPE.

        Returns
        -------
        DataFrame
            One row per multiple of the RoPE: ``scale``, then one column per event.
        """
        import pandas as pd

        return pd.DataFrame(
            [{"scale": scale} | {e.name: e.probability for e in events} for scale, events in self.by_scale]
        ).fillna(0.0)

    def _range(self, event: int) -> tuple[float, float]:
        """Least and largest probability of one of the first three events over RoPE sizes."""
        found = [events[event].probability for _, events in self.by_scale]
        return min(found), max(found)

    def notes(self) -> list[str]:
        """RoPE, pairing, what a share in the RoPE is a share of."""
        a, b = self.names
        rope = ", ".join(f"{m} {w:g}" for m, w in zip(self.metrics, self.rope, strict=True))
        lines = [
            f"{a} is better where Δ > ε, worse where Δ < −ε, else equivalent; ε (RoPE): {rope}. Every "
            "metric is oriented so that larger is better; a fairness metric is minus its largest gap.",
            self.joint.reason[0].upper() + self.joint.reason[1:] + ".",
        ]
        shares = ", ".join(f"{m} {s:.3f}" for m, s in zip(self.metrics, self.rope_share, strict=True))
        equivalent = self.unconditional[2].probability
        lines.append(
            f"Share of all draws of Δ inside the RoPE, metric by metric: {shares}; all: {equivalent:.3f}."
        )
        ranges = [
            (f"P({name})", *self._range(k)) for k, name in enumerate((f"{a}≫{b}", f"{b}≫{a}", f"{a}≈{b}"))
        ]
        sizes = [scale for scale, _ in self.by_scale]
        lines.append(
            f"Over RoPEs of {sizes[0]:g} to {sizes[-1]:g} times this size: "
            + ", ".join(f"{name} {low:.2f} to {high:.2f}" for name, low, high in ranges)
            + "."
        )
        if self.hdr is not None:
            lines.append(
                f"Probabilities above are conditional on {self.given}: shares of the draws in that region "
                f"({self.region_backend}); of these draws {self.p_equivalent:.3f} lie inside the RoPE."
            )
        if self.undefined:
            lines.append(f"{self.undefined:.1%} of the draws were undefined (0/0) and left out.")
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ΔΘ with its RoPE and the events (the paper's figure 3), for two metrics."""
        from fairstats.plots.um import plot_comparison

        if self._region is None and len(self.metrics) == 2:
            from fairstats.numerics.hdr.region import hdr

            object.__setattr__(self, "_region", hdr(self.delta, self.hdr or 0.95))
        return plot_comparison(self, self._region, ax)
