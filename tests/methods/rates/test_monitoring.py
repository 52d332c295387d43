"""A stream of files that is watched.

Witness: the public functions at the sum of all tallies."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.results import MonitorResult, MonitorSettings

SETTINGS = MonitorSettings(
    planned=5_000, sensitive_features=("sex",), y_pred="hired", reference="m"
)


def month(seed: int, rate: float = 0.2, n: int = 400) -> fs.Tally:
    """The counts of a month."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    chance = np.where(sex == "f", rate, 0.4)
    rows = pd.DataFrame({"sex": sex, "hired": (rng.random(n) < chance).astype(int)})
    return fs.tally(rows, y_pred="hired", sensitive_features="sex")


def watched(*months: fs.Tally, settings: MonitorSettings = SETTINGS) -> MonitorResult:
    """A monitor that has counted these months."""
    state = MonitorResult(settings=settings)
    for number, counts in enumerate(months):
        state = state.add(f"month {number}", str(number), counts)
    return state


def test_the_last_look_is_that_of_all_rows() -> None:
    state = watched(month(1), month(2), month(3))
    expected = fs.disparate_impact(
        counts=month(1) + month(2) + month(3), reference="m", method="anytime", planned=5_000
    )
    assert tuple(state.confidence_interval) == tuple(expected.confidence_interval)
    assert state.verdict == expected.verdict == "violated"
    assert state["f"].estimate == expected.estimate


def test_order_of_months_changes_the_path_and_not_where_it_ends() -> None:
    forth = watched(month(1), month(2), month(3))
    back = watched(month(3), month(2), month(1))
    assert tuple(forth.confidence_interval) == tuple(back.confidence_interval)
    assert forth.path()["estimate"].tolist()[0] != back.path()["estimate"].tolist()[0]


def test_path_has_a_row_for_each_look() -> None:
    path = watched(month(1), month(2), month(3)).path()
    assert path["look"].tolist() == [1, 2, 3]
    assert path["n_rows"].tolist() == [400, 800, 1_200]
    widths = path["ci_high"] / path["ci_low"]
    assert widths.is_monotonic_decreasing


def test_an_alarm_stays_and_says_since_when() -> None:
    fair = [month(seed, rate=0.6, n=4_000) for seed in (4, 5)]
    state = watched(month(1), month(2), *fair)
    assert state.path()["verdict"].tolist()[1] == "violated"
    assert state.alarm == "month 1"
    assert state.sentences()[-1] == "A violation was first shown after month 1."
    assert watched(month(1, rate=0.4)).alarm == ""


def test_what_changed_is_said() -> None:
    state = watched(month(1), month(2))
    (sentence,) = state.changes(1)
    assert sentence.startswith("f against m: violated, undecided before; ratio 0.")
    few = watched(month(1, n=20))
    (sentence,) = few.changes(0)
    assert "nothing is said before 5 of both" in sentence
    assert math.isnan(few.pvalue)


def test_the_same_file_is_refused_twice_and_so_are_other_rows_of_its_name() -> None:
    state = watched(month(1))
    with pytest.raises(fs.InputError, match="counted before, as 'month 0'"):
        state.add("copy", "0", month(1))
    with pytest.raises(fs.InputError, match="held other rows"):
        state.add("month 0", "other", month(2))


def test_state_survives_json() -> None:
    state = watched(month(1), month(2))
    again = MonitorResult.from_dict(json.loads(json.dumps(state.to_dict())))
    pd.testing.assert_frame_equal(again.path(), state.path())
    assert again.settings == state.settings


def test_of_two_groups_the_larger_one_of_the_first_file_stays_the_reference() -> None:
    settings = MonitorSettings(planned=500, sensitive_features=("sex",), y_pred="hired")
    rows = pd.DataFrame({"sex": ["f"] * 60 + ["m"] * 40, "hired": [1, 0] * 50})
    first = fs.tally(rows, y_pred="hired", sensitive_features="sex")
    later = pd.DataFrame({"sex": ["m"] * 400, "hired": [1, 0] * 200})
    second = fs.tally(later, y_pred="hired", sensitive_features="sex")
    state = watched(first, second, settings=settings)
    assert {comparison.reference for comparison in state.comparisons} == {"f"}


