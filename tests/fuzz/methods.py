"""How the methods of public classes are called.

Objects of every family, and arguments that each method takes.

The objects are what good calls of the public functions return, and what hangs on them by public
fields and properties; `tests.fuzz.public` says which classes and methods there must be."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.ground.errors import FairstatsError, FairstatsWarning
from fairstats.methods.rates.models.compare import amplification
from fairstats.report.crosscheck.check import Check
from tests.fuzz.calls import Call, calls, drawn
from tests.fuzz.public import methods, public_classes

#: Family → public calls whose answers it is made of; what else it needs is in `_further`.
MADE_BY: dict[str, tuple[str, ...]] = {
    "ground": ("tally",),
    "rates": (
        "disparate_impact",
        "demographic_parity_difference",
        "equalized_odds_difference",
        "abroca",
        "means",
        "decompose",
        "compare_models",
        "power_ratio",
        "subgroups",
        "rates.interval",
        "rates.stratified",
    ),
    "madd": ("madd", "madd_curve"),
    "hfm": ("hfm", "set_distance", "discriminative_risk", "hfm_experiment", "rank_rules"),
    "um": (
        "um_posterior",
        "um_multiclass",
        "um_compare",
        "um_cross_validate",
        "um_compare_estimators",
    ),
    "ecd": ("sample_tail", "synthetic_quality", "scott_knott"),
    "hdr": ("hdr",),
    "evt": (
        "evt.fit_gpd",
        "evt.fit_gpd by covariates",
        "evt.extremal_index",
        "evt.exponentiality_test",
        "evt.goodness_of_fit",
        "evt.average_return_level",
        "evt.mean_residual_life",
        "evt.tail_type",
        "evt.threshold_stability",
        "evt.threshold_tests",
        "evt.empirical_return_level",
    ),
    "report": ("replication",),
}

#: Family → where its classes are defined.
HOME = {
    "ground": ("fairstats.ground.",),
    "rates": (
        "fairstats.methods.rates.",
        "fairstats.numerics.rates.",
        "fairstats.numerics.paired.",
    ),
    "madd": ("fairstats.methods.madd.",),
    "hfm": ("fairstats.methods.hfm.",),
    "um": ("fairstats.methods.um.",),
    "ecd": ("fairstats.methods.ecd.",),
    "hdr": ("fairstats.numerics.hdr.",),
    "evt": ("fairstats.numerics.evt.",),
    "report": ("fairstats.report.", "fairstats.methods.rates.worst_case"),
}

#: Classes of which no object is tried, with the reason.
NO_OBJECT = {
    "Result": "the base of results, which are all tried",
    "ComparisonResult": "the base of RatioResult and its like",
    "TailEstimate": "the base of estimates of tails",
    "TailTest": "the base of tests of tails",
    "FittedTail": "the base of EvtFit",
    "CellCounts": "the base of tables of counts",
    "Dataset": "a tuple of a frame and its description",
}


def _people() -> pd.DataFrame:
    """Rows with everything that a tally can count."""
    rng = np.random.default_rng(3)
    n = 160
    frame = pd.DataFrame(
        {"y": rng.integers(0, 2, n), "p": rng.integers(0, 2, n), "q": rng.integers(0, 2, n)}
    )
    frame["sex"] = ["f", "m"] * (n // 2)
    frame["race"] = (["a", "b", "b", "c"] * n)[:n]
    frame["town"] = ["n"] * (n // 2) + ["s"] * (n // 2)
    frame["s"] = rng.random(n).round(2)
    frame["t"] = rng.random(n).round(2)
    return frame


def _chances(people: pd.DataFrame) -> Any:
    """A probability of every row, by any proxy."""
    return np.random.default_rng(4).uniform(0.1, 0.9, len(people))


def _mitigator() -> fs.MaddMitigator:
    call = calls()["MaddMitigator"].good
    chosen = {
        name: call[name]
        for name in ("theta", "loss", "n_lambdas", "bandwidth", "splits", "random_state")
    }
    mitigator = fs.MaddMitigator(**chosen)
    return mitigator.fit(call["score"], call["y"], sensitive_features=call["sensitive_features"])


def _search() -> fs.EcdSearch:
    good = dict(calls()["EcdSearch"].good)
    X = good.pop("X")
    y = good.pop("y")
    return fs.EcdSearch(good.pop("estimator"), good.pop("param_distributions"), **good).fit(X, y)


def _further(family: str) -> list[Any]:
    """Objects of a family that no entry of `calls` returns."""
    people = _people()
    if family == "ground":
        plain = fs.tally(people, y_true="y", y_pred="p", sensitive_features=["sex", "race"])
        features = fs.tally(
            people,
            y_true="y",
            y_pred="p",
            sensitive_features="sex",
            score="s",
            counterfactual_score="t",
            features=["town"],
        )
        within = fs.tally(people, y_true="y", y_pred="p", sensitive_features="sex", strata="town")
        two = fs.tally(people, y_true="y", y_pred="p", y_pred_b="q", sensitive_features="sex")
        several = fs.tally(people, y_pred="race", sensitive_features="sex", classes=True)
        parts = [
            several.of_classes(),
            features.extremes(),
            features.rows(),
            features.histogram(),
            within.strata(),
            two.paired(),
            fs.tally(people, outcome="s", sensitive_features="sex").numbers(),
            fs.results.SizeCounts.from_counts({"a": (20,), "b": (30,)}),
        ]
        return [plain, *parts, plain.selection(), fs.results.Interval(0.2, 0.7, 0.95, "wilson")]
    if family == "rates":
        columns = {"sensitive_features": people["sex"], "strata": people["town"]}
        within = [
            fs.disparate_impact(people["p"], **columns),
            fs.demographic_parity_difference(people["y"], people["p"], **columns),
        ]
        odds = fs.group_metric(
            people["y"],
            people["p"],
            metric="tpr",
            contrast="odds_ratio",
            sensitive_features=people["sex"],
        )
        counts = fs.ConfusionCounts.from_arrays(
            people["y"], people["p"], sensitive_features=people["sex"]
        )
        amplified = amplification(counts, None, within[0].settings)
        within.append(
            fs.equalized_odds_difference(
                people["y"], people["p"], sensitive_features=people["sex"], agg="max"
            )
        )
        page = fs.adverse_impact(people, selected="p", sex="sex", race="race", template="ll144")
        settings = fs.results.MonitorSettings(
            planned=400, sensitive_features=("sex",), y_true="y", y_pred="p", reference="f"
        )
        tallied = fs.tally(people, y_true="y", y_pred="p", sensitive_features="sex")
        numbers = people["s"] + 1
        races = (people["race"], people["race"].to_numpy()[::-1])
        of_classes = [
            fs.group_metric(
                *races,
                metric="tpr",
                contrast=contrast,
                sensitive_features=people["sex"],
                classes="one-vs-rest",
            )
            for contrast in ("ratio", "difference", "odds_ratio", "gap")
        ]
        by_sex = {"sensitive_features": people["sex"]}
        for contrast in ("ratio", "difference", "odds_ratio"):
            result = fs.group_metric(
                *races,
                metric="tpr",
                contrast=contrast,
                classes="one-vs-rest",
                strata=people["town"],
                **by_sex,
            )
            of_classes.append(result.stratified)
        for contrast in ("ratio", "difference"):
            curve = fs.scores(
                people["y"],
                people["s"],
                metric="tpr",
                cutoffs=[0.3],
                contrast=contrast,
                strata=people["town"],
                **by_sex,
            )
            of_classes.append(curve.stratified)
        chances = _chances(people)
        many = [
            fs.scores(people["y"], people["s"], metric="tpr", cutoffs=[0.3, 0.6], **by_sex),
            fs.scores(
                people["y"], people["s"], metric="tpr", cutoffs=[0.3], contrast="ratio", **by_sex
            ),
            fs.disparate_impact(
                people["p"], sensitive_probabilities={"f": chances, "m": 1 - chances}, rng=1
            ),
            fs.group_metric(
                people["y"], people["p"], metric="equalized_odds_ratio", agg="min", **by_sex
            ),
            fs.equalized_odds_difference(people["y"], people["p"], agg="mean", **by_sex),
            fs.group_metric(
                y_pred=people["p"], metric="conditional_demographic_disparity", **by_sex
            ),
            fs.group_metric(
                people["y"],
                people["p"],
                metric="tpr",
                contrast="odds_ratio",
                strata=people["town"],
                **by_sex,
            ),
        ]
        return [
            *within,
            *of_classes,
            *many,
            fs.means(numbers, sensitive_features=people["sex"], contrast="ratio"),
            *(
                fs.means(
                    numbers,
                    sensitive_features=people["sex"],
                    contrast=contrast,
                    strata=people["town"],
                ).stratified
                for contrast in ("ratio", "difference")
            ),
            fs.results.MonitorResult(settings=settings)
            .add("one", "1", tallied)
            .add("two", "2", tallied),
            amplified,
            odds,
            page,
            fs.adverse_impact(people, selected="p", sex="sex", race="race"),
        ]
    if family == "madd":
        mitigator = _mitigator()
        evaluated = mitigator.evaluate(
            people["s"],
            people["y"],
            sensitive_features=people["sex"].replace({"f": "u", "m": "v"}),
            n_resamples=99,
        )
        return [mitigator, evaluated, fs.stable_bandwidth(**calls()["stable_bandwidth"].good)]
    if family == "ecd":
        rng = np.random.default_rng(2)
        smooth = {"a": 0.3 * rng.beta(2, 8, 2000), "b": 0.5 * rng.beta(2, 8, 1000)}
        pilot = fs.ecd(smooth, backend="scipy", n_resamples=0, rng=1)
        return [
            pilot,
            _search(),
            fs.results.CounterfactualSample.from_values(calls()["ecd"].good["sample"]),
        ]
    if family == "um":
        several = calls()["um_multiclass"]
        return [several.function(**several.good).counts]
    if family == "evt":
        gpd = calls()["evt.tail_type"].good["fit"]
        by_covariates = calls()["evt.fit_gpd by covariates"]
        levels = by_covariates.function(**by_covariates.good).return_level(
            20, at={"age": [0.2, 0.8], "town": ["n", "s"]}
        )
        answers = [
            gpd.return_level(20),
            gpd.endpoint(),
            gpd.exceedance_probability(3.0),
            gpd.test_shape(0.0),
        ]
        chosen = fs.evt.choose_threshold(gpd.sample, k=20, method="k_largest")
        return [levels, *answers, gpd.profile("shape"), chosen]
    if family == "report":
        known = people.assign(y=people["y"].astype(float).where(people.index > 5))
        report = fs.audit(
            known,
            y_true="y",
            y_pred="p",
            sensitive_features="sex",
            missing="drop",
            n_resamples=100,
            rng=1,
        )
        check = Check(
            "estimate", "disparate_impact", "f", "m", 0.5, 0.5, "base::mean", 1e-9, "agrees"
        )
        return [
            report.screen(),
            report,
            fs.results.Crosscheck((check,), "an audit", "4.2.2", fs.__version__),
        ]
    return []


def _hanging_on(thing: Any, held: dict[type, Any], depth: int = 6) -> None:
    """Keep one object of every class of the package among a thing and its public fields and
    properties.
    """
    if isinstance(thing, Mapping):
        thing = list(thing.values())
    if isinstance(thing, (list, tuple)):
        for part in thing[:40]:
            _hanging_on(part, held, depth)
    kind = type(thing)
    if not kind.__module__.startswith("fairstats.") or kind in held or depth == 0:
        return
    held[kind] = thing
    for name in dir(kind) if not hasattr(thing, "__dataclass_fields__") else dir(thing):
        if name.startswith("_"):
            continue
        try:
            part = getattr(thing, name)
        except (FairstatsError, AttributeError):  # what the class lacks, or a sample without rows
            continue
        if not callable(part):
            _hanging_on(part, held, depth - 1)


@cache
def objects(family: str) -> dict[type, Any]:
    """Public class of a family → an object of it."""
    held: dict[type, Any] = {}
    public = public_classes()
    with fs.use_backend("scipy"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the rows are few
        made = [
            *_further(family),
            *(calls()[name].function(**calls()[name].good) for name in MADE_BY[family]),
        ]
        for thing in made:
            _hanging_on(thing, held)
    return {
        kind: thing
        for kind, thing in held.items()
        if kind in public and kind.__module__.startswith(HOME[family])
    }


def _first_group(result: Any) -> dict[str, Any]:
    """The group of the first comparison; a result without groups refuses whatever is asked for."""
    if "__getitem__" in result.lacks:
        return {"group": "a"}
    first = result.comparisons[0]
    return {"group": (first.group, first.reference) if first.reference else first.group}


def _rows_of_mitigation(mitigator: Any) -> dict[str, Any]:
    call = calls()["MaddMitigator"].good
    return {"X": call["score"], "sensitive_features": call["sensitive_features"], "lambda_": None}


def _rows_of_fit(mitigator: Any) -> dict[str, Any]:
    call = calls()["MaddMitigator"].good
    rows = {name: call[name] for name in ("y", "sensitive_features")}
    return {"X": call["score"], **rows, "sample_weight": None}


def _rows_of_search(search: Any) -> dict[str, Any]:
    return {"X": calls()["EcdSearch"].good["X"]}


def _of_metrics(posterior: Any) -> dict[str, Any]:
    return {"metrics": ["accuracy"], "prob": 0.9, "rope": 0.1}


def _paths(ending: str, **further: Any) -> Callable[[Any], dict[str, Any]]:
    """A path in the folder in which the test runs, and other arguments."""
    return lambda _: {"path": f"out.{ending}", **further}


def _same(**arguments: Any) -> Callable[[Any], dict[str, Any]]:
    """The same arguments for every object."""
    return lambda _: arguments


def _itself(thing: Any) -> dict[str, Any]:
    return {"other": thing}


_POINTS = _same(x=[1.0, 2.0, 3.0])

#: "Class that defines it.method" → the arguments that an object's method takes.
ARGUMENTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    # ------------------------------------------------ results of every family
    "Result.__getitem__": _first_group,
    "Result.from_dict": lambda result: {"data": result.to_dict()},
    "Interval.__contains__": _same(value=0.5),
    "Interval.words": _same(number=".3f", alternative="less"),
    # ------------------------------------------------ ground
    "Tally.__add__": _itself,
    "Tally.add": lambda tally: {"other": tally, "disjoint_clusters": False},
    "Tally.by": lambda tally: {"attributes": (tally.attributes[0],)},
    "Tally.from_frame": lambda _: {
        "answer": pd.DataFrame({"sex": ["f", "m"], "p": [1, 0], "number_of_rows": [20, 30]}),
        "y_pred": "p",
        "sensitive_features": "sex",
        "number": "number_of_rows",
        "pos_label": None,
        "label_values": None,
    },
    "Tally.from_json": lambda tally: {"source": tally.to_json(exact=True)},
    "Tally.to_json": _paths("json", exact=False),
    "Tally.withheld": _same(min_cell=2),
    "CellCounts.__add__": _itself,
    "CellCounts.total": lambda table: {"cells": table.cells[:2]},
    "CellCounts.from_counts": lambda table: {
        "counts": {"a": [5] * len(table.cells), "b": [7] * len(table.cells)},
        "groups": ["b", "a"],
        "left_out": 3,
    },
    "CellCounts.from_effective": lambda table: {
        "counts": {"a": dict.fromkeys(table.cells, 5.5), "b": dict.fromkeys(table.cells, 7.0)}
    },
    "ConfusionCounts.from_arrays": lambda _: dict(calls()["ConfusionCounts.from_arrays"].good),
    "ConfusionCounts.from_frame": lambda _: dict(calls()["ConfusionCounts.from_frame"].good),
    "PairedCounts.confusion": _same(model=1),
    "StratumCounts.total": lambda table: {"cells": table.cells[:2]},
    "ScoreCounts.__add__": _itself,
    "TailCounts.__add__": _itself,
    "RowCounts.__add__": _itself,
    "ClassCounts.__add__": _itself,
    "ClassCounts.one_against_rest": lambda counts: {"label": counts.classes[0]},
    "ClassCounts.from_tables": lambda _: {
        "tables": {"a": [[3, 1], [2, 4]], "b": [[5, 2], [1, 3]]},
        "classes": ["no", "yes"],
    },
    "_OfClasses.of_class": lambda result: {"label": result.class_counts.classes[0]},
    "MomentCounts.__add__": _itself,
    "MomentCounts.means": lambda moments: {"column": moments.columns[0]},
    "MomentCounts.variance_of_mean": lambda moments: {"column": moments.columns[0]},
    "MomentCounts.third_cumulant_of_mean": lambda moments: {"column": moments.columns[0]},
    "MissingReport.__add__": _itself,
    # ------------------------------------------------ rates
    "ComparisonResult.plot": _same(ax=None),
    "AbrocaResult.plot": _same(ax=None, kind="roc", group=None),
    "AbrocaResult.roc": lambda result: {"group": result.comparisons[0].reference},
    "CurveResult.plot": _same(ax=None, kind="groups", group=None),
    "CurveResult.picture": _same(kind="groups", group=None),
    "CurveResult.__getitem__": lambda result: {"key": result.comparisons[0].group},
    "CurveResult.curve_of": lambda result: {
        "group": result.comparisons[0].group,
        "reference": result.comparisons[0].reference,
    },
    "ModelComparison.plot": _same(ax=None, kind="forest", metric=None),
    "OfPairs.pair": lambda result: {
        "model": result.pairs[0].model,
        "baseline": result.pairs[0].baseline,
    },
    "AdverseImpact.by": lambda result: {"attributes": result.tables[0].by},
    "AdverseImpact.plot": _same(ax=None),
    "AdverseImpact.to_csv": _paths("csv"),
    "AdverseImpact.to_html": _paths("html"),
    "ImpactTable.bounds_of": lambda table: {"group": table.counts.groups[0]},
    "PowerResult.plot": _same(ax=None),
    "MonitorResult.add": lambda result: {
        "name": "next month",
        "digest": "of the next month",
        "counts": result.files[-1].tally,
        "clusters": None,
    },
    "MonitorResult.changes": _same(n_before=1),
    "MonitorResult.drift": _same(n_before=1, n_after=1),
    "MonitorResult.drift_sentences": _same(n_before=1, n_after=1),
    "MonitorResult.plot": _same(ax=None),
    "SubgroupResult.plot": _same(ax=None),
    "InferredResult.plot": _same(ax=None),
    # ------------------------------------------------ madd
    "MaddCurve.plot": _same(ax=None, stable=None),
    "MaddResult.__getitem__": _first_group,
    "MaddResult.plot": _same(ax=None, kind="histograms"),
    "MaddMitigator.fit": _rows_of_fit,
    "MaddMitigator.fit_transform": _rows_of_fit,
    "MaddMitigator.transform": _rows_of_mitigation,
    "MaddMitigator.predict": _rows_of_mitigation,
    "MaddMitigator.predict_proba": _rows_of_mitigation,
    "MaddMitigator.score": _rows_of_fit,
    "MaddMitigator.evaluate": lambda mitigator: {
        **_rows_of_fit(mitigator),
        "reference": None,
        "margin": 0.2,
        "n_resamples": 99,
        "comparisons": "auto",
    },
    "MaddMitigator.get_feature_names_out": _same(input_features=None),
    "MaddMitigator.plot": _same(ax=None, kind="losses"),
    "MitigationResult.change": _same(metric="accuracy", group="u"),
    "MitigationResult.plot": _same(ax=None),
    # ------------------------------------------------ hfm
    "HfmExperiment.scores": lambda result: {"rule": result.rules[1], "measure": "", "alpha": 0.3},
    "HfmExperiment.compare": lambda result: {"measure": result.rules[1]},
    "HfmExperiment.ranking": lambda result: {"measure": result.rules[1]},
    "HfmExperiment.wins": lambda result: {"measure": result.rules[1]},
    "HfmExperiment.tradeoff": lambda result: {"alphas": [0.0, 0.5], "measure": result.rules[1]},
    "HfmExperiment.plot": _same(ax=None),
    "HfmResult.__getitem__": lambda result: {"group": result.entries[0].group},
    "HfmResult.entry": lambda result: {
        "attribute": result.entries[0].attribute,
        "group": result.entries[0].group,
    },
    "HfmResult.plot": _same(ax=None),
    "DiscriminativeRiskResult.__getitem__": lambda result: {"group": result.comparisons[0].group},
    "RankingResult.plot": _same(ax=None),
    # ------------------------------------------------ um
    "UmPosterior.__getitem__": lambda posterior: {"group": posterior.groups[0]},
    "UmPosterior.metric": _same(name="accuracy", group=None, by_group=True, n_jobs=None),
    "UmPosterior.metrics": _same(names=["accuracy"], group=None, by_group=True, n_jobs=None),
    "UmPosterior.hdr": lambda posterior: {
        "names": ["accuracy"],
        "prob": 0.9,
        "group": posterior.groups[0],
        "backend": "scipy",
    },
    "UmPosterior.plot": _same(metrics=["accuracy", "tpr"], ax=None, prob=0.9, rope=0.1),
    "UmPosterior.summary": _of_metrics,
    "UmPosterior.to_frame": _of_metrics,
    "UmComparison.__getitem__": lambda result: {"event": result.comparisons[0].event},
    "UmComparison.plot": _same(ax=None),
    "UmEstimators.__getitem__": lambda result: {"estimator": result.comparisons[0].group},
    "UmEstimators.plot": _same(ax=None),
    "UmRanking.__getitem__": lambda result: {"algorithm": result.comparisons[0].group},
    # ------------------------------------------------ ecd
    "EcdResult.__getitem__": lambda result: {"group": result.privileged},
    "EcdResult.plot": _same(axes=None),
    "Average.inference": _same(confidence_level=0.9),
    "EcdResult.rows_for": _same(width=0.1),
    "CounterfactualSample.__getitem__": _same(group="a"),
    "CounterfactualSample.cvar": _same(group="a", level=0.9),
    "CounterfactualSample.difference": _same(unprivileged="b", privileged="a"),
    "CounterfactualSample.extremes": _same(group="a", k=3),
    "CounterfactualSample.from_tally": lambda _: {
        "tally": _tally_of_tails(),
        "confidence_level": 0.9,
    },
    "CounterfactualSample.from_values": _same(
        values={"a": [0.1, 0.2, 0.3], "b": [0.0, 0.1]},
        attribute="sex",
        n_synthetic={"a": 1},
        confidence_level=0.9,
    ),
    "CounterfactualSample.of_groups": lambda sample: {
        "groups": sample.groups,
        "attribute": "sex",
        "confidence_level": 0.9,
    },
    "CounterfactualSample.plot": _same(tails=(), ax=None),
    "CounterfactualSample.quantile": _same(group="a", probability=0.9),
    "GroupSample.cvar": _same(level=0.9),
    "ScottKnott.__getitem__": lambda result: {"name": result.treatments[0].name},
    "EcdSearch.fit": lambda search: {
        **_rows_of_search(search),
        "y": calls()["EcdSearch"].good["y"],
    },
    "EcdSearch.predict": _rows_of_search,
    "EcdSearch.predict_proba": _rows_of_search,
    # ------------------------------------------------ hdr
    "HdrResult.__getitem__": lambda result: {"prob": result.regions[0].prob},
    "HdrResult.contains": _same(points=[0.5, 1.0], prob=0.9),
    "HdrResult.pieces": lambda result: {"prob": result.regions[0].prob},
    "HdrResult.plot": _same(ax=None),
    # ------------------------------------------------ evt
    "FittedTail.cdf": _POINTS,
    "FittedTail.sf": _POINTS,
    "FittedTail.quantile": _same(p=[0.1, 0.5, 0.9]),
    "FittedTail.rvs": _same(size=3, rng=1),
    "EvtFit.return_level": _same(
        m=20,
        method="profile",
        rate="estimated",
        confidence_level=0.9,
        calibrated=False,
        n_resamples=99,
        rng=1,
    ),
    "EvtFit.test_return_level": _same(m=20, level=3.0, method="profile", n_resamples=0, rng=1),
    "EvtFit.test_shape": _same(null=0.0, method="profile"),
    "EvtFit.profile": _same(parameter="shape", confidence_level=0.9),
    "EvtFit.interval": _same(parameter="shape", confidence_level=0.9, method="profile"),
    "EvtFit.endpoint": _same(method="profile", confidence_level=0.9),
    "EvtFit.exceedance_probability": _same(value=3.0, confidence_level=None),
    "EvtFit.goodness_of_fit": _same(statistic="anderson_darling", n_resamples=99, rng=1),
    "EvtFit.plot": _same(axes=None),
    "CovariateFit.interval": lambda fit: {"name": next(iter(fit.params)), "confidence_level": 0.9},
    "CovariateFit.return_level": _same(
        m=20, at={"age": [0.2, 0.8], "town": ["n", "s"]}, method="delta", confidence_level=0.9
    ),
    "CovariateFit.test_against": lambda fit: {"null": _null_of(fit)},
    "AveragedReturnLevel.plot": _same(ax=None),
    "MeanResidualLife.plot": _same(ax=None),
    "ProfileCurve.plot": _same(ax=None),
    "ThresholdStability.plot": _same(axes=None),
    # ------------------------------------------------ report
    "AuditReport.from_dict": lambda report: {"data": report.to_dict()},
    "AuditReport.from_json": lambda report: {"path": str(report.to_json("report.json"))},
    "AuditReport.part": _same(key="rates", sensitive_features=None),
    "AuditReport.plot": _same(name="first", sensitive_features=None, ax=None),
    "AuditReport.screen": _same(ratio=0.7, power=0.8),
    "AuditReport.summary": _same(full=True),
    "AuditReport.to_document": _paths("odt", crosscheck=None),
    "AuditReport.to_html": _paths("html", crosscheck=None),
    "AuditReport.to_json": _paths("json"),
    "AuditReport.to_plots": _same(folder="plots"),
    "AuditReport.to_vignette": _paths("Rmd", data=None, overwrite=True),
    "Crosscheck.summary": _same(full=True),
    "Screen.lines": _same(brief_intersections=True),
}

#: Methods that refuse whatever is asked for, with the reason.
REFUSES = dict.fromkeys(
    ("ClassCounts.from_counts", "ClassCounts.from_effective"),
    "their cells are not known before the labels are",
)
#: Methods of which a good call would take seconds or start another program: one of these arguments
#: is always spoiled.
ALWAYS = {
    "EvtFit.goodness_of_fit": ("statistic", "n_resamples", "rng"),
    "EcdSearch.fit": ("X", "y"),
    "AuditReport.to_document": ("path",),
    "AuditReport.to_plots": ("folder",),
    "EcdResult.plot": ("axes",),
    "EvtFit.plot": ("axes",),
    "CounterfactualSample.plot": ("tails", "ax"),
}
#: Share of the cases of a method, where it is slow; 1 for others.
WEIGHT = {"plot": 0.2, "fit": 0.2, "fit_transform": 0.2, "from_dict": 0.3, "evaluate": 0.2}
#: … and by its whole name.
SLOW = {
    "AuditReport": 0.05,
    "HfmExperiment": 0.3,
    "EvtFit.goodness_of_fit": 0.2,
    "UmPosterior": 0.4,
}


@cache
def _tally_of_tails() -> fs.Tally:
    return fs.tally(_people(), sensitive_features="sex", score="s", counterfactual_score="t")


@cache
def _null_model() -> Any:
    good = dict(calls()["evt.fit_gpd by covariates"].good)
    good["shape"] = "~ 1"
    return fs.evt.fit_gpd(**good)


def _null_of(fit: Any) -> Any:
    return _null_model()


def _called(thing: Any, name: str) -> Callable[..., Any]:
    """The method by keywords, also where it takes any number of values.

    What it changes is a copy.
    """
    bound = getattr(thing, name)
    parameters = inspect.signature(bound).parameters.values()
    if isinstance(thing, fs.MaddMitigator) and "X" in inspect.signature(bound).parameters:
        # scikit-learn wraps `transform` and passes its first argument on by position
        return lambda X, **further: getattr(copy.copy(thing), name)(X, **further)
    several = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
    changes = isinstance(thing, (fs.MaddMitigator, fs.EcdSearch))

    def call(**arguments: Any) -> Any:
        method = getattr(copy.copy(thing), name) if changes else bound
        if several is None:
            return method(**arguments)
        values = arguments.pop(several)
        return method(*(values if isinstance(values, tuple) else (values,)), **arguments)

    return drawn(call) if name == "plot" else call


def _weight(home: str, name: str) -> float:
    return WEIGHT.get(name, 1.0) * SLOW.get(home, SLOW.get(home.split(".")[0], 1.0))


@cache
def method_calls(family: str) -> dict[str, Call]:
    """ "Class.method" → how it is called, for the public classes of a family."""
    found = {}
    for kind, thing in objects(family).items():
        for name, home in methods(kind).items():
            good = ARGUMENTS[home](thing)
            call = Call(
                family, _called(thing, name), good, ALWAYS.get(home, ()), _weight(home, name)
            )
            found[f"{kind.__name__}.{name}"] = call
    return found
