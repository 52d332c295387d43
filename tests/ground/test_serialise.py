"""To JSON and back, without loss."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from fairstats import ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import MissingReport
from fairstats.ground.results import HypothesisTest, Interval
from fairstats.ground.serialise import decode, encode, fits


def there_and_back(value: Any) -> Any:
    """Through JSON text that holds no NaN or Infinity literals: R and the standard read it."""
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**60), 2**60),
        st.floats(allow_nan=False),
        st.text(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple), st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(PLAIN)
def test_plain_values(value: Any) -> None:
    assert there_and_back(value) == value


def test_floats_that_json_cannot_hold() -> None:
    back = there_and_back((math.nan, math.inf, -math.inf))
    assert math.isnan(back[0])
    assert back[1:] == (math.inf, -math.inf)


@pytest.mark.parametrize("key", ["float", "array", "dtype", "mapping", "class"])
def test_a_mapping_whose_keys_look_like_ours(key: str) -> None:
    assert there_and_back({key: "x"}) == {key: "x"}


@given(
    hnp.arrays(st.sampled_from(["f8", "i8", "u1", "?"]), hnp.array_shapes(max_dims=3, min_side=1))
)
def test_arrays(array: np.ndarray) -> None:
    back = there_and_back(array)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)], ids=str)
def test_arrays_without_elements_keep_their_shape(shape: tuple[int, ...]) -> None:
    assert there_and_back(np.zeros(shape)).shape == shape


def test_numpy_scalars_become_plain() -> None:
    encoded = encode((np.float64(0.5), np.int8(3), np.bool_(True), np.float32(np.nan)))
    assert encoded == [0.5, 3, True, {"float": "NaN"}]
    assert [type(v) for v in encoded[:3]] == [float, int, bool]


def test_dataclasses() -> None:
    interval = Interval(-math.inf, 0.25, 0.95, "log")
    test = HypothesisTest("ratio >= 0.8", "less", -1.5, 0.07, "score")
    assert there_and_back((interval, test)) == (interval, test)
    report = MissingReport("drop", 9, 2, {"y_true": 2}, ((0, -1, 1, 2),))
    assert there_and_back(report) == report


def test_count_tables() -> None:
    counts = ConfusionCounts.from_arrays(
        [1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=list("aabb"), sample_weight=[1, 2, 3, 4.5]
    )
    back = there_and_back(counts)
    assert type(back) is ConfusionCounts
    assert back.groups == counts.groups
    assert back.rows.dtype == counts.rows.dtype
    np.testing.assert_array_equal(back.rows, counts.rows)
    np.testing.assert_array_equal(back.totals, counts.totals)
    np.testing.assert_array_equal(back.scatter, counts.scatter)
    np.testing.assert_array_equal(back.covariance(), counts.covariance())


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"x", 1j, lambda: 0], ids=lambda v: type(v).__name__
)
def test_what_cannot_be_stored_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="`value`: got"):
        encode(value)


@pytest.mark.parametrize(
    "value", [{}, {"class": "Nothing"}, {"a": 1}, {"class": "os.system", "low": 1}], ids=str
)
def test_foreign_json_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="`json`: got an object of type"):
        decode(value)


def test_a_field_of_a_newer_version_is_left_out() -> None:
    data = {**encode(Interval(0.0, 1.0, 0.9, "log")), "colour": "red"}
    assert decode(data) == Interval(0.0, 1.0, 0.9, "log")


def test_a_field_may_bear_any_name() -> None:
    """`TailType.type` was once taken for the name of the class."""
    from fairstats.numerics.evt import fit_gpd, tail_type

    fit = fit_gpd(np.random.default_rng(1).exponential(size=500), 1.0, backend="scipy")
    kind = tail_type(fit)
    assert type(kind).from_dict(json.loads(json.dumps(kind.to_dict()))) == kind


def test_what_fits_a_field() -> None:
    """Classes by their registry, and aliases of arrays by the module that declares them."""
    interval = Interval(0.0, 1.0, 0.9, "log")
    names = {"Floats": NDArray[np.float64]}
    assert fits(interval, "Interval | None", {})
    assert not fits(MissingReport("drop", 9, 2, {}, ()), "Interval | None", {})
    assert fits((np.zeros(2), interval), "tuple[Floats, Interval]", names)
    assert not fits((0.0, interval), "tuple[Floats, Interval]", names)