def test_clusters_and_weights_are_refused() -> None:
    rows = pd.DataFrame(
        {"sex": ["f", "m"] * 40, "hired": [1, 0, 0, 1] * 20, "person": list(range(40)) * 2}
    )
    counts = fs.tally(rows, y_pred="hired", sensitive_features="sex", cluster="person")
    with pytest.raises(fs.InputError, match="with clusters"):
        watched(counts)


# ---------------------------------------------------------------- clusters


def persons(seed: int, first: int, n: int = 150, rate: float = 0.4) -> pd.DataFrame:
    """Two rows of each person, alike in most of them."""
    rng = np.random.default_rng(seed)
    person = np.arange(first, first + n)
    sex = rng.choice(["f", "m"], n)
    own = rng.random(n) < np.where(sex == "f", rate, 0.4)
    rows = pd.DataFrame({"person": np.repeat(person, 2), "sex": np.repeat(sex, 2)})
    changed = rng.random(2 * n) < 0.1
    return rows.assign(hired=(np.repeat(own, 2) ^ changed).astype(int))


CLUSTERED = MonitorSettings(
    planned=2_000, sensitive_features=("sex",), y_pred="hired", reference="m", cluster="person"
)


def add_persons(state: MonitorResult, name: str, rows: pd.DataFrame) -> MonitorResult:
    counts = fs.tally(rows, y_pred="hired", sensitive_features="sex", cluster="person")
    return state.add(name, name, counts, clusters=rows["person"])


def test_clusters_that_arrive_whole_are_watched() -> None:
    """z at every look is the score of effective counts, as that of a single look."""
    from fairstats.numerics.rates.anytime import critical_value, information_of

    first, second = persons(1, 0), persons(2, 1_000)
    state = MonitorResult(settings=CLUSTERED)
    state = add_persons(add_persons(state, "january", first), "february", second)
    rows = pd.concat([first, second])
    single = fs.disparate_impact(
        rows["hired"],
        sensitive_features=rows["sex"],
        cluster=rows["person"],
        reference="m",
        confidence_level=0.9,
    )
    independent = fs.disparate_impact(
        rows["hired"],
        sensitive_features=rows["sex"],
        reference="m",
        method="anytime",
        planned=2_000,
    )
    assert state["f"].estimate == pytest.approx(single.estimate, rel=1e-12)
    low, high = state.confidence_interval
    assert low < independent.confidence_interval.low
    assert high > independent.confidence_interval.high
    # at each limit the score of the effective counts is the critical value of the mixture
    from fairstats.ground.registry import RATES
    from fairstats.methods.rates.estimates import estimate_rate
    from fairstats.numerics.rates.score import ratio_score_statistic

    estimates = estimate_rate(state.counts.selection(), RATES["selection_rate"])
    groups = estimates.groups
    table = estimates.table(groups.index("f"), groups.index("m"))
    critical = critical_value(0.95, information_of(state.counts.n, 2_000))
    assert float(ratio_score_statistic(*table, low)) == pytest.approx(critical, rel=1e-6)
    assert float(ratio_score_statistic(*table, high)) == pytest.approx(-critical, rel=1e-6)


def test_a_cluster_that_returns_is_refused() -> None:
    state = add_persons(MonitorResult(settings=CLUSTERED), "january", persons(1, 0))
    with pytest.raises(fs.InputError, match="in which 50 of 150 clusters return"):
        add_persons(state, "february", persons(2, 100))
    assert len(state.files) == 1
    again = MonitorResult.from_dict(json.loads(json.dumps(state.to_dict())))
    with pytest.raises(fs.InputError, match="arrive whole"):
        add_persons(again, "february", persons(2, 149))
    assert len(add_persons(again, "february", persons(2, 150)).files) == 2


def test_no_cluster_can_be_read_from_the_state() -> None:
    rows = persons(1, 0).assign(person=lambda frame: "Ada Lovelace " + frame["person"].astype(str))
    state = add_persons(MonitorResult(settings=CLUSTERED), "january", rows)
    assert "Lovelace" not in json.dumps(state.to_dict())
    other = add_persons(MonitorResult(settings=CLUSTERED), "january", rows)
    assert other.files[0].clusters != state.files[0].clusters


