"""Cases of the rates: ratios, differences, largest gaps, ABROCA, strata, two models, planning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.golden.api import call
from tests.golden.cases import Room
from tests.golden.data import Rows, bundled, empty_counts, simulated, simulated_frame

ROOM = Room("rates")

BUNDLED = ("adult", "adult-besse", "compas", "compas-propublica", "compas-besse", "german", "ricci")
RATIOS = ("disparate_impact", "conditional_accuracy", "conditional_use_accuracy")
DIFFERENCES = (
    "demographic_parity_difference",
    "equal_opportunity_difference",
    "predictive_parity_difference",
    "average_odds_difference",
    "equalized_odds_difference",
)
METRICS = (
    "f1",
    "balanced_accuracy",
    "mcc",
    "treatment_equality",
    "selection_rate",
    "accuracy",
    "tpr",
    "fpr",
    "tnr",
    "fnr",
    "ppv",
    "npv",
)
SIDES = ("two-sided", "less", "greater")


def _margin(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The range of fairness by its name: a threshold of ratios, a margin of differences."""
    given = dict(options)
    if "limit" in given:
        given["threshold" if name in RATIOS else "margin"] = given.pop("limit")
    return given


def _whole(result: Any, *, bounds: bool = False) -> dict[str, Any]:
    """A result with what its methods give."""
    found = {"result": result}
    if hasattr(result, "tests"):
        found["tests"] = result.tests()
    if bounds:
        found["bounds"] = result.worst_case_bounds()
    return found


def _rate(
    name: str, rows: Rows, seed: int = 1, *, bounds: bool = False, **options: Any
) -> dict[str, Any]:
    data = (rows.y_pred,) if name == "disparate_impact" else (rows.y_true, rows.y_pred)
    if options.get("method") == "bootstrap":
        options.update(rng=seed)
    settings = {"reference": rows.reference, **_margin(name, options)}
    return _whole(call(name, *data, sensitive_features=rows.group, **settings), bounds=bounds)


def _counts(name: str, **options: Any) -> dict[str, Any]:
    counts: Any = empty_counts()
    if name == "disparate_impact":
        counts = {g: (tp + fp, fn + tn) for g, (tp, fp, fn, tn) in counts.items()}
    return _whole(call(name, counts=counts, **{"reference": "a", **_margin(name, options)}))


def _add(
    name: str, compute: Callable[..., Any], kind: Any = "closed", *arguments: Any, **options: Any
) -> None:
    takes_seed = kind == "seeded"

    def function(seed: int) -> Any:
        return compute(*arguments, **({"seed": seed} if takes_seed else {}), **options)

    ROOM.add(name, function, kind)


def _of_simulated(name: str, seed: int = 1, **options: Any) -> dict[str, Any]:
    rows = simulated()
    f = simulated_frame()
    for option, column in (("sample_weight", "weight"), ("cluster", "cluster")):
        if options.get(option) is True:
            options[option] = f[column].to_numpy()
    return _rate(name, rows, seed, **options)


def _of_bundled(name: str, data: str, seed: int = 1, **options: Any) -> dict[str, Any]:
    return _rate(name, bundled(data), seed, **options)


VARIANTS: dict[str, dict[str, Any]] = {
    "default": {"bounds": True},
    "weights": {"sample_weight": True},
    "clusters": {"cluster": True},
    "weights-clusters": {"sample_weight": True, "cluster": True},
    "all-pairs": {"comparisons": "all", "reference": None, "adjust": "fdr_bh"},
    "bonferroni": {"simultaneous": "bonferroni", "adjust": "bonferroni"},
    "max-z": {"simultaneous": "max-z", "adjust": "none"},
    "max-z-clusters": {"simultaneous": "max-z", "cluster": True},
    "highest": {"reference": "highest"},
    "level-limit": {"confidence_level": 0.9, "limit": 0.3},
}

for metric in (*RATIOS, *DIFFERENCES):
    for variant, settings in VARIANTS.items():
        _add(
            f"{metric}/simulated/{variant}",
            _of_simulated,
            "optimised" if "max-z" in variant else "closed",
            metric,
            **settings,
        )
    for side in SIDES[1:]:
        _add(f"{metric}/simulated/{side}", _of_simulated, "closed", metric, alternative=side)
    _add(f"{metric}/empty-cells/default", _counts, "closed", metric)
    _add(
        f"{metric}/empty-cells/all-pairs",
        _counts,
        "closed",
        metric,
        comparisons="all",
        reference=None,
    )
    for dataset in BUNDLED:
        _add(f"{metric}/{dataset}/default", _of_bundled, "closed", metric, dataset)

