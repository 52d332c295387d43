"""Bad input: an error that names the argument, or a warning that says which group lacks what.

No crash.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.methods.um.draws import warn_of_undefined

from .conftest import TABLE, Sample, cells

ONE: dict[str, Any] = {"men": cells(42, 38, 12, 8)}


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"prior": -1.0}, "prior"),
        ({"prior": "flat"}, "prior"),
        ({"prior": True}, "prior"),
        ({"prior": float("nan")}, "prior"),
        ({"prior": {"tp": 1.0}}, "prior"),
        ({"draws": 10}, "draws"),
        ({"draws": 1e4}, "draws"),
        ({"target": "posterior"}, "target"),
        ({"sampler": "stan"}, "sampler"),
        ({"reference": "Martian"}, "reference"),
        ({"rng": -1}, "rng"),
        ({"counts": {}}, "counts"),
        ({"counts": 3}, "counts"),
        ({"counts": {"a": (1, 2, 3, 4)}}, "counts"),
        ({"counts": {"a": {"tp": 1, "tn": 2, "fp": 3}}}, "counts"),
        ({"counts": {"a": cells(-1, 2, 3, 4)}}, "counts"),
        ({"counts": {"a": cells(float("nan"), 2, 3, 4)}}, "counts"),
        ({"counts": {"a": {"tp": "x", "tn": 2, "fp": 3, "fn": 1}}}, "counts"),
        ({"counts": {1: cells(1, 2, 3, 4), "1": cells(1, 2, 3, 4)}}, "counts"),
        ({"counts": TABLE, "sensitive_features": ["a"]}, "counts"),
        ({"counts": None}, "y_true, y_pred"),
        ({"counts": {"a": cells(0, 0, 0, 0), "b": cells(1, 2, 3, 4)}, "prior": 0}, "prior"),
    ],
)
def test_posterior_refuses(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as problem:
        fs.um_posterior(**{"counts": TABLE, "rng": 1, **options})
    assert problem.value.argument == argument


def test_weighted_counts_are_refused() -> None:
    counts = fs.ConfusionCounts.from_arrays(
        [1, 0, 1, 0], [1, 0, 0, 1], sensitive_features=list("aabb"), sample_weight=[1.0, 2, 1, 2]
    )
    with pytest.raises(InputError, match="design weights"):
        fs.um_posterior(counts=counts)
    with pytest.raises(InputError, match="confusion counts"):
        fs.um_posterior(counts=fs.results.SelectionCounts.from_counts({"a": (1, 2)}))


def test_one_group_has_rates_but_no_comparison() -> None:
    result = fs.um_posterior(counts=ONE, rng=1)
    assert result.metric("accuracy").shape == (10_000,)
    assert set(result.to_frame()["group"]) == {"all"}
    with pytest.raises(InputError, match="one group"):
        result.metric("equal_opportunity")
    with pytest.raises(InputError, match="one group"):
        fs.um_compare(result, result)
    assert fs.um_compare(result, result, metrics="accuracy", rope=0.01, rng=1).p_equivalent > 0


def test_a_group_without_positives_warns_and_reports_undefined_draws() -> None:
    """A small group without positives; under "predictive" many drawn test sets have none either."""
    counts = {"men": cells(42, 38, 12, 8), "women": cells(0, 20, 4, 0)}
    with pytest.warns(
        InsufficientEvidenceWarning, match="'women' has no rows with a favourable label"
    ):
        result = fs.um_posterior(counts=counts, target="predictive", rng=1)
    with pytest.warns(InsufficientEvidenceWarning, match="undefined"):
        draws = result.metric("equal_opportunity")
    share = np.isnan(draws).mean()
    assert 0.05 < share < 0.9
    with pytest.warns(InsufficientEvidenceWarning, match="equal_opportunity of 'women'"):
        frame = result.to_frame(["equal_opportunity"])
    assert frame["undefined"][0] == pytest.approx(share)
    assert np.isfinite(frame["estimate"][0])
    other = fs.um_posterior(counts=TABLE, target="predictive", rng=1)
    with pytest.warns(InsufficientEvidenceWarning, match="left out"):
        comparison = fs.um_compare(result, other, rng=1)
    assert comparison.undefined == pytest.approx(share, abs=0.03)
    assert sum(e.probability for e in comparison.events) == pytest.approx(1)


def test_more_than_one_undefined_draw_in_twenty_is_told() -> None:
    """By count: 5 of 100 are silent, since warnings are errors here, and 6 are told."""
    draws = np.where(np.arange(100) < 5, np.nan, 0.5)
    warn_of_undefined("tpr", draws)
    draws[5] = np.nan
    with pytest.warns(InsufficientEvidenceWarning, match=r"tpr: 6.0% of the draws are undefined"):
        warn_of_undefined("tpr", draws)


def test_a_group_without_rows_is_undefined() -> None:
    counts = {**TABLE, "others": cells(0, 0, 0, 0)}
    with pytest.warns(
        InsufficientEvidenceWarning, match="'others' has no rows: its metrics are undefined"
    ):
        result = fs.um_posterior(counts=counts, rng=1)
    assert np.isfinite(result.metric("accuracy")).all()
    with pytest.warns(InsufficientEvidenceWarning, match="100.0% of the draws"):
        assert np.isnan(result.metric("tpr", group="others")).all()
    with pytest.raises(InputError, match="no draw in which every metric is defined"):
        fs.um_compare(result, result)


def test_prior_zero_with_an_empty_cell_is_the_documented_limit() -> None:
    counts = {"a": cells(10, 10, 5, 0), "b": cells(10, 10, 5, 5)}
    with pytest.warns(DataWarning, match=r"fn of 'a'.*improper"):
        result = fs.um_posterior(counts=counts, prior=0, rng=1)
    assert (result.metric("tpr", group="a") == 1).all()


def test_metric_arguments_are_checked() -> None:
    result = fs.um_posterior(counts=TABLE, rng=1)
    with pytest.raises(InputError, match="one group"):
        result.metric("equal_opportunity", group="men")
    with pytest.raises(InputError, match="existing group"):
        result.metric("tpr", group="Martian")
    with pytest.raises(InputError, match="one entry per draw first"):
        result.metric(lambda counts: counts.mean())
    with pytest.raises(InputError, match="each once"):
        result.metrics(["tpr", "tpr"])
    with pytest.raises(InputError, match="prob"):
        result.to_frame(prob=95)
    with pytest.raises(InputError, match="rope"):
        result.to_frame(rope=-0.1)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"names": 1}, "metrics"),
        ({"names": {"tpr", "fpr"}}, "metrics"),
        ({"names": np.array(["tpr"])}, "metrics"),
        ({"names": []}, "metrics"),
        ({"group": "x"}, "group"),
        ({"group": ["men"]}, "group"),
        ({"names": "equal_opportunity", "group": "men"}, "metric"),
        ({"bins": 3}, "hdr"),
    ],
)
def test_region_refuses(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as problem:
        fs.um_posterior(counts=TABLE, rng=1).hdr(**{"names": ["tpr", "fpr"], **options})
    assert problem.value.argument == argument


def test_region_of_a_group() -> None:
    """The witness is the region of that group's draws."""
    posterior = fs.um_posterior(counts=TABLE, rng=1)
    group = posterior.groups[0]
    draws = np.column_stack([posterior.metric(name, group=group) for name in ("tpr", "fpr")])
    region = posterior.hdr(["tpr", "fpr"], group=group, backend="scipy")
    np.testing.assert_array_equal(region.mode, fs.hdr(draws, backend="scipy").mode)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"rope": (-0.01, 0.01)}, "rope"),
        ({"rope": (0.01, 0.01, 0.01)}, "rope"),
        ({"rope": "wide"}, "rope"),
        ({"rope": float("inf")}, "rope"),
        ({"metrics": ()}, "metrics"),
        ({"metrics": ("accuracy", "accuracy")}, "metrics"),
        ({"metrics": ("selection_rate",), "rope": 0.01}, "metrics"),
        ({"metrics": ("accuracy", lambda c: c), "rope": 0.01}, "metrics"),
        ({"hdr": 95}, "hdr"),
        ({"paired": "yes"}, "paired"),
        ({"paired": True}, "paired"),
        ({"names": ("A", "A")}, "names"),
        ({"draws": 3}, "draws"),
        ({"b": 3}, "a, b"),
        ({"b": fs.um_posterior(counts=ONE, rng=1)}, "a, b"),
        ({"b": fs.um_posterior(counts=TABLE, rng=1, target="predictive")}, "a, b"),
    ],
)
def test_comparison_refuses(options: dict[str, Any], argument: str) -> None:
    first = fs.um_posterior(counts=TABLE, rng=1)
    given = {"b": first, **options}
    with pytest.raises(InputError) as problem:
        fs.um_compare(first, given.pop("b"), rng=1, **given)
    assert problem.value.argument == argument


def test_several_algorithms_are_checked(two_models: Sample) -> None:
    first = fs.um_posterior(counts=TABLE, rng=1)
    with pytest.raises(InputError, match="at least two"):
        fs.um_compare({"svm": first})
    with pytest.raises(InputError, match="beside a mapping"):
        fs.um_compare({"svm": first}, first)
    with pytest.raises(InputError, match="two at a time"):
        fs.um_compare({"svm": first, "lr": first}, hdr=0.95)