def test_few_clusters_say_nothing() -> None:
    state = add_persons(MonitorResult(settings=CLUSTERED), "january", persons(1, 0, n=30))
    assert math.isnan(state.pvalue)
    assert "nothing is said before 20" in state["f"].note


def test_clusters_without_names_and_exact_limits_of_clusters_are_refused() -> None:
    rows = persons(1, 0)
    counts = fs.tally(rows, y_pred="hired", sensitive_features="sex", cluster="person")
    with pytest.raises(fs.InputError, match="nothing that tells them apart"):
        MonitorResult(settings=CLUSTERED).add("january", "1", counts)
    for clusters in (5, "person"):
        with pytest.raises(fs.InputError, match="`clusters`"):
            MonitorResult(settings=CLUSTERED).add("january", "1", counts, clusters=clusters)
    with pytest.raises(fs.InputError, match="without clusters"):
        watched().add("january", "1", month(1), clusters=[1, 2])
    exact = MonitorSettings(method="anytime-exact", sensitive_features=("sex",), y_pred="hired")
    with pytest.raises(fs.InputError, match="with clusters"):
        add_persons(MonitorResult(settings=exact), "january", rows)


def test_metrics_of_confusion_counts_are_watched() -> None:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), "y": rng.integers(0, 2, 600)})
    rows["hat"] = np.where(rng.random(600) < 0.8, rows["y"], 1 - rows["y"])
    counts = fs.tally(rows, y_true="y", y_pred="hat", sensitive_features="sex")
    settings: dict[str, Any] = {
        "planned": 600,
        "sensitive_features": ("sex",),
        "y_true": "y",
        "y_pred": "hat",
        "reference": "m",
    }
    for metric in ("equal_opportunity_difference", "average_odds_difference", "fpr_ratio"):
        state = watched(counts, settings=MonitorSettings(metric=metric, **settings))
        assert state.comparisons[0].procedure.kind == "anytime"


def test_picture_shows_the_fair_range_and_every_look() -> None:
    state = watched(month(1), month(2), month(3))
    picture = state._make_picture()
    lines = [one for one in picture.marks if one.kind == "line"]
    (line,) = lines
    assert line.x.tolist() == [400.0, 800.0, 1_200.0]
    np.testing.assert_allclose(line.y, state.path()["estimate"])
    rules = [float(one.y[0]) for one in picture.marks if one.kind == "rule"]
    assert rules == [0.8, 1.25, 1.0]
    with pytest.raises(fs.InputError, match="counted a file"):
        MonitorResult(settings=SETTINGS).plot()


# ---------------------------------------------------------------- drift

CONFUSED = MonitorSettings(
    planned=2_000, sensitive_features=("sex",), y_true="y", y_pred="hat", reference="m"
)


