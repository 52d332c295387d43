"""How every public function is called with data that it takes.

The fuzz test spoils an argument or two.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from tests.fuzz.odd import OnlyPredict

#: Rows of every table.
N = 24


@dataclass(frozen=True)
class Call:
    """A public function with arguments that it takes.

    `good`: argument → value; `family`: whose cases it shares; `always`: arguments of which one is
    always spoiled, where a good call would take seconds or start R; `weight`: share among its
    family."""

    family: str
    function: Callable[..., Any]
    good: dict[str, Any] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    weight: float = 1.0


class Constant:
    """A classifier of scikit-learn's kind, cheap to fit and to clone."""

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"share": self.share}

    def set_params(self, **params: Any) -> Constant:
        self.share = params.get("share", self.share)
        return self

    def fit(self, X: Any, y: Any, **_: Any) -> Constant:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        return np.arange(len(X)) % 2

    def predict_proba(self, X: Any) -> Any:
        p = np.linspace(0.1, 0.9, len(X))
        return np.column_stack([1 - p, p])

    def score(self, X: Any, y: Any) -> float:
        return 0.5


def probability(X: Any) -> Any:
    """A model that looks at its first column."""
    first = np.asarray(X.iloc[:, 0] if isinstance(X, pd.DataFrame) else np.asarray(X)[:, 0])
    return np.where(first == first[0], 0.3, 0.6)


@cache
def small_file() -> str:
    """A file of text with a few rows, which lives as long as the process."""
    folder = tempfile.TemporaryDirectory(prefix="fairstats-fuzz-")
    atexit.register(folder.cleanup)
    place = Path(folder.name) / "people.csv"
    place.write_text("sex,x,y\nf,1,0\nm,2,1\nf,3,1\nm,4,0\n", encoding="utf-8")
    return str(place)


