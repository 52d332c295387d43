"""Inference-grade algorithmic fairness: every figure with an interval and a test, in Python and R.

Every public name is loaded on first use, so that ``import fairstats`` costs little more than pandas; result
classes are in `fairstats.results`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairstats._version import __version__

#: Module → the public names that it defines.
_NAMES: dict[str, tuple[str, ...]] = {
    "ground.backends": ("use_backend",),
    "ground.engines.sql": ("tally_sql",),
    "ground.counts": ("ConfusionCounts",),
    "ground.doctor": ("doctor",),
    "ground.errors": ("FairstatsError", "FairstatsWarning", "InputError"),
    "ground.tally": ("Tally", "tally"),
    "methods.ecd.discrimination": ("counterfactual_discrimination",),
    "methods.ecd.ecd": ("ecd",),
    "methods.ecd.quality": ("synthetic_quality",),
    "methods.ecd.sampling": ("sample_tail",),
    "methods.ecd.scott_knott": ("scott_knott",),
    "methods.ecd.search": ("EcdSearch",),
    "methods.hfm.approx": ("approx_set_distance",),
    "methods.hfm.experiment": ("hfm_experiment",),
    "methods.hfm.metric": ("hfm",),
    "methods.hfm.risk": ("discriminative_risk",),
    "methods.hfm.selection": ("rank_rules", "select_model"),
    "methods.hfm.set_distance": ("set_distance",),
    "methods.madd.curve": ("madd_curve", "stable_bandwidth"),
    "methods.madd.metric": ("madd",),
    "methods.madd.mitigator": ("MaddMitigator",),
    "methods.rates.abroca": ("abroca",),
    "methods.rates.differences": (
        "average_odds_difference",
        "demographic_parity_difference",
        "equal_opportunity_difference",
        "equalized_odds_difference",
        "predictive_parity_difference",
    ),
    "methods.rates.employment.adverse_impact": ("adverse_impact",),
    "methods.rates.group_metric": ("group_metric",),
    "methods.rates.models.compare": ("compare_models",),
    "methods.rates.planning": ("power_ratio", "sample_size_ratio"),
    "methods.rates.ratios": ("conditional_accuracy", "conditional_use_accuracy", "disparate_impact"),
    "methods.rates.stratified": ("stratified_ratio",),
    "methods.um.comparison": ("um_compare",),
    "methods.um.cross_validation": ("um_cross_validate",),
    "methods.um.estimators": ("um_compare_estimators",),
    "methods.um.posterior": ("um_hierarchical", "um_multiclass", "um_posterior"),
    "methods.um.pymc_models": ("um_model",),
    "numerics.hdr.region": ("hdr",),
    "report.audit": ("audit",),
    "report.choose": ("choose_metric",),
    "report.crosscheck.run": ("crosscheck",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
#: Public submodule → where it lives.
_SUBMODULES = {"datasets": "datasets", "evt": "numerics.evt", "results": "results"}

__all__ = ["__version__", *_HOME, *_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"fairstats.{_SUBMODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'fairstats' has no attribute {name!r}")
    value = getattr(import_module(f"fairstats.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
