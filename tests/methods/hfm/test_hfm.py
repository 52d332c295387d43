"""HFM: values, witnesses, attributes, encoding, and what cannot be used.

Witness of the values: Eq. (1) to (3) by brute force over all pairs, on coordinates encoded here by
hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.datasets import load_adult, load_compas, load_german_credit, load_ricci
from fairstats.ground.errors import DataWarning, InputError
from fairstats.methods.hfm.encoding import ANY_VALUE, JOINT, REST, FrameEncoder
from fairstats.methods.hfm.result import HfmResult, harmonic

from .conftest import brute

pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

METRICS = ("hfm_distance_labels", "hfm_distance_predictions", "hfm")
OFF = {"n_resamples": 0, "n_subsamples": 0}


def people(
    n: int = 200, seed: int = 1
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, pd.DataFrame]:
    """Features with labels, predictions and two sensitive attributes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "hours": rng.normal(40, 8, n),
            "job": rng.choice(["a", "b", "c"], n),
        },
        index=[f"p{i}" for i in range(n)],
    )
    sensitive = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "race": rng.choice(["x", "y", "z"], n)}, X.index
    )
    y_true = rng.integers(0, 2, n)
    y_pred = np.where(rng.random(n) < 0.8, y_true, 1 - y_true)
    return X, y_true, y_pred, sensitive


