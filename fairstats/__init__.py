"""Inference-grade algorithmic fairness: every figure with an interval and a test, in Python and R.

Every public name is loaded on first use, so that ``import fairstats`` costs little more than pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairstats._version import __version__

#: Public name → module that defines it.
_HOME = {
    "ConfusionCounts": "fairstats.ground.counts",
    "SelectionCounts": "fairstats.ground.counts",
    "PairedCounts": "fairstats.ground.counts",
    "FairstatsError": "fairstats.ground.errors",
    "FairstatsWarning": "fairstats.ground.errors",
    "InputError": "fairstats.ground.errors",
    "RatioResult": "fairstats.methods.rates.result",
    "DifferenceResult": "fairstats.methods.rates.result",
    "disparate_impact": "fairstats.methods.rates.ratios",
    "conditional_accuracy": "fairstats.methods.rates.ratios",
    "conditional_use_accuracy": "fairstats.methods.rates.ratios",
    "average_odds_difference": "fairstats.methods.rates.odds",
    "demographic_parity_difference": "fairstats.methods.rates.differences",
    "equal_opportunity_difference": "fairstats.methods.rates.odds",
    "equalized_odds_difference": "fairstats.methods.rates.odds",
    "predictive_parity_difference": "fairstats.methods.rates.differences",
    "MaximumResult": "fairstats.methods.rates.maxima",
    "ScoreCounts": "fairstats.ground.scores",
    "abroca": "fairstats.methods.rates.abroca",
    "AbrocaResult": "fairstats.methods.rates.abroca",
    "group_metric": "fairstats.methods.rates.group_metric",
    "compare_models": "fairstats.methods.rates.paired",
    "PairedResult": "fairstats.methods.rates.paired",
    "stratified_ratio": "fairstats.methods.rates.stratified",
    "StratifiedRatioResult": "fairstats.methods.rates.stratified",
    "power_ratio": "fairstats.methods.rates.planning",
    "sample_size_ratio": "fairstats.methods.rates.planning",
    "PowerResult": "fairstats.methods.rates.planning",
    "audit": "fairstats.report.audit",
    "AuditReport": "fairstats.report.report",
    "doctor": "fairstats.ground.doctor",
    "use_backend": "fairstats.ground.backends",
    "hdr": "fairstats.numerics.hdr.region",
    "HdrResult": "fairstats.numerics.hdr.result",
    "HdrRegion": "fairstats.numerics.hdr.result",
}
#: Public submodule → where it lives.
_SUBMODULES = {"datasets": "fairstats.datasets", "evt": "fairstats.numerics.evt"}

if TYPE_CHECKING:
    from fairstats import datasets as datasets
    from fairstats.ground.backends import use_backend as use_backend
    from fairstats.ground.counts import ConfusionCounts as ConfusionCounts
    from fairstats.ground.counts import PairedCounts as PairedCounts
    from fairstats.ground.counts import SelectionCounts as SelectionCounts
    from fairstats.ground.doctor import doctor as doctor
    from fairstats.ground.errors import FairstatsError as FairstatsError
    from fairstats.ground.errors import FairstatsWarning as FairstatsWarning
    from fairstats.ground.errors import InputError as InputError
    from fairstats.ground.scores import ScoreCounts as ScoreCounts
    from fairstats.methods.rates.abroca import AbrocaResult as AbrocaResult
    from fairstats.methods.rates.abroca import abroca as abroca
    from fairstats.methods.rates.differences import (
        average_odds_difference as average_odds_difference,
    )
    from fairstats.methods.rates.differences import (
        demographic_parity_difference as demographic_parity_difference,
    )
    from fairstats.methods.rates.differences import (
        equal_opportunity_difference as equal_opportunity_difference,
    )
    from fairstats.methods.rates.differences import (
        equalized_odds_difference as equalized_odds_difference,
    )
    from fairstats.methods.rates.differences import (
        predictive_parity_difference as predictive_parity_difference,
    )
    from fairstats.methods.rates.group_metric import group_metric as group_metric
    from fairstats.methods.rates.maxima import MaximumResult as MaximumResult
    from fairstats.methods.rates.paired import PairedResult as PairedResult
    from fairstats.methods.rates.paired import compare_models as compare_models
    from fairstats.methods.rates.planning import PowerResult as PowerResult
    from fairstats.methods.rates.planning import power_ratio as power_ratio
    from fairstats.methods.rates.planning import sample_size_ratio as sample_size_ratio
    from fairstats.methods.rates.ratios import conditional_accuracy as conditional_accuracy
    from fairstats.methods.rates.ratios import conditional_use_accuracy as conditional_use_accuracy
    from fairstats.methods.rates.ratios import disparate_impact as disparate_impact
    from fairstats.methods.rates.result import DifferenceResult as DifferenceResult
    from fairstats.methods.rates.result import RatioResult as RatioResult
    from fairstats.methods.rates.stratified import StratifiedRatioResult as StratifiedRatioResult
    from fairstats.methods.rates.stratified import stratified_ratio as stratified_ratio
    from fairstats.numerics import evt as evt
    from fairstats.numerics.hdr.region import hdr as hdr
    from fairstats.numerics.hdr.result import HdrRegion as HdrRegion
    from fairstats.numerics.hdr.result import HdrResult as HdrResult
    from fairstats.report.audit import audit as audit
    from fairstats.report.report import AuditReport as AuditReport

__all__ = ["__version__", *_HOME, *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(_SUBMODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'fairstats' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
