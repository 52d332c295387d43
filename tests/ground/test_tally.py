"""The tally: parts, sums, marginals and JSON keep every count."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.tally import counts_or_rows
from tests.ground.engines.frames import same

ALL = {
    "y_true": "y",
    "y_pred": "hat",
    "y_pred_b": "hat_b",
    "score": "score",
    "counterfactual_score": "flipped",
    "features": ("age", "job"),
    "sensitive_features": ("sex", "race"),
}


def people(seed: int, n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "hat": rng.integers(0, 2, n),
            "hat_b": rng.integers(0, 2, n),
            "score": rng.integers(0, 21, n) / 20,
            "flipped": rng.integers(0, 21, n) / 20,
            "age": rng.integers(18, 22, n),
            "job": rng.choice(["clerk", "cook"], n),
            "sex": rng.choice(["f", "m"], n, p=[0.7, 0.3]),
            "race": rng.choice(["A", "B", "C"], n, p=[0.2, 0.5, 0.3]),
            "site": rng.choice(["north", "south"], n),
            "weight": rng.integers(1, 4, n) / 2,
            "school": seed * 1000 + rng.integers(0, 12, n),
        }
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 60), st.booleans(), st.booleans())
def test_the_sum_of_two_tallies_is_the_tally_of_all_rows(first, second, n, weighted, stratified):
    a = people(first, n)
    b = people(1000 + second, 30)
    options = {
        **ALL,
        "sample_weight": "weight" if weighted else None,
        "strata": "site" if stratified else None,
    }
    together = fs.tally(pd.concat([a, b], ignore_index=True), **options)
    same(fs.tally(a, **options) + fs.tally(b, **options), together)


def test_rows_left_out_are_added_up_with_what_is_known_of_them():
    a = people(1).astype({"y": float})
    b = people(2).astype({"y": float})
    a.loc[:5, "y"] = np.nan
    b.loc[3:4, "y"] = np.nan
    options = {"y_true": "y", "y_pred": "hat", "sensitive_features": "sex", "missing": "drop"}
    with pytest.warns(fs.FairstatsWarning):
        x, y, together = (
            fs.tally(f, **options) for f in (a, b, pd.concat([a, b], ignore_index=True))
        )
    same(x + y, together)
    assert together.missing.n_dropped == 8


def test_clusters_add_up_only_where_none_lies_in_both():
    options = {"y_pred": "hat", "sensitive_features": "sex", "cluster": "school"}
    a = people(1)
    b = people(2)
    x = fs.tally(a, **options)
    y = fs.tally(b, **options)
    with pytest.raises(InputError, match="counted as two"):
        x + y
    same(x.add(y, disjoint_clusters=True), fs.tally(pd.concat([a, b]), **options))


def test_tallies_of_another_kind_do_not_add_up():
    x = fs.tally(people(1), y_pred="hat", sensitive_features="sex")
    with pytest.raises(InputError, match="`other`: got a tally of race"):
        x + fs.tally(people(1), y_pred="hat", sensitive_features="race")
    with pytest.raises(InputError, match="ConfusionCounts"):
        x + fs.tally(people(1), y_true="y", y_pred="hat", sensitive_features="sex")


@pytest.mark.parametrize("weight", [None, "weight"])
def test_one_attribute_of_a_crossed_tally_is_its_own_tally(weight):
    frame = people(3, 400)
    crossed = fs.tally(frame, **ALL, sample_weight=weight)
    for name in ("sex", "race"):
        own = fs.tally(frame, **{**ALL, "sensitive_features": name}, sample_weight=weight)
        same(crossed.by(name), own)


def test_declared_orders_survive_sums_and_marginals():
    frame = people(4, 300)
    frame["race"] = pd.Categorical(frame["race"], ["C", "A", "B", "D"], ordered=True)
    frame["sex"] = pd.Categorical(frame["sex"], ["m", "f"])
    with pytest.warns(DataWarning, match="race: of the declared values 'D' has no rows"):
        counted = fs.tally(frame, y_pred="hat", sensitive_features=["race", "sex"])
    assert counted.by("race").groups == ("C", "A", "B")
    assert (counted + counted).by("sex").groups == ("m", "f")
    frame.loc[:9, "race"] = "D"
    later = fs.tally(frame, y_pred="hat", sensitive_features=["race", "sex"])
    assert (counted + later).by("race").groups == ("C", "A", "B", "D")


@pytest.mark.parametrize(
    "options", [ALL, {**ALL, "sample_weight": "weight"}, {**ALL, "strata": "site"}]
)
def test_json_with_every_value_gives_the_tally_back(options, tmp_path):
    counted = fs.tally(people(5), **options)
    path = tmp_path / "tally.json"
    counted.to_json(path, exact=True)
    same(fs.Tally.from_json(path), counted)


def test_json_for_others_has_no_rows_and_no_score_of_few():
    frame = people(6, 500)
    frame["score"] = np.random.default_rng(1).random(500)
    counted = fs.tally(frame, **ALL)
    with pytest.warns(
        DataWarning, match=r"merged to \d+ intervals of at least 10 rows.*can move by up to 0\.\d"
    ):
        back = fs.Tally.from_json(counted.to_json())
    assert back.distinct is None
    scores = back.histogram()
    assert scores.counts.sum(axis=(0, 1)).min() >= 10
    np.testing.assert_array_equal(scores.group_sizes, counted.histogram().group_sizes)
    below = (counted.histogram().values[None, :] <= scores.values[:, None]).astype(int)
    np.testing.assert_array_equal(
        np.cumsum(scores.counts, axis=2), counted.histogram().counts @ below.T
    )


def test_gridded_and_exact_scores_add_to_gridded_ones():
    a = people(7, 200)
    b = people(8, 150)
    options = {"y_true": "y", "score": "score", "sensitive_features": "sex"}
    x = fs.tally(a, **options)
    y = fs.tally(b, **options)
    with pytest.warns(DataWarning, match="merged"):
        coarse = fs.Tally.from_json(x.to_json())
    both = (coarse + y).histogram()
    assert both.lower is not None
    assert (both.lower[1:] > both.values[:-1]).all()
    np.testing.assert_array_equal(both.counts.sum(axis=2), (x + y).histogram().counts.sum(axis=2))


def test_tails_keep_what_is_asked_and_say_from_where_on():
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {"g": ["a"] * 30_000 + ["b"] * 50, "s": 0.0, "t": rng.random(30_050).round(3)}
    )
    tails = fs.tally(frame, sensitive_features="g", score="s", counterfactual_score="t").extremes()
    values = frame["t"].to_numpy()[:30_000]
    top = tails._largest_ascending(0)
    assert top.size >= 1_500
    np.testing.assert_array_equal(top, np.sort(values[values >= tails.complete[0]]))
    assert tails.total[0] == pytest.approx(values.sum(), rel=1e-12)
    np.testing.assert_array_equal(
        tails._largest_ascending(1), np.sort(frame["t"].to_numpy()[30_000:])
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"score": "s", "counterfactual_score": "t"},
        {"score": "s"},
        {"features": "x", "y_pred": "hat"},
        {"y_pred": "hat"},
    ],
    ids=lambda asked: ", ".join(asked),
)
@pytest.mark.parametrize("part", ["cells", "scores", "tails", "distinct"])
def test_sizes_of_groups_from_whatever_was_counted(asked, part):
    """Counted by pandas; each part alone knows the rows of every group, and no part none."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {"g": rng.choice(["a", "b", "c"], 90, p=[0.5, 0.3, 0.2]), "x": rng.integers(0, 3, 90)}
    )
    frame = frame.assign(hat=rng.integers(0, 2, 90), s=rng.random(90).round(1), t=rng.random(90))
    whole = fs.tally(frame, sensitive_features="g", **asked)
    parts = ("cells", "scores", "tails", "distinct")
    alone = replace(whole, **{name: None for name in parts if name != part})
    sizes = frame["g"].value_counts()[list(whole.groups)].tolist()
    assert whole.group_sizes.tolist() == sizes
    assert whole.n == 90
    assert alone.group_sizes.tolist() == (sizes if getattr(whole, part) is not None else [0, 0, 0])


