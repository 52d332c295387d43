"""`TailSample`: the rows of one group that Algorithm 1 ended with, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.ecd.sample import GroupSample

__all__ = ["Look", "TailSample", "status_words"]


@serialisable
@dataclass(frozen=True)
class Look:
    """One look at the tail.

    Attributes
    ----------
    n : int
        Values looked at.
    statistic, pvalue : float
        Of the exponentiality test; no p-value for the paper's rules.
    alpha : float
        Level of this look.
    passed : bool
    reason : str
        Why there was nothing to test; empty otherwise.
    """

    n: int
    statistic: float
    pvalue: float
    alpha: float
    passed: bool
    reason: str


@serialisable
@dataclass(frozen=True, eq=False)
class TailSample(Result):
    """Rows of one group and the looks at their tail.

    Attributes
    ----------
    attribute : str
    sample : GroupSample
        Real rows first, then synthetic ones.
    looks : tuple of Look
    status : str
        "passed" (one look, or every one of those planned), "passed at the first look" of several allowed,
        "passed by stopping rule, no error guarantee", "not passed: …", or "degenerate: …".
    test, stop : str
    alpha : float
        Over all looks.
    max_looks, k_min, k_max : int
    generator : str
    seconds : float
    seed : int or None
    """

    title: ClassVar[str] = "Tail sample"

    attribute: str
    sample: GroupSample
    looks: tuple[Look, ...]
    status: str
    test: str
    stop: str
    alpha: float
    max_looks: int
    k_min: int
    k_max: int
    generator: str
    seconds: float
    seed: int | None

    @property
    def passed(self) -> bool:
        """Whether the tail was not shown heavier than exponential when sampling stopped."""
        return self.status.startswith("passed")

    def rows(self) -> list[dict[str, Any]]:
        """One row per look."""
        return [
            {
                "metric": "exponential tail",
                "group": self.sample.group,
                "statistic": look.statistic,
                "pvalue": look.pvalue,
                "n": look.n,
                "method": self.test,
                "backend": "numpy",
                "alpha": look.alpha,
                "passed": look.passed,
            }
            for look in self.looks
        ]

    def notes(self) -> list[str]:
        """How it ended, and what that means."""
        n, count = self.sample.n_synthetic, len(self.looks)
        made = f"{n:,} synthetic ones by {self.generator}" if n else "no synthetic ones"
        looks = f"{count} look{'' if count == 1 else 's'} of at most {self.max_looks}"
        if self.test == "max_cv":
            looks += f", each at level {self.alpha / self.max_looks:.3g}"
        lines = [
            f"{self.sample.group}: {self.status}. {self.sample.n_real:,} real rows and {made}, {looks}.",
        ]
        if self.passed:
            lines.append("Passing means: not shown heavier than exponential.")
        if n:
            lines.append(
                "With synthetic rows the tail is that of the generator's law, not of the population."
            )
        if self.test != "max_cv":
            lines.append("The paper's rule has no error level: see sample_tail for how often it passes.")
        return lines


def status_words(looks: Sequence[Look], ended: str, stop: str, max_looks: int) -> str:
    """How the sampling ended."""
    if not looks:
        return f"not passed: {ended} before the first look"
    last = looks[-1]
    if last.reason:
        return last.reason
    if stop == "all_looks":
        failed = sum(not look.passed for look in looks)
        if failed:
            return f"not passed: {failed} of {len(looks)} looks found it heavier than exponential"
        return "passed" if len(looks) == max_looks else f"not passed: {ended} after {len(looks)} looks"
    if last.passed:
        if len(looks) > 1:
            return "passed by stopping rule, no error guarantee"
        return "passed" if max_looks == 1 else "passed at the first look"
    return f"not passed: {ended}"
