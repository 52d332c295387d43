"""Cases of outcomes that are numbers, of gaps given circumstances, and of inferred groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.golden.api import call
from tests.golden.cases import Room
from tests.golden.cases_audit import RECORDED
from tests.golden.data import simulated_frame

ROOM = Room("numbers")
#: What goes with every kind of comparison.
VARIANTS: dict[str, dict[str, Any]] = {
    "reference": {"reference": "a"},
    "all": {"comparisons": "all", "simultaneous": "bonferroni"},
    "rest": {"comparisons": "rest"},
    "overall": {"comparisons": "overall"},
    "weights-clusters": {"reference": "a", "sample_weight": True, "cluster": True},
}
DESIGNS = {
    "weights": {"sample_weight": True},
    "clusters": {"cluster": True},
    "weights-clusters": {"sample_weight": True, "cluster": True},
}
#: Resamples of seeded cases: few, so that several seeds are quick.
N_RESAMPLES = 199


def _add(name: str, compute: Callable[..., Any], kind: Any = "closed", **options: Any) -> None:
    def function(seed: int) -> Any:
        if kind == "seeded":
            return compute(rng=seed, **options)
        return compute(**options)

    ROOM.add(name, function, kind)


def _columns() -> dict[str, Any]:
    """Numbers and groups of the simulated rows; the group of twelve belongs to the next one."""
    frame = simulated_frame()
    return {
        "group": np.where(frame["group"] == "d", "c", frame["group"]),
        "amount": np.exp(1 + 0.4 * frame["x1"].to_numpy()),
        "predicted": np.exp(1 + 0.3 * frame["x1"].to_numpy()) + 0.1 * frame["x2"].to_numpy(),
        "sample_weight": frame["weight"].to_numpy() + 0.1,
        # each within one group
        "cluster": frame["cluster"].astype(str).to_numpy() + frame["group"].to_numpy(dtype=object),
        "kind": frame["x3"].to_numpy(dtype=object),
        "count": frame["x2"].to_numpy(),
        "chosen": frame["y_pred"].to_numpy(),
    }


def _with_columns(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with columns for the names of weights and clusters."""
    columns = _columns()
    found = dict(options)
    columns["strata"] = columns["kind"]
    for name in ("sample_weight", "cluster", "strata"):
        if found.get(name) is True:
            found[name] = columns[name]
    return found


def _means(**options: Any) -> Any:
    columns = _columns()
    return call(
        "means", columns["amount"], sensitive_features=columns["group"], **_with_columns(options)
    )


def _determination(**options: Any) -> Any:
    columns = _columns()
    return call(
        "prediction_errors",
        columns["amount"],
        columns["predicted"],
        sensitive_features=columns["group"],
        metric="r_squared",
        **_with_columns(options),
    )


def _risks(function: str, **options: Any) -> Any:
    """AUC, calibration and curves of a score."""
    frame = simulated_frame()
    return call(
        function,
        frame["y_true"].to_numpy(),
        frame["score"].to_numpy().clip(0.01, 0.99),
        sensitive_features=_columns()["group"],
        **_with_columns(options),
    )


def _decompose(**options: Any) -> Any:
    columns = _columns()
    return call(
        "decompose",
        columns["amount"],
        sensitive_features=columns["group"],
        circumstances={"kind": columns["kind"], "count": columns["count"]},
        **_with_columns(options),
    )


def _inferred(*, audited: bool = False, **options: Any) -> Any:
    """Groups by probabilities that say something of them."""
    columns = _columns()
    rng = np.random.default_rng(3)
    is_first = columns["group"] == "a"
    chance = np.where(is_first, rng.beta(4, 1, is_first.size), rng.beta(1, 4, is_first.size))
    if audited:
        known = np.where(rng.random(is_first.size) < 0.3, np.where(is_first, "a", "others"), None)
        options["sensitive_features"] = known
    return call(
        "disparate_impact",
        columns["chosen"],
        sensitive_probabilities={"a": chance, "others": 1 - chance},
        reference="a",
        rng=1,
        **_with_columns(options),
    )


def _audit(comparisons: str) -> Any:
    """The results of an audit with pooled groups, those that were recorded of others."""
    report = call(
        "audit",
        simulated_frame(),
        y_true="y_true",
        y_pred="y_pred",
        sensitive_features="group",
        comparisons=comparisons,
        rng=1,
    )
    results = {}
    for result in report.results:
        name = getattr(result, "metric", "")
        if name in RECORDED and not name.endswith("_max"):
            results[name] = result
    return {"results": results, "sentences": list(report.summary().splitlines()[1:3])}


for variant, options in VARIANTS.items():
    _add(
        f"means/standardised/{variant}",
        _means,
        "seeded",
        contrast="standardised_difference",
        n_resamples=N_RESAMPLES,
        **options,
    )
    _add(
        f"prediction_errors/r_squared/{variant}",
        _determination,
        "seeded",
        n_resamples=N_RESAMPLES,
        **options,
    )
for variant in ("reference", "all", "rest", "weights-clusters"):
    _add(
        f"means/selection_rate/{variant}",
        _means,
        statistic="selection_rate",
        contrast="ratio",
        quantiles=[0.25, 0.5],
        **VARIANTS[variant],
    )
for variant in ("reference", "all", "weights"):
    about = {**VARIANTS, **DESIGNS}[variant]
    for contrast in ("difference", "ratio"):
        _add(
            f"means/strata/{contrast}/{variant}",
            _means,
            strata=True,
            contrast=contrast,
            **about,
        )
for variant, options in VARIANTS.items():
    _add(f"scores/auc/{variant}", _risks, function="scores", metric="auc", **options)
    for metric in ("net_benefit", "tpr"):
        _add(
            f"scores/{metric}/{variant}",
            _risks,
            function="scores",
            metric=metric,
            cutoffs=[0.3, 0.5],
            **options,
        )
    if variant != "overall":
        for metric in ("slope", "intercept"):
            _add(
                f"calibration/{metric}/{variant}",
                _risks,
                "optimised",
                function="calibration",
                metric=metric,
                **options,
            )
for variant in ("reference", "all", "rest", "weights-clusters"):
    _add(f"decompose/delta/{variant}", _decompose, "optimised", **VARIANTS[variant])
_add(
    "decompose/bootstrap/all",
    _decompose,
    "seeded",
    method="bootstrap",
    n_resamples=N_RESAMPLES,
    comparisons="all",
)
for comparisons in ("rest", "overall"):
    _add(f"audit/{comparisons}", _audit, "optimised", comparisons=comparisons)
for design, settings in DESIGNS.items():
    _add(f"inferred/bounds/{design}", _inferred, "optimised", **settings)
    _add(f"inferred/audited/{design}", _inferred, "optimised", audited=True, **settings)