def test_distinct_rows_are_the_rows():
    frame = people(10, 120)
    rows = fs.tally(frame, **{**ALL, "sensitive_features": "sex"}).rows()
    assert rows.numbers.sum() == 120
    expected = frame[["age", "job"]].astype({"age": float}).value_counts().sort_index()
    table = rows.frame().astype({"job": str}).value_counts().sort_index()
    np.testing.assert_array_equal(table.to_numpy(), expected.to_numpy())


@pytest.mark.parametrize(
    ("part", "cure"),
    [
        ("confusion", "y_true= and y_pred="),
        ("paired", "y_pred_b="),
        ("strata", "strata="),
        ("histogram", "score="),
        ("extremes", "counterfactual_score="),
        ("rows", "features="),
    ],
)
def test_a_part_that_is_not_there_says_how_to_make_it(part, cure):
    counted = fs.tally(people(1), y_pred="hat", sensitive_features="sex")
    with pytest.raises(InputError, match=cure):
        getattr(counted, part)()


def test_strata_are_selected_rows_of_each_stratum_and_group():
    frame = people(11, 200)
    counts = fs.tally(frame, y_pred="hat", sensitive_features="sex", strata="site").strata()
    assert (counts.strata, counts.attribute) == (("north", "south"), "site")
    for h, site in enumerate(counts.strata):
        for g, sex in enumerate(counts.groups):
            own = frame[(frame.site == site) & (frame.sex == sex)]
            assert counts.rows[h, g].tolist() == [
                int((own.hat == 1).sum()),
                int((own.hat == 0).sum()),
            ]


