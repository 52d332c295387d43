"""What repeats in a JSON value is stated once, and comes back to the last bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.ground.errors import InputError
from fairstats.ground.serialise import encode
from fairstats.report.packed import pack, unpack

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
    st.sampled_from([{"float": "NaN"}, {"float": "-Infinity"}]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.tuples(inner, st.integers(0, 4)).map(lambda pair: [pair[0]] * pair[1]),
    ),
    max_leaves=12,
)


def text(value: Any) -> str:
    """JSON text: 1, 1.0 and true, 0.0 and −0.0, and the order of keys are told apart."""
    return json.dumps(value, allow_nan=False)


@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    assert text(unpack(json.loads(text(pack(value))))) == text(value)
    assert text(unpack(value)) == text(value)


@pytest.mark.parametrize(
    "value",
    [
        list(range(100)),
        [[0.1 * k, -0.0] for k in range(50)],
        [[[k, 2 * k]] * 3 for k in range(30)],
        [*[0.5] * 80, {"float": "NaN"}, {"float": "Infinity"}],
        [[0.5, {"float": "NaN"}]] * 40,
        [1, 1.0, True] * 30,
        [2**31] * 70,
        ["a", "b", "a"] * 30,
        [{"p": 0.1, "tests": [{"null": "rate = 1", "z": float(k)}] * 7} for k in range(20)],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        [[], []],
        encode(np.arange(600).reshape(3, 2, 100)),
    ],
)
def test_lists_of_every_kind_come_back(value: Any) -> None:
    assert text(unpack(json.loads(text(pack(value))))) == text(value)


def test_what_repeats_is_stated_once() -> None:
    """A thousand comparisons of two constants and three numbers: 24 bytes a row and some."""
    rng = np.random.default_rng(1)
    rows = [
        {"class": "Comparison", "method": "score", "low": low, "high": high, "n": 5}
        for low, high in rng.random((1_000, 2)).tolist()
    ]
    assert len(text(rows)) > 90_000
    assert len(text(pack(rows))) < 24_000


@pytest.mark.parametrize(
    "damaged",
    [
        {"@rows": -1, "@same": 0},
        {"@rows": 10**12, "@same": 0},
        {"@rows": 2, "@columns": {"a": [1], "b": [1, 2]}},
        {"@rows": 2, "@columns": {}},
        {"@rows": 2},
        {"@levels": ["a"], "@codes": [0, 1]},
        {"@levels": "a", "@codes": [0]},
        {"@numbers": "f4", "@shape": [1], "@bytes": ""},
        {"@numbers": "f8", "@shape": [10**9], "@bytes": ""},
        {"@numbers": "f8", "@shape": [-1], "@bytes": ""},
        {"@numbers": "f8", "@shape": [2], "@bytes": "no base64!"},
        {"@numbers": "f8", "@shape": [2], "@bytes": "AAAA"},
        {"@numbers": "f8", "@shape": [2], "@bytes": 3},
        {**pack([0.5] * 64), "@shape": [63]},
        {**pack([0.5] * 64), "@shape": [65]},
    ],
)
def test_damaged_parts_are_refused(damaged: Any) -> None:
    with pytest.raises(InputError):
        unpack(damaged)
