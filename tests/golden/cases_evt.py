"""Cases of the extreme values: fits, levels, profiles, thresholds, tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tests.golden.api import call
from tests.golden.cases import Room

ROOM = Room("evt")
KINDS = ("exponential", "bounded", "heavy", "ties", "short", "uniform")

#: Cases at the edge of the parameters take their time.
SLOW = {("point_process", "uniform")}


@cache
def _series(kind: str) -> Any:
    rng = np.random.default_rng(99)
    if kind == "bounded":
        return rng.beta(2.0, 3.0, 4000)
    if kind == "heavy":
        return rng.pareto(3.0, 3000)
    if kind == "ties":
        return np.round(rng.exponential(size=2500), 1)
    if kind == "short":
        return rng.exponential(size=60)
    if kind == "uniform":
        return rng.random(800)
    if kind == "gumbel":
        return rng.gumbel(10.0, 2.0, 150)
    if kind == "frechet":
        return 5 + rng.weibull(4.0, 120) ** -1.0
    if kind == "weibull":
        return 8 - rng.weibull(2.5, 200)
    return rng.exponential(size=2000)


def _threshold(kind: str) -> float:
    x = np.sort(_series(kind))
    return float(x[-(21 if kind == "short" else 101)])


def _fit(model: str, kind: str, **options: Any) -> Any:
    x = _series(kind)
    if model == "gpd":
        return call("evt.fit_gpd", x, _threshold(kind), **options)
    if model == "point_process":
        return call("evt.fit_point_process", x, _threshold(kind), 100.0, **options)
    return call("evt.fit_gev", x, **options)


def _described(fit: Any) -> dict[str, Any]:
    x = _series("exponential")[:5]
    return {
        "fit": fit,
        "params": fit.params,
        "std_error": fit.std_error,
        "criteria": [fit.loglik, fit.aic, fit.bic],
        "counts": [fit.n_exceedances, fit.rate],
        "laws": [fit.cdf(x), fit.sf(x), fit.quantile([0.5, 0.9, 0.999])],
        "intervals": [fit.interval(p) for p in fit.params],
    }


def _levels(fit: Any, m: float) -> dict[str, Any]:
    found: dict[str, Any] = {"profile": fit.return_level(m)}
    if fit.shape > -0.5:  # elsewhere no standard error exists
        found["delta"] = fit.return_level(m, method="delta")
    found["fixed rate"] = fit.return_level(m, rate="fixed")
    found["90%"] = fit.return_level(10 * m, confidence_level=0.9)
    level = found["profile"].estimate
    found["test"] = fit.test_return_level(m, 1.05 * level)
    found["exceedance"] = fit.exceedance_probability(level)
    found["endpoint"] = fit.endpoint()
    found["type"] = call("evt.tail_type", fit) if fit.model != "gev" else None
    found["profiles"] = [fit.profile(p) for p in fit.params]
    return found


for _model in ("gpd", "point_process"):
    for _kind in KINDS:
        ROOM.add(
            f"{_model}/{_kind}/fit",
            lambda _, m=_model, k=_kind: _described(_fit(m, k)),  # type: ignore[misc]
            "optimised",
            slow=(_model, _kind) in SLOW,
        )
        ROOM.add(
            f"{_model}/{_kind}/levels",
            lambda _, m=_model, k=_kind: _levels(_fit(m, k), 5000.0),  # type: ignore[misc]
            "optimised",
            slow=(_model, _kind) in SLOW,
        )
for _kind in ("gumbel", "frechet", "weibull"):
    ROOM.add(f"gev/{_kind}/fit", lambda _, k=_kind: _described(_fit("gev", k)), "optimised")  # type: ignore[misc]
    ROOM.add(f"gev/{_kind}/levels", lambda _, k=_kind: _levels(_fit("gev", k), 50.0), "optimised")  # type: ignore[misc]
for _model, _kind in (("gpd", "bounded"), ("point_process", "heavy"), ("gev", "gumbel")):
    ROOM.add(
        f"{_model}/{_kind}/lmoments",
        lambda _, m=_model, k=_kind: _described(
            _fit(m, k, method="lmoments", confidence_level=0.9)
        ),  # type: ignore[misc]
        "optimised",
    )


def _simulated_levels(model: str, kind: str, m: float, seed: int) -> dict[str, Any]:
    fit = _fit(model, kind)
    level = fit.return_level(m).estimate
    return {
        "bootstrap": fit.return_level(m, method="bootstrap", n_resamples=99, rng=seed),
        "calibrated": fit.return_level(m, calibrated=True, n_resamples=99, rng=seed),
        "test": fit.test_return_level(m, 1.1 * level, n_resamples=99, rng=seed),
        "anderson": fit.goodness_of_fit(n_resamples=99, rng=seed),
        "cramer": call("evt.goodness_of_fit", fit, "cramer_von_mises", n_resamples=99, rng=seed),
    }


for _model, _kind, _m in (
    ("gpd", "bounded", 5000.0),
    ("point_process", "exponential", 5000.0),
    ("gev", "gumbel", 50.0),
):
    ROOM.add(
        f"{_model}/{_kind}/simulated",
        lambda seed, a=(_model, _kind, _m): _simulated_levels(*a, seed),  # type: ignore[misc]
        "seeded",
        repeats=4,
    )


def _descriptive(kind: str) -> dict[str, Any]:
    x = _series(kind)
    given = np.quantile(x, [0.5, 0.7, 0.8])
    return {
        "residual life": call("evt.mean_residual_life", x),
        "residual life, given": call("evt.mean_residual_life", x, given, confidence_level=0.9),
        "stability": call("evt.threshold_stability", x, n_thresholds=6),
        "empirical": [call("evt.empirical_return_level", x, m) for m in (20.0, 50.0)],
        "largest": call("evt.choose_threshold", x, method="k_largest", k=20),
    }


for _kind in KINDS:
    ROOM.add(f"descriptive/{_kind}", lambda _, k=_kind: _descriptive(k), "optimised")  # type: ignore[misc]


def _tests(kind: str, seed: int) -> dict[str, Any]:
    x = _series(kind)
    found = {
        rule: call("evt.exponentiality_test", x, rule=rule, n_resamples=499, rng=seed)
        for rule in ("max_cv", "paper_excess", "paper_raw")
    }
    found["looks"] = call(
        "evt.exponentiality_test", x, k_min=8, k_max=40, max_looks=5, n_resamples=499, rng=seed
    )
    return found


for _kind in ("exponential", "bounded", "heavy", "ties"):
    ROOM.add(f"exponentiality_test/{_kind}", lambda seed, k=_kind: _tests(k, seed), "seeded")  # type: ignore[misc]
for _kind in ("exponential", "heavy"):
    ROOM.add(
        f"choose_threshold/{_kind}",
        lambda seed, k=_kind: call(  # type: ignore[misc]
            "evt.choose_threshold", _series(k), n_thresholds=4, n_resamples=49, rng=seed
        ),
        "seeded",
        repeats=4,
    )