def by_hand(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Min-max numbers, one-hot text, the label as it is."""
    parts = [((X[c] - X[c].min()) / (X[c].max() - X[c].min())).to_numpy() for c in ("age", "hours")]
    parts += [(X["job"] == v).to_numpy(float) for v in "abc"]
    return np.column_stack([*parts, y])


def test_equations_1_to_3_by_brute_force() -> None:
    X, y_true, y_pred, sensitive = people()
    result = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive, **OFF)
    for attribute, values in (("sex", ["f"]), ("race", ["x", "y", "z"])):
        for value in values:
            own = (sensitive[attribute] == value).to_numpy()
            d, d_f = (brute(z[own], z[~own]) for z in (by_hand(X, y_true), by_hand(X, y_pred)))
            entry = result.entry(attribute, value)
            assert (entry.d, entry.d_f) == pytest.approx((d, d_f), rel=1e-9)
            assert entry.hfm == pytest.approx(d_f / d - 1, rel=1e-9, abs=1e-12)


def test_maxima_over_values_and_attributes() -> None:
    X, y_true, y_pred, sensitive = people()
    result = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive, **OFF)
    kinds = [(e.attribute, e.group, e.reference) for e in result.entries]
    assert sorted(kinds[1:4]) == [("race", v, REST) for v in "xyz"]
    assert kinds[4:] == [("race", ANY_VALUE, REST), (JOINT, ANY_VALUE, REST)]
    race = result.entry("race")
    assert race.d == max(result.entry("race", v).d for v in "xyz")
    assert race.d_f == max(result.entry("race", v).d_f for v in "xyz")
    assert race.hfm == harmonic(race.d, race.d_f)
    assert result.d == max(result.entry("sex").d, race.d)
    assert result.hfm == harmonic(result.d, result.d_f)
    assert result.entry("sex", "f") is result.entry("sex", "m")  # the distance is symmetric


def test_intersections() -> None:
    X, y_true, y_pred, sensitive = people()
    result = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive, intersections=True, **OFF)
    own = ((sensitive["sex"] == "f") & (sensitive["race"] == "x")).to_numpy()
    z = by_hand(X, y_true)
    assert result.entry("sex × race", "f & x").d == pytest.approx(brute(z[own], z[~own]), rel=1e-9)
    plain = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive, **OFF)
    assert result.d == plain.d  # intersections are not part of the maximum over attributes


def test_entries_are_found_by_value_and_by_pair() -> None:
    """Two attributes with a value "x" in common: by name the first, by pair each; brute force."""
    X, y_true, y_pred, sensitive = people()
    second = sensitive.assign(sex=np.where(sensitive["sex"] == "f", "x", "m"))
    result = fs.hfm(X, y_true, y_pred, sensitive_features=second, **OFF)
    z = by_hand(X, y_true)
    for attribute in ("sex", "race"):
        own = (second[attribute] == "x").to_numpy()
        assert result[(attribute, "x")].d == pytest.approx(brute(z[own], z[~own]), rel=1e-9)
    assert result["x"] is result[("sex", "x")]
    assert result["z"] is result[("race", "z")]
    with pytest.raises(InputError, match="`group`: got 'w'"):
        result["w"]


def test_rows_sentences_and_notes_are_of_the_entries() -> None:
    """Written down from the entries: three rows each, D, D_f and HFM.

    What was and was not done is said.
    """
    X, y_true, y_pred, sensitive = people(60)
    frame = X.assign(sex=sensitive["sex"], one=1.0)
    result = fs.hfm(
        frame,
        y_true,
        y_pred,
        sensitive_features=sensitive[["sex"]],
        n_resamples=99,
        n_subsamples=9,
        rng=4,
    )
    (entry,) = (e for e in result.entries if not e.is_maximum)
    assert [c.metric for c in result.comparisons[:3]] == list(METRICS)
    stable = {s.quantity: s for s in entry.stability if s.share == 0.8}
    for k, c in enumerate(result.comparisons[:3]):
        assert c.estimate == (entry.d, entry.d_f, entry.hfm)[k]
        assert (c.statistic, c.pvalue) == (entry.tests[k].statistic, entry.tests[k].pvalue)
        assert c.pvalue_adjusted == entry.pvalues_adjusted[k]
        assert (c.group, c.reference, c.n, c.attribute) == (entry.group, entry.reference, 60, "sex")
        found = stable[("D", "D_f", "HFM")[k]]
        assert (c.stability_low, c.stability_high) == (found.low, found.high)
    rows = [(c.row_group, c.row_reference) for c in result.comparisons[:3]]
    assert rows == [entry.distance.witnesses, entry.distance_f.witnesses, (None, None)]
    assert result.pvalue == result.overall.tests[2].pvalue
    more = {1: "further apart than", 0: "as far apart as", -1: "less far apart than"}[
        np.sign(entry.hfm)
    ]
    assert result.sentences()[0] == (
        f"sex: {entry.group} against {entry.reference}: D = {entry.d:.4g}, D_f = {entry.d_f:.4g}, "
        f"HFM = {entry.hfm:.4g}; in these rows the predictions set the groups {more} the labels do "
        f"(p = {entry.tests[2].pvalue:.3g} for no added distance)."
    )
    notes = result.notes()
    assert notes[0].startswith(
        "60 rows in 6 coordinates and the label (minmax scale); statistic max."
    )
    assert notes[1:3] == [
        "Left out of the features as sensitive: sex.",
        "Constant, so without influence: one.",
    ]
    assert notes[3].startswith("The maximum is decided by single rows")
    assert notes[4].startswith("Tests with 99 resamples (seed 4): ")
    assert notes[5].startswith("The test of HFM is valid and, of the maximum, nearly without power")
    assert notes[6].startswith(
        "Stability: 5% and 95% quantiles over 9 subsamples of 80% of the rows, "
    )
    assert len(notes) == 7
    plain = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive["sex"], statistic="mean", **OFF)
    assert len(plain.notes()) == 2
    assert plain.notes()[1] == "No tests were made; pass n_resamples=199 for them."
    assert math.isnan(plain.pvalue)
    assert all(math.isnan(c.pvalue) and math.isnan(c.stability_low) for c in plain.comparisons)
    assert not plain.sentences()[0].endswith("distance).")


@pytest.mark.parametrize("statistic", ["mean", 0.9])
def test_other_statistics(statistic: str | float) -> None:
    X, y_true, y_pred, sensitive = people()
    result = fs.hfm(
        X, y_true, y_pred, sensitive_features=sensitive["sex"], statistic=statistic, **OFF
    )
    own = (sensitive["sex"] == "f").to_numpy()
    d, d_f = (brute(z[own], z[~own], statistic) for z in (by_hand(X, y_true), by_hand(X, y_pred)))
    assert (result.d, result.d_f) == pytest.approx((d, d_f), rel=1e-9)
    assert result.witnesses().empty == (statistic == "mean")


def test_witnesses_bear_the_labels_of_the_frame() -> None:
    X, y_true, y_pred, sensitive = people()
    found = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive, **OFF).witnesses()
    place = {label: i for i, label in enumerate(X.index)}
    for z, quantity in ((by_hand(X, y_true), "D"), (by_hand(X, y_pred), "D_f")):
        for row in found[found["quantity"] == quantity].itertuples():
            apart = np.linalg.norm(z[place[row.row]] - z[place[row.nearest]])
            assert apart == pytest.approx(row.distance, rel=1e-9)
            values = sensitive[row.attribute].to_numpy()
            assert (values[place[row.row]] == row.group) != (
                values[place[row.nearest]] == row.group
            )
    assert set(found["direction"]) == {"group to reference", "reference to group"}
    assert found.groupby(["attribute", "group", "quantity"])["attains"].any().all()


def test_nothing_over_nothing_and_something_over_nothing() -> None:
    """The paper's conventions below Eq. (3): 0/0 − 1 → 0 and x/0 → +∞; the second is said."""
    x = np.array([[0.0], [1.0], [0.0], [1.0]])
    group = ["a", "a", "b", "b"]
    same = fs.hfm(x, [0, 1, 0, 1], [1, 0, 1, 0], sensitive_features=group, **OFF)
    assert (same.d, same.d_f, same.hfm) == (0.0, 0.0, 0.0)
    with pytest.warns(DataWarning, match="infinite for group: "):
        apart = fs.hfm(
            x, [0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=group, n_resamples=99, rng=1
        )
    assert (apart.d, apart.d_f, apart.hfm) == (0.0, 1.0, math.inf)
    again = HfmResult.from_dict(apart.to_dict())
    assert again.hfm == math.inf


def test_labels_of_several_classes_are_one_apart() -> None:
    x = np.zeros((4, 1))
    x[:, 0] = [0, 0, 1, 1]
    result = fs.hfm(
        x,
        ["u", "v", "u", "w"],
        ["u", "v", "u", "v"],
        sensitive_features=["a", "b", "a", "b"],
        **OFF,
    )
    assert result.d == pytest.approx(1.0)
    assert result.label_levels == ("u", "v", "w")


def test_bounds_come_from_the_reference_data() -> None:
    train = pd.DataFrame({"x": [0.0, 10.0], "c": ["u", "v"]})
    rows = FrameEncoder.fit(train).encode(pd.DataFrame({"c": ["v"], "x": [20.0]}))
    assert rows.columns == ("x", "c=u", "c=v")
    assert rows.values.tolist() == [[2.0, 0.0, 1.0]]  # beyond the bounds, and not cut off
    with pytest.warns(DataWarning, match="do not have \\(w\\)"):
        rows = FrameEncoder.fit(train).encode(pd.DataFrame({"c": ["w", "u"], "x": [1.0, 2.0]}))
    assert rows.columns == ("x", "c=u", "c=v", "c=(other)")
    assert rows.values[0].tolist() == [0.1, 0.0, 0.0, 1.0]


def test_constant_columns_add_nothing_and_are_named() -> None:
    X, y_true, y_pred, sensitive = people()
    plain = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive["sex"], **OFF)
    more = fs.hfm(
        X.assign(one=7.0, word="w"), y_true, y_pred, sensitive_features=sensitive["sex"], **OFF
    )
    assert (more.d, more.d_f) == (plain.d, plain.d_f)
    assert more.constant == ("one", "word")
    assert "Constant, so without influence: one, word." in more.summary()
    with pytest.warns(DataWarning, match="constant in the reference data"):
        FrameEncoder.fit(pd.DataFrame({"x": [1.0, 1.0]})).encode(pd.DataFrame({"x": [1.0, 3.0]}))


def test_sensitive_columns_are_left_out_of_the_features() -> None:
    X, y_true, y_pred, sensitive = people()
    both = pd.concat([X, sensitive.set_index(X.index)], axis=1)
    result = fs.hfm(both, y_true, y_pred, sensitive_features=sensitive, **OFF)
    assert result.left_out == ("sex", "race")
    assert result.columns == ("age", "hours", "job=a", "job=b", "job=c")
    assert result.d == fs.hfm(X, y_true, y_pred, sensitive_features=sensitive, **OFF).d


def test_scale_none_keeps_units() -> None:
    x = np.array([[0.0], [30.0], [10.0], [35.0]])
    result = fs.hfm(
        x, [0] * 4, [0] * 4, sensitive_features=["a", "a", "b", "b"], scale="none", **OFF
    )
    assert result.d == 10.0


def test_polars_and_arrays_agree() -> None:
    pl = pytest.importorskip("polars")
    X, y_true, y_pred, sensitive = people()
    plain = fs.hfm(X, y_true, y_pred, sensitive_features=sensitive["sex"], **OFF)
    other = fs.hfm(
        pl.DataFrame(X.to_dict("list")), y_true, y_pred, sensitive_features=sensitive["sex"], **OFF
    )
    assert (other.d, other.d_f) == (plain.d, plain.d_f)


def test_result_prints_and_survives_json() -> None:
    X, y_true, y_pred, sensitive = people(60)
    result = fs.hfm(
        X, y_true, y_pred, sensitive_features=sensitive, n_resamples=49, n_subsamples=20, rng=1
    )
    assert HfmResult.from_dict(result.to_dict()) == result
    frame = result.to_frame()
    assert set(frame["metric"]) == {"hfm_distance_labels", "hfm_distance_predictions", "hfm"}
    assert len(frame) == 3 * len(result.entries)
    assert frame[["ci_low", "ci_high"]].isna().all().all()  # no interval is claimed
    text = result.summary()
    assert "highly sensitive" in text
    assert "no confidence" in text
    assert (
        "No tests were made"
        in fs.hfm(X, y_true, y_pred, sensitive_features=sensitive, **OFF).summary()
    )


@pytest.mark.parametrize(
    ("load", "n_groups"),
    [(load_ricci, 1), (load_german_credit, 2), (load_compas, 1), (load_adult, 2)],
)
def test_the_papers_data(load, n_groups: int) -> None:
    """Runs on the bundled data; the distances of 400 rows by brute force."""
    frame, description = load()
    frame = frame.dropna().iloc[:400].reset_index(drop=True)
    sensitive = list(description.sensitive_features)[:n_groups]
    label = description.y_true
    X = frame.drop(columns=[label, *description.sensitive_features])
    y_pred = frame[label].sample(frac=1, random_state=1).to_numpy()
    result = fs.hfm(
        X, frame[label], y_pred, sensitive_features=frame[sensitive[0]].astype(str), **OFF
    )
    encoded = FrameEncoder.fit(X).encode(X).values
    z = np.column_stack([encoded, frame[label] == frame[label].iloc[0]])
    for entry in result.entries:
        if not entry.is_maximum:
            own = (frame[sensitive[0]].astype(str) == entry.group).to_numpy()
            assert entry.d == pytest.approx(brute(z[own], z[~own]), rel=1e-9)


GOOD = {
    "X": [[0.0], [1.0], [2.0]],
    "y_true": [0, 1, 1],
    "y_pred": [0, 1, 0],
    "sensitive_features": list("aba"),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": [[0.0], [np.nan], [2.0]]}, "NaN or infinite"),
        ({"X": pd.DataFrame({"x": [1.0, None, 2.0]})}, "NaN or infinite"),
        ({"X": pd.DataFrame({"x": ["u", None, "v"]})}, "missing values in 'x'"),
        ({"X": [["u"], ["v"], ["w"]]}, "encode categories"),
        ({"X": [[0.0], [1.0]]}, "different lengths"),
        ({"X": np.empty((3, 0))}, "0 columns"),
        (
            {"X": pd.DataFrame({"g": list("aba")}), "sensitive_features": {"g": list("aba")}},
            "no columns",
        ),
        ({"y_true": [0, None, 1]}, "missing values"),
        ({"y_pred": [0.0, np.nan, 1.0]}, "missing values"),
        ({"y_pred": [0, 1]}, "different lengths"),
        ({"sensitive_features": list("aaa")}, "one group with rows"),
        ({"sensitive_features": ["a", None, "b"]}, "missing values"),
        ({"sensitive_features": list("ab")}, "different lengths"),
        ({"sensitive_features": None}, "sensitive_features"),
        ({"statistic": "median"}, "statistic"),
        ({"scale": "zscore"}, "scale"),
        ({"n_resamples": -1}, "n_resamples"),
        ({"n_subsamples": 1.5}, "n_subsamples"),
        ({"rng": "x"}, "rng"),
        ({"reference_data": pd.DataFrame({"z": [1.0]})}, "no column 'z'"),
        ({"X": np.ones((3, 2)), "reference_data": np.ones((3, 1))}, "do not have: 'x1'"),
        ({"reference_data": np.ones((3, 2))}, "no column 'x1'"),
    ],
)
def test_bad_input(change: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fs.hfm(**{**GOOD, **change})


def dated(n: int = 200) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.random(n), "day": pd.date_range("2020-01-31", periods=n)})
    return X, *(rng.integers(0, 2, n) for _ in range(3))


