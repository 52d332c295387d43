"""Amplification: the disparate impact of the predictions against that of the labels, on the same people."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.counts import ConfusionCounts, PairedCounts
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.models.result import AMPLIFICATION, ModelComparison
from fairstats.methods.rates.models.work import compare_all
from fairstats.methods.rates.result import Inference
from fairstats.numerics.paired.change import PairedChange

#: Confusion cells (tp, fp, fn, tn) among label × label × prediction.
_PLACES = ("111", "001", "110", "000")
_WORDS = {"further from parity": "amplified", "closer to parity": "reduced"}


@serialisable(eq=False)
class AmplificationResult(ModelComparison):
    """Disparate impact of the predictions over that of the labels, with paired intervals.

    `before`, `after`: the ratio of base rates, and that of selection rates; the estimate is after / before.
    """

    title: ClassVar[str] = "Amplification: disparate impact of the predictions over that of the labels"

    def _sentence(self, c: PairedChange) -> str:
        who = f"{c.group} against {c.reference}"
        if c.verdict == "insufficient evidence":
            return f"{who}: insufficient evidence. {c.note}".strip()
        low, high = c.confidence_interval
        open_words = "the data do not settle whether the predictions are closer to parity than the labels"
        said = {
            "amplified": "the predictions are further from parity than the labels",
            "reduced": "the predictions are closer to parity than the labels",
        }.get(c.verdict, open_words)
        return (
            f"{who}: disparate impact {c.before:.3f} of the labels, {c.after:.3f} of the predictions, ratio "
            f"{c.estimate:.3f} ({self.settings.level_text} interval {low:.3f} to {high:.3f}): "
            f"{c.verdict}; {said}. {self._why(c)}"
        ).strip()

    def notes(self) -> list[str]:
        """Sentences below the table."""
        said = "The estimate is the ratio of both; its interval uses that they are of the same people."
        return [said, *sorted({c.note for c in self.comparisons if c.note})]


def amplification(counts: ConfusionCounts, reference: Hashable | None, settings: Inference) -> AmplificationResult:
    """Disparate impact of the predictions over that of the labels (paired ratio of ratios).

    Labels and predictions are two "models" of the same people: within a group the ratio of selection rate and
    base rate has the limits of Nam and Blackwelder's paired score test, and MOVER combines the groups, as in
    `compare_models`. "amplified" and "reduced" are said where the predictions are shown to be further from
    parity, or closer to it, in |log ratio|.

    `reference`: "highest" is the group with the highest selection rate.
    """
    mapping = np.zeros((4, 8))
    mapping[np.arange(4), [PairedCounts.cells.index(cell) for cell in _PLACES]] = 1.0
    table = counts.collapse(PairedCounts, mapping)
    asked: dict[str, Any] = {"metrics": "disparate_impact", "baseline": None, "reference": reference}
    asked |= {"settings": replace(settings, method="paired"), "rng": np.random.default_rng(0)}  # draws nothing
    found = compare_all(table, ("labels", "predictions"), **asked, chosen_by=1)
    changes = tuple(
        replace(c, metric=AMPLIFICATION, verdict=_WORDS.get(c.verdict, c.verdict)) for c in found.comparisons
    )
    kept = {f.name: getattr(found, f.name) for f in fields(found)}
    return AmplificationResult(**{**kept, "comparisons": changes})