for metric in RATIOS:
    for method in ("log", "delta", "score", "koopman"):
        kind = "optimised" if method in ("score", "koopman") else "closed"
        for side in SIDES:
            _add(
                f"{metric}/{method}/{side}",
                _of_simulated,
                kind,
                metric,
                method=method,
                alternative=side,
            )
        _add(f"{metric}/{method}/empty-cells", _counts, kind, metric, method=method)
        _add(
            f"{metric}/{method}/bonferroni",
            _of_simulated,
            kind,
            metric,
            method=method,
            simultaneous="bonferroni",
        )
    _add(
        f"{metric}/bootstrap/simulated",
        _of_simulated,
        "seeded",
        metric,
        method="bootstrap",
        n_resamples=499,
    )
    _add(
        f"{metric}/bootstrap/all-pairs",
        _of_simulated,
        "seeded",
        metric,
        method="bootstrap",
        n_resamples=299,
        comparisons="all",
        reference=None,
    )
_add("conditional_accuracy/label-0", _of_simulated, "closed", "conditional_accuracy", label=0)
_add(
    "conditional_use_accuracy/prediction-0",
    _of_simulated,
    "closed",
    "conditional_use_accuracy",
    prediction=0,
)

for metric in DIFFERENCES:
    for method in ("score", "delta", "mee"):
        kind = "closed" if method == "delta" else "optimised"
        for side in SIDES:
            _add(
                f"{metric}/{method}/{side}",
                _of_simulated,
                kind,
                metric,
                method=method,
                alternative=side,
            )
        _add(f"{metric}/{method}/empty-cells", _counts, kind, metric, method=method)
    _add(
        f"{metric}/agg-max/simulated", _of_simulated, "optimised", metric, agg="max", reference=None
    )
    _add(
        f"{metric}/agg-max/weights-clusters",
        _of_simulated,
        "optimised",
        metric,
        agg="max",
        reference=None,
        sample_weight=True,
        cluster=True,
    )
    _add(f"{metric}/agg-max/empty-cells", _counts, "optimised", metric, agg="max", reference=None)
    if metric != "average_odds_difference":
        _add(
            f"{metric}/bootstrap/agg-max",
            _of_simulated,
            "seeded",
            metric,
            method="bootstrap",
            agg="max",
            reference=None,
            n_resamples=299,
        )


# ---------------------------------------------------------------- missing values, labels


def _with_missing(name: str, missing: str) -> dict[str, Any]:
    f = simulated_frame().iloc[:200]
    y_pred = np.array(["no", "yes"], dtype=object)[f["y_pred"]]
    y_true = np.array(["no", "yes"], dtype=object)[f["y_true"]]
    group = np.array(f["sex"], dtype=object)
    group[3::41] = None
    if missing == "drop":
        y_pred[::17], y_true[5::31] = None, None
    data = (y_pred,) if name == "disparate_impact" else (y_true, y_pred)
    result = call(
        name, *data, sensitive_features=group, pos_label="yes", missing=missing, reference="m"
    )
    return _whole(result, bounds=missing == "drop")


for metric in (*RATIOS, *DIFFERENCES):
    for missing in ("drop", "group"):
        _add(f"{metric}/missing/{missing}", _with_missing, "closed", metric, missing)


def _crossed(name: str) -> dict[str, Any]:
    f = simulated_frame()
    data = (f["y_pred"],) if name == "disparate_impact" else (f["y_true"], f["y_pred"])
    return _whole(call(name, *data, sensitive_features=f[["group", "sex"]]))


for metric in ("disparate_impact", "equal_opportunity_difference"):
    _add(f"{metric}/crossed", _crossed, "closed", metric)


# ---------------------------------------------------------------- any metric of the cells


def _group_metric(metric: Any, contrast: str, **options: Any) -> dict[str, Any]:
    f = simulated_frame()
    for option, column in (("sample_weight", "weight"), ("cluster", "cluster")):
        if options.get(option):
            options[option] = f[column].to_numpy()
    if "limit" in options:
        options["threshold" if contrast == "ratio" else "margin"] = options.pop("limit")
    if "counts" not in options:
        options.update(y_true=f["y_true"], y_pred=f["y_pred"], sensitive_features=f["group"])
    return _whole(
        call("group_metric", metric=metric, contrast=contrast, **{"reference": "a", **options})
    )