DAYS = {
    "pandas": lambda X: X,
    "dates of Python": lambda X: X.assign(day=X["day"].dt.date),
    "periods": lambda X: X.assign(day=X["day"].dt.to_period("D")),
    "with a time zone": lambda X: X.assign(day=X["day"].dt.tz_localize("UTC")),
    "durations": lambda X: X.assign(day=X["day"] - X["day"][0]),
    "polars": pl.from_pandas,
    "polars dates": lambda X: pl.from_pandas(X).with_columns(pl.col("day").cast(pl.Date)),
    "Arrow": pa.Table.from_pandas,
    "pandas of Arrow": lambda X: X.convert_dtypes(dtype_backend="pyarrow"),
}


@pytest.mark.parametrize("kind", DAYS)
def test_dates_are_numbers(kind: str) -> None:
    """Witness: the same days as numbers. As 200 categories they moved D from .05 to 1.4."""
    X, y, p, group = dated()
    wanted = fs.hfm(X.assign(day=np.arange(200)), y, p, sensitive_features=group, **OFF).entries[0]
    found = fs.hfm(DAYS[kind](X), y, p, sensitive_features=group, **OFF).entries[0]
    assert (found.d, found.d_f) == pytest.approx((wanted.d, wanted.d_f), rel=1e-12)