@cache
def calls() -> dict[str, Call]:
    """Public name → how it is called.

    Names of `fs.evt` with "evt." before, methods after their class.
    """
    rng = np.random.default_rng(1)
    y, p, q = (rng.integers(0, 2, N).tolist() for _ in range(3))
    g = (["a", "b", "a", "b", "b", "c"] * N)[:N]
    shares = np.linspace(0.1, 0.9, N)
    h = (["u", "v"] * N)[:N]
    s = rng.random(N).round(3).tolist()
    w = rng.integers(1, 4, N).astype(float).tolist()
    c = [k // 2 for k in range(N)]
    X = pd.DataFrame({"sex": h, "x": s, "k": c})
    frame = X.assign(y=y, p=p, q=q, g=g, s=s, t=s[::-1], w=w, c=c, number=1)
    rows = {
        "sample_weight": None,
        "cluster": None,
        "pos_label": None,
        "label_values": None,
        "missing": "raise",
        "groups": None,
    }
    asked = {"reference": None, "confidence_level": 0.95, "adjust": "holm"}
    rated = {
        **asked,
        **rows,
        "sensitive_features": g,
        "comparisons": "reference",
        "method": None,
        "alternative": "two-sided",
        "simultaneous": None,
        "counts": None,
        "strata": None,
        "classes": None,
    }
    drawn = {"n_resamples": 100, "rng": 1}
    differ = {"y_true": y, "y_pred": p, **rated, "planned": None, "agg": None, "margin": 0.1}
    ratio = {"y_pred": p, **rated, **drawn, "planned": None, "threshold": 0.8}
    numbers = {
        **asked,
        "sensitive_features": h * 4,
        "counts": None,
        "contrast": "difference",
        "comparisons": "reference",
        "margin": 0.1,
        "threshold": 0.8,
        "alternative": "two-sided",
        "simultaneous": None,
        "sample_weight": None,
        "cluster": None,
        "missing": "raise",
        "groups": None,
    }
    risks = {
        **{name: numbers[name] for name in numbers if name not in ("sample_weight", "cluster")},
        "y_true": y * 4,
        "score": [0.01 + 0.98 * value for value in s] * 4,
        "pos_label": None,
        "label_values": None,
    }
    del risks["contrast"], risks["threshold"]
    confusion = fs.ConfusionCounts.from_arrays(y, p, sensitive_features=g)
    named = {
        "y_true": "y",
        "y_pred": "p",
        "score": "s",
        "outcome": None,
        "predicted": None,
        "sensitive_features": ["g", "sex"],
        "pos_label": None,
        "label_values": None,
    }
    named |= {
        "sample_weight": "w",
        "cluster": None,
        "missing": "raise",
        "counterfactual_score": None,
        "features": (),
    }
    tail = rng.standard_exponential(80).round(6)
    cd = {"a": (rng.random(60) - 0.5).tolist(), "b": (rng.random(60) - 0.4).tolist()}
    gpd = fs.evt.fit_gpd(tail, 0.5, backend="scipy")
    age = np.linspace(0.0, 1.0, 80)
    town = np.resize(["n", "s"], 80)
    curve = fs.madd_curve(rng.random(400), sensitive_features=["a", "b"] * 200, max_bins=200)
    posterior = fs.um_posterior(y, p, sensitive_features=g, draws=100, rng=1)
    table = pd.DataFrame(np.column_stack([s, w]), columns=["x", "w"])
    um = {"draws": 100, "rng": 1, "prior": 1.0, "target": "parameter"}
    fit = {"method": "mle", "confidence_level": 0.95, "backend": "scipy"}
    return {
        # ------------------------------------------------ ground
        "tally": Call(
            "ground",
            fs.tally,
            {
                "frame": frame,
                **named,
                "y_pred_b": "q",
                "strata": None,
                "groups": None,
                "score_range": (0, 1),
                "number": None,
                "classes": False,
                "engine": "rows",
            },
        ),
        "tally_sql": Call(
            "ground",
            fs.tally_sql,
            {
                "table": "people",
                "dialect": "duckdb",
                "y_true": "y",
                "y_pred": "p",
                "sensitive_features": ["g"],
                "sample_weight": None,
                "strata": None,
                "score": None,
                "number": "n",
                "y_pred_b": None,
            },
        ),
        "ConfusionCounts.from_arrays": Call(
            "ground",
            fs.ConfusionCounts.from_arrays,
            {"y_true": y, "y_pred": p, "sensitive_features": g, **rows},
        ),
        "ConfusionCounts.from_counts": Call(
            "ground",
            fs.ConfusionCounts.from_counts,
            {"counts": {"a": (5, 2, 3, 4), "b": (2, 3, 4, 5)}},
        ),
        "ConfusionCounts.from_frame": Call(
            "ground",
            fs.ConfusionCounts.from_frame,
            {
                "frame": frame,
                "y_true": "y",
                "y_pred": "p",
                "sensitive_features": "g",
                "sample_weight": "w",
                "cluster": None,
                "pos_label": None,
                "label_values": None,
            },
        ),
        "use_backend": Call("ground", fs.use_backend, {"name": "scipy"}, weight=0.3),
        "audit": Call(
            "ground",
            fs.audit,
            {
                "frame": frame,
                **named,
                **drawn,
                "threshold": 0.8,
                "margin": 0.1,
                "method": None,
                "simultaneous": None,
                "comparisons": "reference",
                "adjust": "holm",
                "family": "metric",
                "intersections": False,
                "evaluated_on": None,
                "title": None,
                "engine": "rows",
                "reference": None,
            },
            (
                "frame",
                "y_true",
                "y_pred",
                "sensitive_features",
                "score",
                "pos_label",
                "missing",
                "adjust",
            ),
            weight=0.3,
        ),
        "crosscheck": Call(
            "ground",
            fs.crosscheck,
            {"result": confusion, "data": None, "tolerance": None},
            ("result",),
            weight=0.3,
        ),
        # ------------------------------------------------ rates
        "disparate_impact": Call(
            "rates",
            fs.disparate_impact,
            {**ratio, "sensitive_probabilities": None, "calibration_sample": None},
        ),
        "demographic_parity_difference.inferred": Call(
            "rates",
            fs.demographic_parity_difference,
            {
                "y_true": y,
                "y_pred": p,
                "sensitive_features": None,
                "sensitive_probabilities": {"a": shares, "b": 1 - shares},
                "calibration_sample": None,
                "reference": None,
                "comparisons": "reference",
                "margin": 0.1,
                "confidence_level": 0.95,
                "adjust": "holm",
                "pos_label": None,
                "label_values": None,
                "missing": "raise",
                "groups": None,
                "rng": 1,
            },
        ),
        "subgroups": Call(
            "rates",
            fs.subgroups,
            {
                "data": frame,
                "attributes": ["g", "sex"],
                "y_true": "y",
                "y_pred": "p",
                "metric": "demographic_parity_difference",
                "depth": 2,
                "min_rows": 5,
                "cuts": None,
                "false_discovery_rate": 0.05,
                "adjust": "fdr_by",
                "confidence_level": 0.95,
                "pos_label": None,
                "label_values": None,
                "missing": "raise",
                "search": "all",
                "shrinkage": "conjugate",
                "n_resamples": 99,
                "rng": 1,
            },
        ),
        "conditional_accuracy": Call(
            "rates", fs.conditional_accuracy, {"y_true": y, **ratio, "label": 1}
        ),
        "conditional_use_accuracy": Call(
            "rates", fs.conditional_use_accuracy, {"y_true": y, **ratio, "prediction": 1}
        ),
        "average_odds_difference": Call("rates", fs.average_odds_difference, differ),
        "demographic_parity_difference": Call(
            "rates", fs.demographic_parity_difference, differ | drawn
        ),
        "equal_opportunity_difference": Call(
            "rates", fs.equal_opportunity_difference, differ | drawn
        ),
        "equalized_odds_difference": Call("rates", fs.equalized_odds_difference, differ | drawn),
        "predictive_parity_difference": Call(
            "rates", fs.predictive_parity_difference, differ | drawn
        ),
        "group_metric": Call(
            "rates",
            fs.group_metric,
            {
                "y_true": y,
                "y_pred": p,
                **rated,
                "metric": "f1_difference",
                "contrast": None,
                "threshold": 0.8,
                "margin": 0.1,
                "n_resamples": 199,
                "n_permutations": 0,
                "rng": 1,
            },
        ),
        "make_scorer": Call(
            "rates",
            fs.make_scorer,
            {"metric": "selection_rate", "sensitive_features": None, "response_method": "predict"},
        ),
        "means": Call("rates", fs.means, {"y": s * 4, **numbers, "statistic": "mean"}),
        "decompose": Call(
            "rates",
            fs.decompose,
            {
                **{
                    name: numbers[name]
                    for name in numbers
                    if name
                    not in ("counts", "contrast", "comparisons", "threshold", "simultaneous")
                },
                "y": s * 4,
                "circumstances": {"w": w * 4},
                "regression": None,
            },
        ),
        "prediction_errors": Call(
            "rates",
            fs.prediction_errors,
            {"y_true": s * 4, "y_pred": w * 4, **numbers, "metric": "mean_absolute_error"},
        ),
        "scores": Call(
            "rates",
            fs.scores,
            {
                **risks,
                "metric": "tpr",
                "cutoffs": [0.3, 0.5],
                "contrast": "difference",
                "threshold": 0.8,
                "sample_weight": None,
                "cluster": None,
            },
        ),
        "calibration": Call(
            "rates",
            fs.calibration,
            {
                **risks,
                "metric": "isotonic",
                "at": [0.3, 0.5],
                "n_resamples": 99,
                "rng": 1,
                "sample_weight": None,
                "cluster": None,
            },
        ),
        "abroca": Call(
            "rates",
            fs.abroca,
            {
                "y_true": y * 4,
                "score": s * 4,
                **asked,
                "sensitive_features": h * 4,
                "counts": None,
                "comparisons": "reference",
                "margin": 0.1,
                "n_resamples": 100,
                "rng": 1,
                "pos_label": None,
                "label_values": None,
                "missing": "raise",
                "groups": None,
            },
            weight=0.5,
        ),
        "compare_models": Call(
            "rates",
            fs.compare_models,
            {
                "y_true": y,
                "y_pred": p,
                "y_pred_b": q,
                **asked,
                **rows,
                "sensitive_features": g,
                "score": None,
                "metrics": "disparate_impact",
                "baseline": None,
                "counts": None,
                "comparisons": "reference",
                "threshold": 0.8,
                "margin": 0.1,
                "n_resamples": 100,
                "rng": 1,
            },
        ),
        "read_table": Call(
            "ground",
            fs.read_table,
            {
                "source": small_file(),
                "columns": ["sex", "x"],
                "numbers": ["x"],
                "features": (),
                "na_values": None,
                "encoding": None,
                "sep": None,
                "decimal": None,
                "sheet": None,
                "engine": "rows",
                "memory": None,
            },
        ),
        "rates.interval": Call(
            "rates",
            fs.rates.interval,
            {"k": [3, 5], "n": [10, 12], "method": "wilson", "confidence_level": 0.95},
        ),
        "rates.contrast_interval": Call(
            "rates",
            fs.rates.contrast_interval,
            {
                "k": [3, 5],
                "n": [10, 12],
                "k0": 20,
                "n0": 40,
                "contrast": "ratio",
                "method": "score",
                "confidence_level": 0.95,
            },
        ),
        "rates.pvalue": Call(
            "rates",
            fs.rates.pvalue,
            {
                "k": [3, 5],
                "n": [10, 12],
                "k0": 20,
                "n0": 40,
                "contrast": "ratio",
                "null": 0.8,
                "alternative": "less",
                "method": "score",
            },
        ),
        "adverse_impact": Call(
            "rates",
            fs.adverse_impact,
            {
                "data": frame,
                "selected": "p",
                "score": None,
                "sex": "sex",
                "race": "g",
                "reference": "highest",
                "template": "ugesp",
                "strata": None,
                "number": None,
                "unknown": None,
                "measure": None,
                "threshold": 0.8,
                "confidence_level": 0.95,
                "adjust": "holm",
                "pos_label": None,
                "label_values": None,
                "missing": "drop",
                "least_share": 0.02,
                "reason": None,
                "about": None,
            },
            weight=0.3,
        ),
        "choose_metric": Call(
            "rates",
            fs.choose_metric,
            {"data": "decisions", "outcome": "known", "harm": "refused in error"},
        ),
        "replication": Call("rates", fs.replication, {"paper": "besse", "run": False}),
        "power_ratio": Call(
            "rates",
            fs.power_ratio,
            {
                "rate_reference": 0.5,
                "ratio": 0.7,
                "n": 30,
                "n_reference": 30,
                "threshold": 0.8,
                "alternative": "less",
                "confidence_level": 0.95,
            },
        ),
        "sample_size_ratio": Call(
            "rates",
            fs.sample_size_ratio,
            {
                "rate_reference": 0.5,
                "ratio": 0.3,
                "power": 0.8,
                "allocation": 1.0,
                "threshold": 0.8,
                "alternative": "less",
                "confidence_level": 0.95,
            },
            weight=0.2,
        ),
        # ------------------------------------------------ madd
        "madd": Call(
            "madd",
            fs.madd,
            {
                "score": s,
                "sensitive_features": g,
                "bandwidth": 0.1,
                "n_bins": None,
                "grid_bins": None,
                "scale": "probability",
                "comparisons": "auto",
                "reference": None,
                "sample_weight": None,
                "cluster": None,
                "permutations": "grid",
                "margin": 0.2,
                "confidence_level": 0.95,
                "adjust": "holm",
                "n_resamples": 99,
                "max_bins": 20,
                "min_points": 2,
                "width": 0.45,
                "missing": "raise",
                "groups": None,
                "counts": None,
                "rng": 1,
            },
            weight=0.5,
        ),
        "madd_curve": Call(
            "madd",
            fs.madd_curve,
            {
                "score": s,
                "sensitive_features": h,
                "max_bins": 20,
                "pair": None,
                "sample_weight": None,
                "missing": "raise",
                "groups": None,
                "counts": None,
            },
            weight=2,
        ),
        "stable_bandwidth": Call(
            "madd", fs.stable_bandwidth, {"curve": curve, "min_points": 5, "width": 0.45}
        ),
        "MaddMitigator": Call(
            "madd",
            _mitigate,
            {
                "score": s,
                "y": y,
                "sensitive_features": h,
                "theta": 0.5,
                "loss": "error",
                "threshold": 0.5,
                "n_lambdas": 10,
                "bandwidth": 0.2,
                "pos_label": None,
                "label_values": None,
                "splits": 2,
                "estimator": None,
                "random_state": 1,
                "new": s,
                "new_groups": h,
                "lambda_": None,
                "sample_weight": None,
            },
            weight=0.5,
        ),
        # ------------------------------------------------ hfm
        "hfm": Call(
            "hfm",
            fs.hfm,
            {
                "X": table,
                "y_true": y,
                "y_pred": p,
                "sensitive_features": g,
                "counts": None,
                "statistic": "max",
                "scale": "minmax",
                "reference_data": None,
                "intersections": False,
                "n_resamples": 0,
                "n_subsamples": 0,
                "rng": 1,
            },
        ),
        "set_distance": Call(
            "hfm",
            fs.set_distance,
            {
                "a": [[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]],
                "b": np.eye(2),
                "statistic": "max",
                "counts": None,
            },
            weight=2,
        ),
        "approx_set_distance": Call(
            "hfm",
            fs.approx_set_distance,
            {
                "a": table,
                "b": table,
                "m1": 2,
                "m2": None,
                "probability": None,
                "factor": 2.0,
                "rng": 1,
                "counts": None,
            },
        ),
        "discriminative_risk": Call(
            "hfm",
            fs.discriminative_risk,
            {
                "predict": OnlyPredict(),
                "X": X,
                "sensitive_features": "sex",
                "draws": 1,
                "cluster": c,
                "confidence_level": 0.95,
                "rng": 1,
            },
        ),
        "hfm_experiment": Call(
            "hfm",
            fs.hfm_experiment,
            {
                "models": {"a": Constant(), "b": Constant()},
                "data": {"d": (X, y, ["sex", "k"])},
                "measures": ("DP", "HFM"),
                "baseline": None,
                "error": "accuracy",
                "alpha": 0.05,
                "cv": 2,
                "refit": True,
                "pos_label": None,
                "label_values": None,
                "confidence_level": 0.95,
                "rng": 1,
            },
            weight=0.3,
        ),
        "rank_rules": Call(
            "hfm",
            fs.rank_rules,
            {
                "scores": np.arange(12.0).reshape(4, 3),
                "rules": None,
                "larger_is_better": True,
                "confidence_level": 0.95,
            },
        ),
        "select_model": Call(
            "hfm",
            fs.select_model,
            {"error": [0.1, 0.2, 0.3], "fairness": [0.3, 0.2, 0.1], "alpha": 0.05},
        ),
        # ------------------------------------------------ um
        "um_posterior": Call(
            "um",
            fs.um_posterior,
            {
                "y_true": y,
                "y_pred": p,
                "sensitive_features": g,
                "counts": None,
                "sampler": "exact",
                "reference": None,
                "pos_label": None,
                "label_values": None,
                "missing": "raise",
                "groups": None,
                "sensitive_probabilities": None,
                **um,
            },
        ),
        "um_multiclass": Call(
            "um",
            fs.um_multiclass,
            {
                "y_true": y,
                "y_pred": p,
                "sensitive_features": g,
                "counts": None,
                "groups": None,
                **um,
            },
        ),
        "um_compare": Call(
            "um",
            fs.um_compare,
            {
                "a": posterior,
                "b": posterior,
                "counts": None,
                "metrics": ("accuracy", "equal_opportunity"),
                "rope": (0.01, 0.01),
                "hdr": None,
                "paired": "auto",
                "names": ("A", "B"),
                "draws": None,
                "backend": "scipy",
                "rng": 1,
            },
        ),
        "um_cross_validate": Call(
            "um",
            fs.um_cross_validate,
            {
                "estimator": Constant(),
                "X": X[["x", "k"]],
                "y": y,
                "sensitive_features": g,
                "cv": 3,
                "correlation": "1/K",
                "reference_estimator": None,
                "n_half_splits": 1,
                "correlation_metric": "accuracy",
                "variance_ratio": None,
                "y_pred": None,
                "fold": None,
                "sensitive_at": "auto",
                "reference": None,
                "pos_label": None,
                "label_values": None,
                "groups": None,
                "n_jobs": None,
                "progress": False,
                **um,
            },
            weight=0.5,
        ),
        "um_compare_estimators": Call(
            "um",
            fs.um_compare_estimators,
            {
                "estimators": {"u": Constant(), "v": Constant(0.4)},
                "X": X[["x", "k"]],
                "y": y,
                "sensitive_features": g,
                "metrics": ("accuracy", "demographic_parity"),
                "rope": 0.01,
                "cv": 3,
                "correlation": "1/K",
                "reference_estimator": None,
                "n_half_splits": 1,
                "correlation_metric": None,
                "sensitive_at": "auto",
                "paired": "auto",
                "reference": None,
                "pos_label": None,
                "label_values": None,
                "groups": None,
                "n_jobs": None,
                "progress": False,
                **um,
            },
            weight=0.3,
        ),
        "um_hierarchical": Call(
            "um",
            fs.um_hierarchical,
            {
                "counts": confusion,
                "concentration": (5.0, 1.5),
                "draws": 100,
                "sampler": "exact",
                "tune": 100,
                "chains": 2,
                "target": "parameter",
                "target_accept": 0.9,
                "reference": None,
                "rng": 1,
            },
            ("counts", "concentration"),
            weight=0.3,
        ),
        "um_model": Call(
            "um", fs.um_model, {"counts": confusion, "prior": 1.0}, ("counts",), weight=0.1
        ),
        # ------------------------------------------------ ecd
        "ecd": Call(
            "ecd",
            fs.ecd,
            {
                "sample": cd,
                "reference": None,
                "privileged": "a",
                "unprivileged": "b",
                "interactions": 20,
                "location": "return_level",
                "threshold": 10,
                "other_interactions": (),
                "confidence_level": 0.95,
                "margin": 0.05,
                "horizon_width": 0.5,
                "n_resamples": 0,
                "calibrated": False,
                "adjust": "holm",
                "grid": None,
                "backend": "scipy",
                "counts": None,
                "rng": 1,
            },
            ("sample", "reference", "privileged", "threshold", "interactions", "margin"),
            weight=0.5,
        ),
        "counterfactual_discrimination": Call(
            "ecd",
            fs.counterfactual_discrimination,
            {
                "predict": probability,
                "X": X,
                "sensitive_features": "sex",
                "values": None,
                "counterfactual": "worst",
                "pos_label": None,
                "label_values": None,
                "cluster": c,
                "sample_weight": w,
                "rng": 1,
                "trained_on": False,
                "batch": 10,
                "confidence_level": 0.95,
                "progress": False,
            },
            weight=2,
        ),
        "sample_tail": Call(
            "ecd",
            fs.sample_tail,
            {
                "predict": probability,
                "data": X,
                "sensitive_features": "sex",
                "group": "u",
                "values": None,
                "generator": None,
                "k_min": 3,
                "k_max": 5,
                "batch": 10,
                "max_looks": 2,
                "timeout": 1.0,
                "test": "max_cv",
                "confidence_level": 0.95,
                "stop": "first_pass",
                "pos_label": None,
                "label_values": None,
                "n_resamples": 99,
                "rng": 1,
                "progress": False,
            },
        ),
        "synthetic_quality": Call(
            "ecd",
            fs.synthetic_quality,
            {"real": X, "synthetic": X, "target": None, "confidence_level": 0.95, "rng": 1},
            ("real", "synthetic", "confidence_level", "rng"),
            weight=0.5,
        ),
        "scott_knott": Call(
            "ecd",
            fs.scott_knott,
            {
                "runs": {"u": s[:9], "v": s[9:18], "w": w[:9]},
                "larger_is_better": False,
                "confidence_level": 0.95,
                "least_effect": 0.147,
                "n_resamples": 99,
                "rng": 1,
            },
        ),
        "EcdSearch": Call(
            "ecd",
            _search,
            {
                "X": X,
                "y": y,
                "estimator": Constant(),
                "param_distributions": {"share": [0.1, 0.2]},
                "sensitive_features": "sex",
                "privileged": "u",
                "unprivileged": "v",
                "objective": "acd",
                "accuracy_loss": 0.02,
                "n_iter": 1,
                "timeout": None,
                "interactions": 10,
                "threshold": 10,
                "pos_label": None,
                "label_values": None,
                "splits": (0.6, 0.2, 0.2),
                "sampler": "random",
                "warm_start": False,
                "random_state": 0,
                "progress": False,
            },
            weight=0.3,
        ),
        # ------------------------------------------------ hdr
        "hdr": Call(
            "hdr",
            fs.hdr,
            {
                "samples": tail,
                "prob": 0.9,
                "density": None,
                "bandwidth": None,
                "support": None,
                "backend": "scipy",
                "estimator": "kde",
                "discrete": None,
                "gridsize": 64,
                "level": "leave_one_out",
                "period": None,
            },
        ),
        "rates.stratified": Call(
            "rates",
            fs.rates.stratified,
            {
                "k": [3, 4],
                "n": [10, 12],
                "k0": [5, 6],
                "n0": [11, 13],
                "contrast": "ratio",
                "null": None,
                "confidence_level": 0.95,
            },
        ),
        # ------------------------------------------------ evt
        "evt.fit_gpd": Call(
            "evt", fs.evt.fit_gpd, {"x": tail, "threshold": 0.5, **fit, "n_total": None}
        ),
        "evt.fit_gpd by covariates": Call(
            "evt",
            fs.evt.fit_gpd,
            {
                "x": tail,
                "threshold": 0.5,
                "covariates": pd.DataFrame({"age": age, "town": town}),
                "scale": "~ age",
                "shape": "~ town",
                "scale_link": "log",
                "confidence_level": 0.95,
                "n_total": None,
            },
            weight=0.5,
        ),
        "evt.fit_gev by covariates": Call(
            "evt",
            fs.evt.fit_gev,
            {
                "block_maxima": tail,
                "covariates": {"age": age, "town": town},
                "location": "~ age",
                "scale": "~ town",
                "shape": "~ 1",
                "confidence_level": 0.95,
            },
            weight=0.5,
        ),
        "evt.extremal_index": Call(
            "evt",
            fs.evt.extremal_index,
            {
                "x": tail,
                "threshold": 0.5,
                "method": "intervals",
                "run_length": 1,
                "confidence_level": 0.95,
                "n_resamples": 19,
                "rng": 1,
            },
        ),
        "evt.decluster": Call(
            "evt", fs.evt.decluster, {"x": tail, "threshold": 0.5, "run_length": 1}
        ),
        "evt.fit_gev": Call("evt", fs.evt.fit_gev, {"block_maxima": tail, **fit}),
        "evt.fit_point_process": Call(
            "evt",
            fs.evt.fit_point_process,
            {"x": tail, "threshold": 0.5, "block_size": 10, **fit, "n_total": None},
        ),
        "evt.exponentiality_test": Call(
            "evt",
            fs.evt.exponentiality_test,
            {
                "x": tail,
                "k_min": 10,
                "k_max": 20,
                "rule": "max_cv",
                "confidence_level": 0.95,
                "max_looks": 1,
                "n_resamples": 99,
                "rng": 1,
            },
        ),
        "evt.choose_threshold": Call(
            "evt",
            fs.evt.choose_threshold,
            {
                "x": tail,
                "method": "fixed_k",
                "k": 20,
                "thresholds": None,
                "n_thresholds": 5,
                "false_discovery_rate": 0.1,
                "statistic": "anderson_darling",
                "n_resamples": 99,
                "rng": 1,
            },
            ("x", "method", "k", "thresholds"),
            weight=0.2,
        ),
        "evt.empirical_return_level": Call(
            "evt",
            fs.evt.empirical_return_level,
            {"x": tail, "m": 20, "confidence_level": 0.95, "n_total": None},
            weight=2,
        ),
        "evt.goodness_of_fit": Call(
            "evt",
            fs.evt.goodness_of_fit,
            {"fit": gpd, "statistic": "anderson_darling", "n_resamples": 99, "rng": 1},
            ("fit", "statistic", "n_resamples", "rng"),
            weight=0.3,
        ),
        "evt.average_return_level": Call(
            "evt",
            fs.evt.average_return_level,
            {
                "x": tail,
                "m": 100,
                "thresholds": [0.2, 0.8],
                "n_thresholds": 5,
                "confidence_level": 0.9,
            },
            weight=0.3,
        ),
        "evt.mean_residual_life": Call(
            "evt",
            fs.evt.mean_residual_life,
            {"x": tail, "thresholds": None, "n_thresholds": 10, "confidence_level": 0.95},
        ),
        "evt.tail_type": Call(
            "evt",
            fs.evt.tail_type,
            {"fit": gpd, "bound": None, "max_relative_width": 0.5, "confidence_level": None},
            ("fit", "bound", "max_relative_width", "confidence_level"),
            weight=0.3,
        ),
        "evt.threshold_stability": Call(
            "evt",
            fs.evt.threshold_stability,
            {"x": tail, "thresholds": None, "n_thresholds": 3, "confidence_level": 0.95},
            ("x", "thresholds"),
            weight=0.3,
        ),
        "evt.threshold_tests": Call(
            "evt",
            fs.evt.threshold_tests,
            {
                "x": tail,
                "thresholds": [0.2, 0.5, 0.8],
                "n_thresholds": 5,
                "n_resamples": 99,
                "rng": 1,
            },
        ),
    }


def _mitigate(**given: Any) -> Any:
    names = ("score", "y", "sensitive_features", "new", "new_groups", "lambda_", "sample_weight")
    score, y, groups, new, new_groups, lambda_, weight = (given.pop(name) for name in names)
    fitted = fs.MaddMitigator(**given).fit(
        score, y, sensitive_features=groups, sample_weight=weight
    )
    return fitted.transform(new, sensitive_features=new_groups, lambda_=lambda_)


def drawn(plot: Callable[..., Any]) -> Callable[..., Any]:
    """The method, its picture closed at once."""

    def draw(**given: Any) -> None:
        import matplotlib.pyplot as plt

        plot(**given)
        plt.close("all")

    return draw


def _search(X: Any, y: Any, estimator: Any, param_distributions: Any, **given: Any) -> Any:
    return fs.EcdSearch(estimator, param_distributions, **given).fit(X, y)


#: Public names that take no input of users, with the reason.
NOT_CALLED = {
    "rates.Limits": "a result",
    "__version__": "text",
    "FairstatsError": "an exception",
    "FairstatsWarning": "a warning",
    "InputError": "an exception",
    "datasets": "files, whose readers have their own tests",
    "evt": "its names are called one by one",
    "rates": "its names are called one by one",
    "rates.StratifiedContrast": "a result",
    "Tally": "its methods are called by tests/fuzz/methods.py",
    "results": "classes of results, which functions make",
    "doctor": "takes a flag only and starts R",
    "evt.EvtFit": "a result",
    "evt.ReturnLevel": "a result",
}