def _share_wrong(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return (fp + 2 * fn) / (tp + fp + fn + tn)


for metric in METRICS:
    for contrast in ("difference", "ratio"):
        _add(f"group_metric/{metric}/{contrast}", _group_metric, "closed", metric, contrast)
        _add(
            f"group_metric/{metric}/{contrast}-empty",
            _group_metric,
            "closed",
            metric,
            contrast,
            counts=empty_counts(),
        )
    _add(
        f"group_metric/{metric}/weights-clusters",
        _group_metric,
        "closed",
        metric,
        "difference",
        sample_weight=True,
        cluster=True,
        limit=0.05,
    )
for contrast in ("difference", "ratio"):
    _add(f"group_metric/function/{contrast}", _group_metric, "closed", _share_wrong, contrast)
    _add(
        f"group_metric/f1/{contrast}-all-max-z",
        _group_metric,
        "optimised",
        "f1",
        contrast,
        comparisons="all",
        reference=None,
        simultaneous="max-z",
        limit=0.2,
    )


# ---------------------------------------------------------------- ABROCA, strata, two models,
# planning


def _abroca(data: str, seed: int, **options: Any) -> dict[str, Any]:
    rows = simulated() if data == "simulated" else bundled(data)
    keep = slice(None) if len(rows.score) < 5000 else slice(0, 3000)
    settings = {"reference": rows.reference, "n_resamples": 199, "rng": seed, **options}
    result = call(
        "abroca",
        rows.y_true[keep],
        rows.score[keep],
        sensitive_features=rows.group[keep],
        **settings,
    )
    return {**_whole(result), "expected": result.expected_if_equal}


_add("abroca/simulated", _abroca, "seeded", "simulated")
_add(
    "abroca/simulated-all-pairs",
    _abroca,
    "seeded",
    "simulated",
    comparisons="all",
    reference=None,
    margin=0.05,
)
for dataset in ("adult-besse", "compas-besse", "german", "ricci"):
    _add(f"abroca/{dataset}", _abroca, "seeded", dataset)


def _stratified(data: str, **options: Any) -> dict[str, Any]:
    if data == "simulated":
        f = simulated_frame()
        return _whole(
            call(
                "disparate_impact",
                f["y_pred"],
                sensitive_features=f["group"],
                strata=f["stratum"],
                **options,
            )
        )
    frame = call("datasets.load_compas", subset="propublica").frame
    return _whole(
        call(
            "disparate_impact",
            frame["score_text"],
            sensitive_features=frame["race"],
            pos_label="Low",
            strata=frame["age_cat"],
            reference="Caucasian",
            **options,
        )
    )


for data in ("simulated", "compas"):
    _add(f"strata/{data}", _stratified, "closed", data)
    _add(
        f"strata/{data}-less",
        _stratified,
        "closed",
        data,
        alternative="less",
        confidence_level=0.9,
        threshold=0.7,
    )


def _models(metric: str, **options: Any) -> Any:
    f = simulated_frame()
    for option in ("sample_weight", "cluster"):
        if options.get(option):
            options[option] = f[{"sample_weight": "weight"}.get(option, option)].to_numpy()
    return call(
        "compare_models",
        f["y_true"],
        f["y_pred"],
        f["other"],
        sensitive_features=f["group"],
        metrics=metric,
        reference="a",
        **options,
    )


COMPARED = (
    "disparate_impact",
    "conditional_accuracy_1",
    "conditional_accuracy_0",
    "conditional_use_accuracy_1",
    "conditional_use_accuracy_0",
    *DIFFERENCES[:3],
)
for metric in COMPARED:
    _add(f"compare_models/{metric}/default", _models, "closed", metric)
    _add(
        f"compare_models/{metric}/weights-clusters",
        _models,
        "closed",
        metric,
        sample_weight=True,
        cluster=True,
        confidence_level=0.9,
    )


def _planning() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for side in SIDES:
        for rate, ratio in ((0.5, 0.6), (0.2, 0.95), (0.9, 1.05)):
            if (side == "less" and ratio > 0.8) or (side == "greater" and ratio < 0.8):
                continue
            key = f"{side} {rate} {ratio}"
            found[f"power {key}"] = call(
                "power_ratio", rate, ratio, n=300, n_reference=500, alternative=side
            )
            found[f"size {key}"] = call(
                "sample_size_ratio", rate, ratio, power=0.9, allocation=2.0, alternative=side
            )
    found["size greater"] = call(
        "sample_size_ratio", 0.5, 1.1, alternative="greater", confidence_level=0.9
    )
    found["power default"] = call("power_ratio", 0.4, 0.7, n=200)
    return found


_add("planning", _planning, "closed")


def _counts_of_rows() -> dict[str, Any]:
    f = simulated_frame()
    columns = {"sample_weight": f["weight"], "cluster": f["cluster"]}
    found = {
        "plain": call(
            "ConfusionCounts.from_arrays", f["y_true"], f["y_pred"], sensitive_features=f["group"]
        ),
        "weighted": call(
            "ConfusionCounts.from_arrays",
            f["y_true"],
            f["y_pred"],
            sensitive_features=f["group"],
            **columns,
        ),
    }
    return {
        key: {
            "cells": np.asarray(c.cells),
            "groups": c.groups,
            "sizes": c.group_sizes,
            "total": c.total(),
            "covariance": c.covariance() if callable(c.covariance) else c.covariance,
            "table": c.to_frame(),
        }
        for key, c in found.items()
    }


_add("confusion_counts", _counts_of_rows, "closed")
