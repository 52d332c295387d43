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
    "madd": "fairstats.methods.madd.metric",
    "MaddResult": "fairstats.methods.madd.result",
    "madd_curve": "fairstats.methods.madd.curve",
    "MaddCurve": "fairstats.methods.madd.curve",
    "stable_bandwidth": "fairstats.methods.madd.stable",
    "StableBandwidth": "fairstats.methods.madd.stable",
    "MaddMitigator": "fairstats.methods.madd.mitigator",
    "MitigationResult": "fairstats.methods.madd.mitigation",
    "um_compare": "fairstats.methods.um.comparison",
    "um_cross_validate": "fairstats.methods.um.cross_validation",
    "um_hierarchical": "fairstats.methods.um.hierarchical",
    "um_model": "fairstats.methods.um.model",
    "um_multiclass": "fairstats.methods.um.multiclass",
    "UmMulticlass": "fairstats.methods.um.multiclass",
    "UmComparison": "fairstats.methods.um.comparison_result",
    "UmRanking": "fairstats.methods.um.ranking",
    "um_posterior": "fairstats.methods.um.posterior",
    "UmPosterior": "fairstats.methods.um.result",
    "approx_set_distance": "fairstats.methods.hfm.approx",
    "discriminative_risk": "fairstats.methods.hfm.risk",
    "DiscriminativeRiskResult": "fairstats.methods.hfm.risk_result",
    "hfm": "fairstats.methods.hfm.metric",
    "HfmResult": "fairstats.methods.hfm.result",
    "select_model": "fairstats.methods.hfm.selection",
    "rank_rules": "fairstats.methods.hfm.selection",
    "RankingResult": "fairstats.methods.hfm.selection",
    "set_distance": "fairstats.methods.hfm.set_distance",
    "SetDistance": "fairstats.methods.hfm.set_distance",
    "counterfactual_discrimination": "fairstats.methods.ecd.discrimination",
    "CounterfactualSample": "fairstats.methods.ecd.sample",
    "ecd": "fairstats.methods.ecd.ecd",
    "EcdResult": "fairstats.methods.ecd.result",
    "sample_tail": "fairstats.methods.ecd.sampling",
    "EcdSearch": "fairstats.methods.ecd.search",
    "scott_knott": "fairstats.methods.ecd.scott_knott",
    "ScottKnott": "fairstats.methods.ecd.scott_knott",
    "synthetic_quality": "fairstats.methods.ecd.quality",
    "SyntheticQuality": "fairstats.methods.ecd.quality",
    "TailSample": "fairstats.methods.ecd.tail_sample",
    "audit": "fairstats.report.audit",
    "AuditReport": "fairstats.report.report",
    "crosscheck": "fairstats.report.crosscheck.run",
    "Crosscheck": "fairstats.report.crosscheck.table",
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
    from fairstats.methods.ecd.discrimination import (
        counterfactual_discrimination as counterfactual_discrimination,
    )
    from fairstats.methods.ecd.ecd import ecd as ecd
    from fairstats.methods.ecd.quality import SyntheticQuality as SyntheticQuality
    from fairstats.methods.ecd.quality import synthetic_quality as synthetic_quality
    from fairstats.methods.ecd.result import EcdResult as EcdResult
    from fairstats.methods.ecd.sample import CounterfactualSample as CounterfactualSample
    from fairstats.methods.ecd.sampling import sample_tail as sample_tail
    from fairstats.methods.ecd.scott_knott import ScottKnott as ScottKnott
    from fairstats.methods.ecd.scott_knott import scott_knott as scott_knott
    from fairstats.methods.ecd.search import EcdSearch as EcdSearch
    from fairstats.methods.ecd.tail_sample import TailSample as TailSample
    from fairstats.methods.hfm.approx import approx_set_distance as approx_set_distance
    from fairstats.methods.hfm.metric import hfm as hfm
    from fairstats.methods.hfm.result import HfmResult as HfmResult
    from fairstats.methods.hfm.risk import discriminative_risk as discriminative_risk
    from fairstats.methods.hfm.risk_result import DiscriminativeRiskResult as DiscriminativeRiskResult
    from fairstats.methods.hfm.selection import RankingResult as RankingResult
    from fairstats.methods.hfm.selection import rank_rules as rank_rules
    from fairstats.methods.hfm.selection import select_model as select_model
    from fairstats.methods.hfm.set_distance import SetDistance as SetDistance
    from fairstats.methods.hfm.set_distance import set_distance as set_distance
    from fairstats.methods.madd.curve import MaddCurve as MaddCurve
    from fairstats.methods.madd.curve import madd_curve as madd_curve
    from fairstats.methods.madd.metric import madd as madd
    from fairstats.methods.madd.mitigation import MitigationResult as MitigationResult
    from fairstats.methods.madd.mitigator import MaddMitigator as MaddMitigator
    from fairstats.methods.madd.result import MaddResult as MaddResult
    from fairstats.methods.madd.stable import StableBandwidth as StableBandwidth
    from fairstats.methods.madd.stable import stable_bandwidth as stable_bandwidth
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
    from fairstats.methods.um.comparison import um_compare as um_compare
    from fairstats.methods.um.comparison_result import UmComparison as UmComparison
    from fairstats.methods.um.cross_validation import um_cross_validate as um_cross_validate
    from fairstats.methods.um.hierarchical import um_hierarchical as um_hierarchical
    from fairstats.methods.um.model import um_model as um_model
    from fairstats.methods.um.multiclass import UmMulticlass as UmMulticlass
    from fairstats.methods.um.multiclass import um_multiclass as um_multiclass
    from fairstats.methods.um.posterior import um_posterior as um_posterior
    from fairstats.methods.um.ranking import UmRanking as UmRanking
    from fairstats.methods.um.result import UmPosterior as UmPosterior
    from fairstats.numerics import evt as evt
    from fairstats.numerics.hdr.region import hdr as hdr
    from fairstats.numerics.hdr.result import HdrRegion as HdrRegion
    from fairstats.numerics.hdr.result import HdrResult as HdrResult
    from fairstats.report.audit import audit as audit
    from fairstats.report.crosscheck.run import crosscheck as crosscheck
    from fairstats.report.crosscheck.table import Crosscheck as Crosscheck
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