def test_dates_of_a_tally_are_numbers() -> None:
    X, y, p, group = dated()
    counted = fs.tally(
        X.assign(y=y, p=p, g=group),
        y_true="y",
        y_pred="p",
        sensitive_features="g",
        features=["x", "day"],
    )
    rows = fs.hfm(X, y, p, sensitive_features=group, **OFF).entries[0]
    assert fs.hfm(counts=counted, **OFF).entries[0].d == pytest.approx(rows.d, rel=1e-12)


FRAMES = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "Arrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", FRAMES)
def test_identifiers_are_refused(kind: str) -> None:
    X, y, p, group = dated()
    named = FRAMES[kind](X.drop(columns="day").assign(person=[f"p{k}" for k in range(200)]))
    with pytest.raises(
        InputError, match="`X`: got a column 'person' with 200 .* an identifier.*leave 'person' out"
    ):
        fs.hfm(named, y, p, sensitive_features=group)


def test_a_masked_feature_is_a_missing_one() -> None:
    """A masked row of 140 moved D to 140.7."""
    X = np.ma.array([[0.0], [140.0], [2.0]], mask=[[0], [1], [0]])
    with pytest.raises(InputError, match="`X`: got 1 values that are NaN"):
        fs.hfm(**{**GOOD, "X": X})
    with pytest.raises(InputError, match="`a`: got 1 values that are NaN"):
        fs.set_distance(X, [[0.0]])


