"""The metrics of a comparison, oriented so that larger is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.um.definitions import RATES, parse_metric
from fairstats.methods.um.draws import in_blocks
from fairstats.methods.um.evaluate import evaluator, name_of
from fairstats.methods.um.joint import JointDraws

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Objectives", "as_objectives"]


@dataclass(frozen=True)
class Objectives:
    """Functions of the counts, larger better.

    Attributes
    ----------
    names, shorts : tuple of str
        In tables, and in names of events.
    functions : tuple of callable
        (counts (n, G, 4), reference) → (n,).
    between : tuple of bool
        Which of them compare groups.
    """

    names: tuple[str, ...]
    shorts: tuple[str, ...]
    functions: tuple[Callable[[Any, int], Any], ...]
    between: tuple[bool, ...]

    def check_groups(self, groups: tuple[str, ...]) -> None:
        """Raise where a fairness metric meets one group."""
        for name, between in zip(self.names, self.between, strict=True):
            if between and len(groups) < 2:
                raise InputError(
                    "metrics",
                    got=f"{name!r} with one group ({groups[0]!r})",
                    allowed="metrics of all rows, such as 'accuracy'",
                    cure="compute the posteriors of two groups or more",
                )

    def draws(self, joint: JointDraws) -> NDArray[np.float64]:
        """Draws of every objective of every algorithm, shape (n_draws, m, M)."""
        found = np.empty((joint.n_draws, len(joint.posteriors), len(self.names)))
        reference = joint.first.reference_index

        def fill(index: int, first: int, last: int) -> None:
            for k, counts in enumerate(joint.block(index, first, last)):
                for j, function in enumerate(self.functions):
                    found[first:last, k, j] = function(counts, reference)

        fill(0, 0, min(joint.n_draws, 2))  # what a thread would otherwise make first
        in_blocks(joint.n_draws, fill)
        return found


def as_objectives(metrics: Any) -> Objectives:
    """Objectives of names and functions.

    Raises
    ------
    InputError
        Unknown names, names that have no better or worse, the same name twice.
    """
    given = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    names = tuple(name_of(m) for m in given)
    if not given or len(set(names)) < len(names):
        raise InputError(
            "metrics", got=repr(names), allowed="one metric or more, each once", cure='("accuracy",)'
        )
    functions, shorts, between = [], [], []
    for metric in given:
        if callable(metric):
            functions.append(_one_value(evaluator(metric), name_of(metric)))
            shorts.append(name_of(metric))
            between.append(False)
            continue
        parsed = parse_metric(metric, argument="metrics", default="max")
        if not parsed.between_groups and RATES[parsed.rates[0]].better == 0:
            raise InputError(
                "metrics",
                got=repr(metric),
                allowed="metrics of which more is better or worse",
                cure="compare groups ('demographic_parity'), or pass a function that is larger when better",
            )
        functions.append(parsed.objective)
        shorts.append(parsed.short)
        between.append(parsed.between_groups)
    return Objectives(names, tuple(_shorts(shorts, between)), tuple(functions), tuple(between))


def _shorts(shorts: Sequence[str], between: Sequence[bool]) -> list[str]:
    """The paper's "fair" where there is one fairness metric; distinct in any case."""
    found = [
        "fair" if fairness and sum(between) == 1 else short
        for short, fairness in zip(shorts, between, strict=True)
    ]
    if len(set(found)) < len(found):
        found = [f"{short}{k + 1}" for k, short in enumerate(found)]
    return found


def _one_value(function: Callable[[Any, int], Any], name: str) -> Callable[[Any, int], Any]:
    def checked(counts: Any, reference: int) -> Any:
        values = function(counts, reference)
        if values.ndim != 1:
            raise InputError(
                "metrics",
                got=f"{name}, with values of shape {values.shape} for {len(counts)} draws",
                allowed="one number per draw",
                cure="pass one function per objective",
            )
        return values

    return checked
