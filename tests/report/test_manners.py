"""What a result looks like when it is printed: 100 columns, labels as labels, limits as limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import fairstats as fs
from fairstats.ground.results import WIDTH, Interval, Result, printed
from fairstats.report.claims import Claim
from fairstats.report.sets import _blocks_of_result
from fairstats.results import MonitorResult, MonitorSettings
from tests.golden.cases import load_cases

LONG = "a group whose name is longer than anybody would expect of a group"
#: Golden cases that return, between them, a result of every class; the last ones take their time.
CASES = (
    "rates/abroca/ricci",
    "ecd/discrimination/all",
    "rates/demographic_parity_difference/german/default",
    "hfm/discriminative_risk/two-values",
    "ecd/ecd/ties/no-resamples",
    "evt/point_process/bounded/levels",
    "evt/point_process/heavy/lmoments",
    "evt/exponentiality_test/bounded",
    "evt/point_process/exponential/simulated",
    "hdr/discrete/cells",
    "hfm/hfm/no-tests",
    "madd/curve/pair",
    "madd/madd/simulated/default",
    "rates/demographic_parity_difference/bootstrap/agg-max",
    "evt/descriptive/heavy",
    "madd/mitigator/log-loss",
    "hfm/selection",
    "rates/equalized_odds_difference/simulated/weights",
    "rates/compare_models/conditional_use_accuracy_0/weights-clusters",
    "rates/conditional_accuracy/delta/empty-cells",
    "ecd/scott_knott",
    "hfm/approx_set_distance/one-row",
    "rates/strata/simulated-less",
)
SLOW_CASES = ("rates/planning", "ecd/synthetic_quality", "ecd/sample_tail")


def results_in(value: Any) -> Iterator[Result]:
    """Results that a case returned, also in dictionaries and lists."""
    if isinstance(value, Result):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from results_in(part)


def of_case(name: str) -> list[Result]:
    with warnings.catch_warnings(), fs.use_backend("scipy"):
        warnings.simplefilter("ignore", fs.FairstatsWarning)
        return list(results_in(load_cases()[name].function(1)))


def of_posteriors() -> list[Result]:
    counts = fs.ConfusionCounts.from_counts({"men": (40, 10, 10, 40), LONG: (30, 10, 20, 40)})
    first, second = (fs.um_posterior(counts=counts, draws=500, rng=seed) for seed in (1, 2))
    labels = np.arange(120) % 3
    group = np.repeat(["a", LONG], 60)
    several = fs.um_multiclass(
        labels, (labels + (np.arange(120) % 5 == 0)) % 3, sensitive_features=group, rng=1
    )
    ranked = fs.um_compare({"a": first, "b": second, "c": first}, rng=1)
    return [first, fs.um_compare(first, second, rng=1), ranked, several]


def of_amplification() -> list[Result]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"y": rng.random(400) < 0.5, "p": rng.random(400) < 0.5, "sex": ["a", LONG] * 200}
    )
    return list(fs.audit(frame, y_true="y", y_pred="p", sensitive_features="sex").results)


def of_missing_rows() -> list[Result]:
    frame = pd.DataFrame({"y": [1, 0, 1, 1, None] * 20, "sex": ["a", "b"] * 50})
    with pytest.warns(fs.FairstatsWarning):
        return list(fs.audit(frame, y_pred="y", sensitive_features="sex", missing="drop").results)


def of_estimators() -> list[Result]:
    rng = np.random.default_rng(1)
    binary = {name: rng.integers(0, 2, 200) for name in ("sex", "old")}
    X = pd.DataFrame({**binary, "x": rng.normal(size=200)})
    y = (X["x"] + rng.normal(size=200) > 0).astype(int)
    models = {
        "naive Bayes": GaussianNB(),
        LONG: DecisionTreeClassifier(max_depth=2, random_state=1),
    }
    compared = fs.um_compare_estimators(
        models,
        X,
        y,
        sensitive_features=X["sex"],
        cv=5,
        correlation="1/K",
        draws=200,
        rng=1,
        progress=False,
    )
    data = {"made": (X, y, ["sex", "old"])}
    return [compared, fs.hfm_experiment(models, data, measures=("DP", "HFM"), rng=1)]


def of_a_tail() -> list[Result]:
    x = np.random.default_rng(1).exponential(size=500)
    fit = fs.evt.fit_gpd(x, 1.0, backend="scipy")
    age = np.linspace(20.0, 70.0, 500)
    by_age = fs.evt.fit_gpd(x, 1.0, covariates={"age": age}, scale="~ age")
    levels = by_age.return_level(100, {"age": 30.0})
    index = fs.evt.extremal_index(x, 2.0, rng=1)
    over = fs.evt.threshold_tests(x, [0.5, 1.0, 1.5], n_resamples=19, rng=1)
    averaged = fs.evt.average_return_level(x, 100, [0.5, 1.0, 1.5])
    return [
        fit.test_shape(),
        fit.return_level([100, 1000]),
        averaged,
        index,
        over,
        by_age,
        levels,
        *levels.levels,
    ]


def of_strata() -> list[Result]:
    """Ratios and differences over strata, of rates and of means."""
    rows = {
        "sensitive_features": [LONG, "b"] * 60,
        "strata": np.repeat(["x", LONG, "z"], 40),
        "reference": "b",
    }
    selected = [1, 0, 1, 1, 0, 1] * 20
    impact = fs.disparate_impact(selected, **rows)
    difference = fs.demographic_parity_difference(None, selected, **rows)
    numbers = np.arange(1.0, 121)
    means = [fs.means(numbers, contrast=kind, **rows) for kind in ("ratio", "difference")]
    medians = fs.means(numbers, statistic="median", **rows)
    curves = []
    for contrast in ("difference", "ratio"):
        curves.append(
            fs.means(
                numbers,
                statistic="selection_rate",
                quantiles=[0.4, 0.6],
                contrast=contrast,
                **rows,
            )
        )
    results = [impact, difference, *means, medians, *curves]
    return [result.stratified for result in results]


def of_a_monitor() -> list[Result]:
    rows = pd.DataFrame({"sex": [LONG, "m"] * 40, "hired": [1, 0, 0, 1] * 20})
    counts = fs.tally(rows, y_pred="hired", sensitive_features="sex")
    settings = MonitorSettings(planned=200, sensitive_features=("sex",), y_pred="hired")
    return [MonitorResult(settings=settings).add("a" * 200, "1", counts)]


def of_numbers() -> list[Result]:
    """Means as ratio and difference, a gap in two parts, and odds ratios of a rate."""
    numbers = np.arange(1.0, 121)
    groups = [LONG, "b"] * 60
    return [
        fs.group_metric(
            [0, 1, 1, 1, 0, 1] * 20,
            [1, 0, 1, 1, 0, 1] * 20,
            metric="selection_rate",
            contrast="odds_ratio",
            sensitive_features=groups,
        ),
        fs.means(numbers, sensitive_features=groups, contrast="ratio"),
        fs.means(numbers, sensitive_features=groups, contrast="difference"),
        fs.means(numbers, sensitive_features=groups, contrast="standardised_difference", rng=1),
        fs.means(numbers, sensitive_features=groups, statistic="selection_rate"),
        *(
            fs.scores(
                [1, 0, 1, 1, 0, 1] * 20,
                np.linspace(0.1, 0.9, 120),
                sensitive_features=groups,
                metric="selection_rate",
                cutoffs=[0.3, 0.6],
                contrast=contrast,
            )
            for contrast in ("difference", "ratio")
        ),
        fs.decompose(
            numbers,
            sensitive_features=groups,
            circumstances={LONG: np.sin(numbers)},
            groups=["b", LONG],
        ),
    ]


def of_subgroups() -> list[Result]:
    rows = pd.DataFrame({"sex": [LONG, "m"] * 60, "town": np.repeat(["x", LONG, "z"], 40)})
    rows["hired"] = [1, 0, 0, 1] * 30
    rows.loc[rows["town"] == LONG, "hired"] = [1, 1, 0, 0] * 10
    columns: dict[str, Any] = {"attributes": ["sex", "town"], "y_pred": "hired", "min_rows": 10}
    return [
        fs.subgroups(rows, **columns, rng=1),
        fs.subgroups(rows, **columns, search="tree", shrinkage="um_hierarchical", rng=1),
    ]


def of_inferred_groups() -> list[Result]:
    shares = np.tile([0.9, 0.1, 0.7, 0.2], 60)
    hired = np.tile([1, 0, 0, 1], 60)
    return [
        fs.disparate_impact(hired, sensitive_probabilities={LONG: shares, "m": 1 - shares}, rng=1)
    ]


def of_kinds() -> list[Result]:
    """Extremes over all groups, odds ratios within strata, disparities, and several classes, also
    within strata.
    """
    y = np.tile([0, 1, 1, 1, 0, 1], 40)
    hired = np.tile([1, 0, 1, 1, 0, 1, 0, 1], 30)
    groups = [LONG, LONG, "b", "b", LONG] * 48
    races = np.tile(["x", "y", "z", "w"], 60)
    columns = {"sensitive_features": groups}
    found = [
        fs.group_metric(y, hired, metric="equalized_odds_ratio", agg="min", **columns),
        fs.equalized_odds_difference(y, hired, agg="mean", **columns),
        fs.group_metric(y_pred=hired, metric="conditional_demographic_disparity", **columns),
    ]
    within = fs.group_metric(
        y,
        hired,
        metric="tpr",
        contrast="odds_ratio",
        strata=np.repeat(["n", "s"], 120),
        **columns,
    )
    found += [within, within.stratified]
    for contrast in ("ratio", "difference", "odds_ratio", "gap"):
        found.append(
            fs.group_metric(
                races,
                races[::-1],
                metric="selection_rate",
                contrast=contrast,
                classes="one-vs-rest",
                **columns,
            )
        )
    for contrast in ("ratio", "difference", "odds_ratio"):
        result = fs.group_metric(
            races,
            races[::-1],
            metric="selection_rate",
            contrast=contrast,
            classes="one-vs-rest",
            strata=np.repeat(["n", "s"], 120),
            **columns,
        )
        found.append(result.stratified)
    return found


def check_print(found: list[Result]) -> set[str]:
    """Names of the classes, after every result was printed."""
    for result in found:
        longest = max(str(result).splitlines(), key=len)
        assert len(longest) <= WIDTH, f"{type(result).__name__}: {len(longest)} columns: {longest}"
    return {type(result).__name__ for result in found}


def below(cls: type) -> set[str]:
    """Names of the classes that nothing is derived from."""
    return {name for sub in cls.__subclasses__() for name in below(sub)} or {cls.__name__}


@pytest.mark.slow
def test_every_class_of_result_prints_in_100_columns() -> None:
    impact = fs.adverse_impact({"a": (3, 9), LONG: (8, 4)}, unknown=2)
    made = (
        of_posteriors,
        of_amplification,
        of_missing_rows,
        of_estimators,
        of_a_tail,
        of_a_monitor,
        of_numbers,
        of_subgroups,
        of_inferred_groups,
        of_kinds,
    )
    seen = check_print([*(result for make in made for result in make()), impact, *of_strata()])
    for name in CASES:
        seen |= check_print(of_case(name))
    slow = {"PowerResult", "SyntheticQuality", "TailSample"}
    assert below(Result) & set(fs.results.__all__) <= seen | slow


@pytest.mark.slow
def test_slow_classes_print_in_100_columns() -> None:
    seen = set().union(*(check_print(of_case(name)) for name in SLOW_CASES))
    assert {"PowerResult", "SyntheticQuality", "TailSample"} <= seen


def test_long_names_and_many_columns() -> None:
    counts = {LONG: (30, 70), "b": (50, 50), "c " + LONG: (20, 80)}
    for alternative in ("two-sided", "less"):
        check_print([fs.disparate_impact(counts=counts, reference="b", alternative=alternative)])


def test_a_wide_table_goes_on_below_with_the_names_repeated() -> None:
    frame = pd.DataFrame(
        {"group": ["f", "m"], **{f"a rather long name {k}": [k + 0.5, k] for k in range(8)}}
    )
    lines = printed("Title", frame, ["A note. " * 30]).splitlines()
    assert max(map(len, lines)) <= WIDTH
    heads = [line for line in lines if line.lstrip().startswith("group")]
    assert len(heads) >= 2
    assert sum(line.count("a rather long name") for line in heads) == 8


def test_labels_and_whole_numbers_are_written_out() -> None:
    frame = pd.DataFrame(
        {"row": [10_830.0, math.nan], "interactions": [1000.0, 1e6], "p": [1e-9, 0.5]}
    )
    text = printed("T", frame, [])
    assert "10830" in text
    assert "1000000" in text
    assert "1.00e-09" in text
    far = fs.set_distance(
        pd.DataFrame({"x": [0.0, 1.0]}, index=[10_830, 5_372]),
        pd.DataFrame({"x": [0.5, 3.0]}, index=[7, 8]),
    )
    assert "5372" in str(far)


def test_an_end_that_is_zero_but_for_rounding_is_zero() -> None:
    frame = pd.DataFrame({"ci_low": [4.3e-19, 0.1], "ci_high": [0.02, 0.3]})
    assert "e-19" not in printed("T", frame, [])
    assert "3.00e-300" in printed("T", pd.DataFrame({"ci_low": [3e-300], "ci_high": [5e-300]}), [])


def test_no_changed_prediction_has_a_lower_limit_of_zero() -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 20, "x": range(40)})
    for answer in (0, 1):
        risk = fs.discriminative_risk(
            lambda X, answer=answer: np.where(X["sex"] == "f", answer, 0),
            people,
            sensitive_features="sex",
        )
        end = risk.comparisons[0].confidence_interval
        assert (end.low, end.high)[answer] == answer


def test_micro_parity_is_zero() -> None:
    labels = np.arange(120) % 3
    predicted = (labels + (np.arange(120) % 7 == 0)) % 3
    half = np.arange(120) % 2
    found = fs.um_multiclass(labels, predicted, sensitive_features=half, rng=1)
    assert not found.metric("demographic_parity_micro").any()


@pytest.mark.parametrize(
    ("alternative", "words"),
    [("greater", "at least 0.100"), ("less", "at most 0.300"), ("two-sided", "0.100 to 0.300")],
)
def test_a_one_sided_interval_is_a_limit(alternative: str, words: str) -> None:
    assert words in Interval(0.1, 0.3, 0.95, "").words(alternative=alternative)
    counts = {"men": (40, 60), "women": (25, 75)}
    sentence = fs.disparate_impact(counts=counts, alternative=alternative).sentences()[0]
    assert words.split()[1] in sentence
    assert "inf" not in sentence


def blocks_of(result: Any) -> Iterator[Any]:
    """Blocks of a report of this result alone, which has no claims."""
    return _blocks_of_result(result, [Claim()] * len(result.rows()))


def test_a_limit_stands_in_the_report() -> None:
    """A one-sided interval is told as a limit, a two-sided one by both ends."""
    rng = np.random.default_rng(1)
    scores = np.r_[rng.beta(2, 5, 300), rng.beta(5, 2, 300)]
    sex = np.repeat(["f", "m"], 300)
    result = fs.madd(scores, sensitive_features=sex, rng=1)
    texts = [row.interval_text for block in blocks_of(result) for row in block.rows]
    assert [text[:3] for text in texts] == ["[1."]
    one_sided = fs.disparate_impact(counts={"a": (40, 60), "b": (25, 75)}, alternative="less")
    assert next(blocks_of(one_sided)).rows[0].interval_text.startswith("at most 0.")


def test_one_rope_serves_every_number_of_metrics() -> None:
    counts = fs.ConfusionCounts.from_counts({"men": (40, 10, 10, 40), "women": (30, 10, 20, 40)})
    a, b = (fs.um_posterior(counts=counts, draws=500, rng=seed) for seed in (1, 2))
    assert fs.um_compare(a, b, metrics="accuracy", rng=1).rope == (0.01,)
    assert fs.um_compare(a, b, metrics=("accuracy",), rng=1).rope == (0.01,)
    assert fs.um_compare(a, b, rng=1).rope == (0.01, 0.01)


def test_a_figure_or_a_region_does_not_start_r(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def asked(*given: Any, **more: Any) -> None:
        pytest.fail("R was asked for")

    monkeypatch.delenv("FAIRSTATS_BACKEND", raising=False)
    monkeypatch.setattr("fairstats.ground.backends.probe_r", asked)
    monkeypatch.setattr("fairstats.ground.rsession.call", asked)
    counts = fs.ConfusionCounts.from_counts({"men": (40, 10, 10, 40), "women": (30, 10, 20, 40)})
    a, b = (fs.um_posterior(counts=counts, draws=500, rng=seed) for seed in (1, 2))
    a.plot("accuracy")
    conditional = fs.um_compare(a, b, hdr=0.9, rng=1)
    assert conditional.region_backend.startswith("scipy")
    fs.um_compare(a, b, rng=1).plot()