def confused_month(seed: int, share: float, rate: float, n: int = 800) -> fs.Tally:
    """Women with this share of favourable outcomes, selected at this rate among those."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    y = (rng.random(n) < np.where(sex == "f", share, 0.5)).astype(int)
    chance = np.where(y == 1, np.where(sex == "f", rate, 0.7), 0.2)
    hat = (rng.random(n) < chance).astype(int)
    rows = pd.DataFrame({"sex": sex, "y": y, "hat": hat})
    return fs.tally(rows, y_true="y", y_pred="hat", sensitive_features="sex")


def cells_of(counts: fs.Tally, group: str) -> np.ndarray:
    table = counts.confusion()
    return np.asarray(table.totals[table.groups.index(group)])


def test_case_mix_and_treatment_add_up_to_the_change() -> None:
    first, last = confused_month(1, 0.5, 0.7), confused_month(2, 0.2, 0.4)
    drift = watched(first, last, settings=CONFUSED).drift()
    (own,) = (
        rows.set_index("quantity")
        for _, rows in drift[drift["reference"] == ""].groupby("group")
        if rows["group"].iloc[0] == "f"
    )
    rates = []
    for counts in (first, last):
        tp, fp, fn, tn = cells_of(counts, "f")
        rates.append((tp + fp) / (tp + fp + fn + tn))
    assert own["estimate"]["change"] == pytest.approx(rates[1] - rates[0], abs=1e-12)
    both = own["estimate"]["case mix"] + own["estimate"]["treatment"]
    assert both == pytest.approx(own["estimate"]["change"], abs=1e-12)
    assert own["ci_high"]["case mix"] < 0
    assert own["ci_high"]["treatment"] < 0


def test_the_change_of_the_difference_is_that_of_both_groups() -> None:
    months = [confused_month(seed, 0.5, 0.7) for seed in (1, 2, 3)]
    drift = watched(*months, settings=CONFUSED).drift(n_before=2)
    own = drift[drift["reference"] == ""].set_index(["group", "quantity"])
    gap = drift[drift["reference"] == "m"].set_index("quantity")
    for quantity in ("change", "case mix", "treatment"):
        expected = own["estimate"]["f", quantity] - own["estimate"]["m", quantity]
        assert gap["estimate"][quantity] == pytest.approx(expected, abs=1e-12)
        error = np.hypot(own["std_error"]["f", quantity], own["std_error"]["m", quantity])
        assert gap["std_error"][quantity] == pytest.approx(error, rel=1e-12)


def test_drift_covers_in_a_small_simulation() -> None:
    """Against the truth in 2,000 samples of 400 rows: .95 within three Monte Carlo errors."""
    from fairstats.numerics.rates.kitagawa import split_change

    rng = np.random.default_rng(3)

    def draw(share: float, high: float, low: float) -> np.ndarray:
        chances = [share * high, (1 - share) * low, share * (1 - high), (1 - share) * (1 - low)]
        return rng.multinomial(400, chances, 2_000)

    split = split_change(draw(0.3, 0.8, 0.1), draw(0.45, 0.7, 0.1))
    mix = 0.15 * (0.75 - 0.1)
    treatment = 0.375 * -0.1
    truth = np.array([mix + treatment, mix, treatment])
    held = np.abs(split.estimates - truth[:, None]) <= 1.959964 * np.sqrt(split.variances)
    np.testing.assert_allclose(held.mean(axis=1), 0.95, atol=0.015)


def test_the_split_is_told() -> None:
    months = [confused_month(seed, 0.5, rate) for seed, rate in ((1, 0.8), (2, 0.4))]
    state = watched(*months, settings=CONFUSED)
    drift = state.drift().query("reference == 'm'").set_index("quantity")["estimate"]
    (sentence,) = state.drift_sentences()
    words = f"{drift['treatment']:+.3f} by another treatment".replace("-", "−")
    assert sentence.startswith("From month 0 to month 1 the difference of f and m changed by ")
    assert words in sentence
    few = watched(confused_month(1, 0.5, 0.7, n=20), confused_month(2, 0.5, 0.7), settings=CONFUSED)
    assert "too few cases" in " ".join(few.drift_sentences())
    with pytest.raises(fs.InputError, match="`cluster`"):
        MonitorResult(settings=CLUSTERED).drift()


def test_drift_needs_outcomes_two_periods_and_cases() -> None:
    with pytest.raises(fs.InputError, match="labels and predictions"):
        watched(month(1), month(2)).drift()
    state = watched(confused_month(1, 0.5, 0.7), settings=CONFUSED)
    with pytest.raises(fs.InputError, match="two periods"):
        state.drift()
    few = watched(confused_month(1, 0.5, 0.7, n=20), confused_month(2, 0.5, 0.7), settings=CONFUSED)
    assert few.drift()["estimate"].isna().any()


@pytest.mark.r
def test_r_splits_the_change_alike() -> None:
    """R differentiates the formulas by `deriv` in the four cells of both periods."""
    from fairstats.report.crosscheck.check import open_door

    first, last = confused_month(1, 0.5, 0.7), confused_month(2, 0.3, 0.5)
    drift = watched(first, last, settings=CONFUSED).drift()
    own = drift[(drift["reference"] == "") & (drift["group"] == "f")]
    answer = open_door().call("kitagawa_split", cells_of(first, "f"), cells_of(last, "f"))
    np.testing.assert_allclose(own["estimate"], answer["estimate"], rtol=1e-9)
    np.testing.assert_allclose(own["std_error"], answer["std_error"], rtol=1e-9)