def test_counts_and_rows_together_are_refused_and_neither_is_too():
    assert counts_or_rows({"a": 1}, needs="y_pred", y_pred=None)
    assert not counts_or_rows(None, needs="y_pred", y_pred=[1])
    with pytest.raises(InputError, match="both counts and rows"):
        counts_or_rows({"a": 1}, needs="y_pred", y_pred=[1])
    with pytest.raises(InputError, match="`y_true`: got None"):
        counts_or_rows(None, needs="y_true, y_pred", y_true=None, y_pred=[1])


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(k, marks=pytest.mark.slow) for k in (3, 4, 5))]
)
def test_withheld_cells_are_bounded_by_the_worst_case(seed):
    """Witness: the ratio of all rows lies between the bounds that the withheld ones leave."""
    frame = people(seed, 150)
    frame["race"] = np.where(frame["race"] == "A", frame["race"], "B")
    whole = fs.tally(frame, y_true="y", y_pred="hat", sensitive_features=["sex", "race"])
    sent = fs.Tally.from_json(whole.withheld(8).to_json())
    rows = sent.cells.rows
    assert not ((rows > 0) & (rows < 8)).any()
    gone = whole.cells.rows != rows
    assert gone.sum() != 1
    assert sent.missing.n_dropped == whole.cells.rows[gone].sum() > 0
    reference = whole.groups[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full, part = (fs.disparate_impact(counts=t, reference=reference) for t in (whole, sent))
        bounds = part.worst_case_bounds()
    for c in full.comparisons:
        row = bounds[bounds["group"] == c.group].iloc[0]
        assert row["low"] <= c.estimate <= row["high"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "worst" in fs.audit(sent, rng=1).summary(full=True).lower()


def test_what_cannot_be_withheld():
    frame = people(1, 300)
    clustered = fs.tally(frame, y_pred="hat", sensitive_features="sex", cluster="school")
    with pytest.raises(InputError, match="weighted or clustered"):
        clustered.withheld(5)
    with pytest.warns(DataWarning, match="scores left out"):
        kept = fs.tally(frame, y_true="y", score="score", sensitive_features="sex").withheld(3)
    assert kept.scores is None
    plain = fs.tally(frame, y_pred="hat", sensitive_features="sex")
    assert plain.withheld(1).missing.n_dropped == 0