def test_rows_in_another_order_are_said() -> None:
    X, y, p, group = dated()
    with pytest.warns(
        DataWarning, match="X and sensitive_features have equal row labels in another order"
    ):
        fs.hfm(X, y, p, sensitive_features=pd.Series(group, X.index[::-1]), **OFF)


def test_scores_are_no_labels() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(InputError, match="pass predicted labels"):
        fs.hfm(
            rng.random((300, 2)),
            rng.integers(0, 2, 300),
            rng.random(300),
            sensitive_features=rng.integers(0, 2, 300),
        )


def test_unknown_entry() -> None:
    result = fs.hfm(**GOOD, **OFF)
    with pytest.raises(InputError, match="attribute"):
        result.entry("age")
    with pytest.raises(InputError, match="group"):
        result.entry("group", "c")


def test_a_tally_gives_the_same_as_its_rows() -> None:
    """Also after a round trip through JSON and as the sum of two halves."""
    rng = np.random.default_rng(4)
    n = 300
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "city": rng.choice(["Ulm", "Bern", "Linz"], n),
            "y": rng.integers(0, 2, n),
            "hat": rng.integers(0, 2, n),
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["x", "y", "z"], n),
        }
    )
    columns = {
        "y_true": "y",
        "y_pred": "hat",
        "sensitive_features": ["sex", "race"],
        "features": ["age", "city"],
    }
    whole = fs.tally(frame, **columns)
    halves = fs.tally(frame[:120], **columns) + fs.tally(frame[120:], **columns)
    features = frame[["age", "city"]]
    for statistic in ("max", "mean"):
        plain = fs.hfm(
            features,
            frame["y"],
            frame["hat"],
            sensitive_features=frame[["sex", "race"]],
            statistic=statistic,
            n_resamples=0,
            n_subsamples=0,
        )
        for counts in (whole, halves, fs.Tally.from_json(whole.to_json(exact=True))):
            found = fs.hfm(counts=counts, statistic=statistic, n_resamples=0, n_subsamples=0)
            assert [(e.attribute, e.group, e.n) for e in found.entries] == [
                (e.attribute, e.group, e.n) for e in plain.entries
            ]
            np.testing.assert_allclose(
                [(e.d, e.d_f) for e in found.entries],
                [(e.d, e.d_f) for e in plain.entries],
                rtol=1e-12,
            )
    tested = fs.hfm(counts=whole, n_resamples=19, n_subsamples=9, rng=1)
    assert 0 < tested.pvalue <= 1
    with pytest.raises(InputError, match="both counts and rows"):
        fs.hfm(features, counts=whole)
    with pytest.raises(InputError, match="features="):
        fs.hfm(counts=fs.tally(frame, y_true="y", y_pred="hat", sensitive_features="sex"))


def test_set_distances_of_a_tally() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"x": rng.integers(0, 9, 80), "z": rng.random(80), "sex": rng.choice(["f", "m"], 80)}
    )
    counts = fs.tally(frame, sensitive_features="sex", features=["x", "z"])
    a, b = (frame.loc[frame["sex"] == g, ["x", "z"]] for g in counts.groups)
    for statistic in ("max", "mean", 0.9):
        found = fs.set_distance(counts=counts, statistic=statistic)
        assert found.value == pytest.approx(
            fs.set_distance(a, b, statistic=statistic).value, rel=1e-12
        )
        assert (found.n_a, found.n_b) == (len(a), len(b))
    assert fs.approx_set_distance(counts=counts, rng=1).value >= fs.set_distance(a, b).value
    with pytest.raises(InputError, match="two groups"):
        fs.set_distance(counts=fs.tally(frame, sensitive_features="x", features=["z"]))
