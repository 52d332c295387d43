"""Cases of Uncertainty Matters: posteriors, comparisons, cross-validation, several classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.golden.api import call
from tests.golden.cases import Room
from tests.golden.data import bundled, empty_counts, simulated, simulated_frame

ROOM = Room("um")

#: Draws of a posterior, and seeds that it is recorded with.
DRAWS = 100_000
REPEATS = 16

RATES = (
    "accuracy",
    "balanced_accuracy",
    "f1",
    "tpr",
    "tnr",
    "fpr",
    "fnr",
    "ppv",
    "npv",
    "selection_rate",
    "base_rate",
    "mcc",
    "error_ratio",
)
FAIRNESS = (
    "demographic_parity",
    "equal_opportunity",
    "predictive_equality",
    "predictive_parity",
    "treatment_equality",
)


def _named(counts: dict[str, tuple[float, ...]]) -> dict[str, dict[str, float]]:
    return {g: {"tp": tp, "fp": fp, "fn": fn, "tn": tn} for g, (tp, fp, fn, tn) in counts.items()}


def _metrics(posterior: Any, names: Any) -> Any:
    return posterior.to_frame(metrics=names)


def _summary(posterior: Any, *, two: bool = False) -> dict[str, Any]:
    gaps = [f"{name}{end}" for name in FAIRNESS for end in ("", "_absolute", "_ratio", "_max")]
    return {
        "title": posterior.title,
        "notes": posterior.notes(),
        "groups": list(posterior.groups),
        "reference": posterior.reference,
        "n_draws": posterior.n_draws,
        "target": posterior.target,
        "default": posterior.to_frame(),
        "rates": _metrics(posterior, RATES),
        "fairness": _metrics(posterior, gaps),
        "wider": posterior.to_frame(metrics=["accuracy", "equal_opportunity"], prob=0.8, rope=0.05),
        "tpr by group": posterior.metric("tpr", by_group=True).mean(axis=0),
        "equalized odds": posterior.metric("equalized_odds_max").reshape(DRAWS, -1).mean(axis=0),
        "hdr": posterior.hdr("accuracy").to_frame() if two else None,
    }


def _posterior(data: str, seed: int, **options: Any) -> Any:
    settings = {"draws": DRAWS, "rng": seed, **options}
    if data == "empty":
        return call("um_posterior", counts=_named(empty_counts()), reference="a", **settings)
    if data == "effective":
        counts: Any = {"a": (40.25, 9.5, 12.75, 38.0), "b": (20.5, 6.0, 11.25, 30.0)}
        return call("um_posterior", counts=_named(counts), reference="a", **settings)
    if data == "sex":
        f = simulated_frame()
        return call(
            "um_posterior", f["y_true"], f["y_pred"], sensitive_features=f["sex"], **settings
        )
    rows = simulated() if data == "simulated" else bundled(data)
    return call(
        "um_posterior",
        rows.y_true,
        rows.y_pred,
        sensitive_features=rows.group,
        reference=rows.reference,
        **settings,
    )


def _add(name: str, data: str, **options: Any) -> None:
    two = data == "sex" and not options
    ROOM.add(
        f"posterior/{name}",
        lambda seed: _summary(_posterior(data, seed, **options), two=two),
        "seeded",
        repeats=REPEATS,
    )


_add("simulated", "simulated")
_add("two-groups", "sex")
_add("empty-cells", "empty")
_add("effective-counts", "effective")
_add("predictive", "sex", target="predictive")
_add("jeffreys", "sex", prior=0.5)
_add("prior-of-cells", "sex", prior={"tp": 2.0, "tn": 1.0, "fp": 0.5, "fn": 3.0})
for _data in ("german", "ricci", "adult-besse", "compas-besse"):
    _add(_data, _data)


def _observed() -> dict[str, Any]:
    """What no draw touches, compared exactly."""
    found = {}
    for data in (
        "simulated",
        "sex",
        "empty",
        "effective",
        "german",
        "ricci",
        "adult-besse",
        "compas-besse",
    ):
        table = _posterior(data, 1, draws=1000).to_frame(metrics=[*RATES, *FAIRNESS])
        found[data] = table[["metric", "group", "reference", "n", "observed"]]
    return found


ROOM.add("observed", lambda _: _observed(), "closed")


def _compare(
    seed: int, *, paired: Any = "auto", target: str = "parameter", **options: Any
) -> dict[str, Any]:
    f = simulated_frame()
    common = {"sensitive_features": f["sex"], "draws": DRAWS, "target": target}
    first = call("um_posterior", f["y_true"], f["y_pred"], rng=seed, **common)
    second = call("um_posterior", f["y_true"], f["other"], rng=seed + 1000, **common)
    found = call("um_compare", first, second, paired=paired, rng=seed + 2000, **options)
    return {
        "table": found.to_frame(),
        "sensitivity": found.sensitivity(),
        "a": found.p_a_better,
        "b": found.p_b_better,
        "equal": found.p_equivalent,
        "paired": found.paired,
        "mean delta": found.delta.mean(axis=0),
        "sd delta": found.delta.std(axis=0),
        "notes": found.notes(),
    }


for _name, _options in {
    "paired": {},
    "unpaired": {"paired": False},
    "predictive": {"target": "predictive"},
    "three-metrics": {
        "metrics": ("accuracy", "tpr", "demographic_parity"),
        "rope": (0.01, 0.02, 0.05),
    },
    "rope-0": {"rope": 0.0},
}.items():
    ROOM.add(
        f"compare/{_name}",
        lambda seed, options=_options: _compare(seed, **options),  # type: ignore[misc]
        "seeded",
        repeats=REPEATS,
    )


def _ranking(seed: int) -> dict[str, Any]:
    f = simulated_frame()
    models = {"one": f["y_pred"], "two": f["other"], "three": (f["x1"] > 0.2).astype(int)}
    posteriors = {
        name: call(
            "um_posterior",
            f["y_true"],
            y_pred,
            sensitive_features=f["sex"],
            draws=DRAWS,
            rng=seed + 10 * k,
        )
        for k, (name, y_pred) in enumerate(models.items())
    }
    found = call("um_compare", posteriors, rng=seed + 5000)
    return {
        "table": found.to_frame(),
        "matrix": found.matrix(),
        "pareto": found.pareto(),
        "notes": found.notes(),
    }


ROOM.add("ranking", _ranking, "seeded", repeats=REPEATS)


def _cross_validated(seed: int, *, fixed: bool, **options: Any) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    f = simulated_frame()
    settings: dict[str, Any] = {
        "sensitive_features": f["sex"],
        "draws": DRAWS,
        "rng": seed,
        "progress": False,
    }
    if fixed:  # nothing random but the draws
        fold = np.arange(len(f)) % 5
        found = call(
            "um_cross_validate",
            None,
            None,
            f["y_true"],
            y_pred=f["y_pred"],
            fold=fold,
            **settings,
            **options,
        )
    else:
        model = LogisticRegression()
        features = f[["x1", "x2"]].to_numpy() * [[0.3, 1.0]]
        found = call("um_cross_validate", model, features, f["y_true"], cv=4, **settings, **options)
    cv = found.cross_validation
    return {
        "table": found.to_frame(),
        "notes": found.notes(),
        "rho": cv.rho,
        "factor": cv.factor,
        "clipped": cv.clipped,
        "n": np.asarray(cv.fold_cells).sum(axis=-1),
        "ratio": cv.variance_ratio,
    }


for _name, _options in {
    "fixed-1-K": {"fixed": True, "correlation": "1/K"},
    "fixed-uniform": {"fixed": True, "correlation": "uniform"},
    "fixed-relative": {
        "fixed": True,
        "correlation": "relative",
        "variance_ratio": {"f": 1.5, "m": 0.7},
    },
    "fixed-relative-uniform": {
        "fixed": True,
        "correlation": "relative-uniform",
        "variance_ratio": 0.8,
    },
    "fitted-1-K": {"fixed": False, "correlation": "1/K"},
    "fitted-relative": {
        "fixed": False,
        "correlation": "relative",
        "n_half_splits": 2,
        "correlation_metric": "accuracy",
    },
}.items():
    ROOM.add(
        f"cross_validate/{_name}",
        lambda seed, options=_options: _cross_validated(seed, **options),  # type: ignore[misc]
        "seeded",
        repeats=REPEATS if _options["fixed"] else 6,
    )


def _multiclass(seed: int, **options: Any) -> Any:
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, 500)
    guess = np.where(rng.random(500) < 0.7, y, rng.integers(0, 3, 500))
    group = rng.choice(["u", "v", "w"], 500)
    found = call(
        "um_multiclass", y, guess, sensitive_features=group, draws=DRAWS, rng=seed, **options
    )
    return {"table": found.to_frame(), "notes": found.notes()}


ROOM.add("multiclass/default", lambda seed: _multiclass(seed), "seeded", repeats=REPEATS)
ROOM.add(
    "multiclass/predictive",
    lambda seed: _multiclass(seed, target="predictive"),
    "seeded",
    repeats=REPEATS,
)


def _sampled(seed: int) -> dict[str, Any]:
    counts = _named(
        {"a": (50, 5, 5, 40), "b": (30, 4, 4, 22), "c": (9, 2, 1, 8), "d": (3, 0, 1, 2)}
    )
    pooled = call(
        "um_hierarchical", counts, draws=1000, chains=2, tune=500, reference="a", rng=seed
    )
    return {
        "table": pooled.to_frame(metrics=["accuracy", "tpr_max"])[
            ["metric", "group", "estimate", "std_error"]
        ]
    }


ROOM.add("hierarchical", _sampled, "seeded", repeats=8, slow=True)
