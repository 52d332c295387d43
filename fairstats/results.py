"""Every result class, and what results are made of; each is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Module → the classes that it defines.
_NAMES: dict[str, tuple[str, ...]] = {
    "ground.counts": ("PairedCounts", "SelectionCounts"),
    "ground.results": ("Comparison", "HypothesisTest", "Interval", "Result"),
    "ground.scores": ("ScoreCounts",),
    "methods.ecd.quality": ("SyntheticQuality",),
    "methods.ecd.result": ("EcdResult",),
    "methods.ecd.sample": ("CounterfactualSample",),
    "methods.ecd.sampling": ("TailSample",),
    "methods.ecd.scott_knott": ("ScottKnott",),
    "methods.hfm.experiment": ("HfmExperiment",),
    "methods.hfm.result": ("HfmResult",),
    "methods.hfm.risk": ("DiscriminativeRiskResult",),
    "methods.hfm.selection": ("RankingResult",),
    "methods.hfm.set_distance": ("SetDistance",),
    "methods.madd.curve": ("MaddCurve", "StableBandwidth"),
    "methods.madd.mitigation": ("MitigationResult",),
    "methods.madd.result": ("MaddResult",),
    "methods.rates.abroca": ("AbrocaResult",),
    "methods.rates.employment.result": ("AdverseImpact",),
    "methods.rates.models.amplification": ("AmplificationResult",),
    "methods.rates.maxima": ("MaximumResult",),
    "methods.rates.models.result": ("ModelComparison",),
    "methods.rates.planning": ("PowerResult",),
    "methods.rates.result": ("ComparisonResult", "DifferenceResult", "RatioResult"),
    "methods.rates.stratified": ("StratifiedRatioResult",),
    "methods.um.comparison": ("UmComparison",),
    "methods.um.estimators": ("UmEstimators",),
    "methods.um.events": ("UmRanking",),
    "methods.um.result": ("UmPosterior",),
    "numerics.evt.clusters": ("ExtremalIndex",),
    "numerics.evt.covariates": ("ConditionalLevel", "CovariateFit"),
    "numerics.evt.diagnostics": ("GoodnessOfFit", "MeanResidualLife"),
    "numerics.evt.profile": ("Endpoint", "ExceedanceProbability", "ProfileCurve", "ShapeTest"),
    "numerics.evt.result": ("EvtFit",),
    "numerics.evt.return_levels": ("ReturnLevel", "ReturnLevels"),
    "numerics.evt.tail": ("FittedTail", "TailEstimate", "TailTest"),
    "numerics.evt.tail_types": ("ExponentialityTest", "TailType"),
    "numerics.evt.thresholds": ("ThresholdChoice", "ThresholdStability"),
    "numerics.hdr.result": ("HdrRegion", "HdrResult"),
    "report.crosscheck.table": ("Crosscheck",),
    "report.report": ("AuditReport",),
    "report.sections.rates": ("WorstCaseResult",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairstats.results' has no attribute {name!r}")
    value = getattr(import_module(f"fairstats.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
