"""A metric of rates of one model by itself, as it stands beside what changes between models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from fairstats.ground import results
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.errors import FairstatsWarning
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.registry import find_metric
from fairstats.ground.results import Comparison, Interval
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.paired_score import wilson_limits
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import make_settings


@serialisable
@dataclass(frozen=True, kw_only=True)
class ModelValue(results.Comparison):
    """A metric of one model, with its own interval and verdict."""

    model: str

    def row(self, backend: str) -> dict[str, Any]:
        """Row of the tidy table."""
        return {
            **super().row(backend),
            "model": self.model,
            "confidence_level": self.confidence_interval.confidence_level,
            "verdict": self.verdict,
            "note": self.note,
        }


def values_of(
    name: str, counts: ConfusionCounts, model: str, settings: Inference, reference: str
) -> Sequence[ModelValue]:
    """A metric of rates, or accuracy, of one model: by its usual method, with its verdict."""
    metric = find_metric(name)
    if metric is None:
        return list(_accuracy(counts, model, settings))
    ratio = metric.contrast == "ratio"
    limits = {"threshold": settings.threshold} if ratio else {"margin": settings.margin}
    kept = {key: getattr(settings, key) for key in ("confidence_level", "adjust", "comparisons")}
    own = make_settings(metric.contrast, {**limits, **kept})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the changes warn of the same
        result = compare_metric(metric, counts, own, reference, asked=False)
    return [_of_one(c, model) for c in result.comparisons]


def _of_one(c: Any, model: str) -> ModelValue:
    """A comparison of one model by itself."""
    return ModelValue(model=model, **{f.name: getattr(c, f.name) for f in fields(Comparison)})


def _accuracy(counts: Any, model: str, settings: Inference) -> Iterator[ModelValue]:
    """Accuracy per group, by Wilson's interval; under weights its estimate alone."""
    z = normal_quantile((1 + settings.confidence_level) / 2)
    for g, name in enumerate(counts.groups):
        right, cases = float(counts.total("tp", "tn")[g]), float(counts.totals[g].sum())
        ends = (float("nan"), float("nan"))
        if cases > 0 and not counts.weighted:
            ends = wilson_limits(right, cases, z, ratio=False)
        yield ModelValue(
            metric="accuracy",
            group=name,
            estimate=right / cases if cases > 0 else float("nan"),
            confidence_interval=Interval(*ends, settings.confidence_level, "Wilson"),
            n=int(counts.group_sizes[g]),
            method="Wilson",
            model=model,
        )
