"""The door to a running R: values, conditions, console, seed."""

import gc
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from fairstats.ground.errors import BackendError, FairstatsWarning, InputError, RBackendError
from fairstats.ground.rsession import call

pytestmark = pytest.mark.r
ROOT = Path(__file__).parents[2]


# --- values
# -----------------------------------------------------------------------------------------


def test_reading_vectors_takes_no_reference_of_none():
    """Witness: the count itself.

    By rpy2's `memoryview` it fell by one a vector, until Python 3.11 died.
    """
    call("base::identity", 1.0)
    gc.collect()
    gc.disable()  # what other tests left in circles holds hundreds of None, too
    try:
        before = sys.getrefcount(None)
        for _ in range(300):
            call("base::identity", np.arange(3.0))
        assert sys.getrefcount(None) > before - 100
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "value", [None, True, False, 3, -(2**31) + 1, 2.5, 1e300, "text", "ünï ≤", "", ["a", "b"]]
)
def test_scalars_and_text_survive(value):
    back = call("base::identity", value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        np.linspace(-1, 1, 7),
        np.array([np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308]),
        np.arange(5),
        np.array([True, False, True]),
        np.arange(6.0).reshape(2, 3),
        np.arange(6.0).reshape(3, 2).T,
        np.arange(24).reshape(2, 3, 4),
        np.arange(20.0)[::3],
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
        np.zeros(0, dtype=bool),
        np.array([[1.5]]),
        np.zeros((0, 3)),
    ],
)
def test_arrays_survive_bit_for_bit(value):
    back = call("base::identity", value)
    assert back.dtype == value.dtype
    np.testing.assert_array_equal(back, value)


def test_returned_arrays_are_copies():
    back = call("base::identity", np.ones(3))
    assert back.flags.owndata
    back[0] = 5


def test_float32_and_large_integers_become_doubles():
    assert call("base::identity", np.float32(0.5)) == 0.5
    assert call("base::identity", 2**40) == float(2**40)
    np.testing.assert_array_equal(call("base::identity", np.array([1, 2**40])), [1.0, 2.0**40])
    np.testing.assert_array_equal(
        call("base::identity", np.array([0, 200], dtype=np.uint8)), [0, 200]
    )


def test_nested_mappings_and_lists():
    value = {"a": 1.5, "b": {"c": None, "d": "x"}, "e": [1.0, None, "z"]}
    assert call("base::identity", value) == value
    assert call("base::identity", {}) == []  # R's empty list has no names


def test_missing_values_of_r():
    with pytest.warns(FairstatsWarning, match="NAs introduced by coercion"):
        np.testing.assert_array_equal(call("base::as.integer", ["1", "x"]), [1.0, np.nan])
    np.testing.assert_array_equal(
        call("base::ifelse", np.array([np.nan, 1.0]), True, False), [np.nan, 1.0]
    )
    assert call("base::ifelse", np.array([np.nan, 1.0]), "yes", "no") == [None, "yes"]


def test_factor_and_frame():
    assert call("base::factor", ["b", "a", "b"]) == ["b", "a", "b"]
    frame = call("base::data.frame", x=[1.5, 2.5], g=["u", "v"])
    np.testing.assert_array_equal(frame["x"], [1.5, 2.5])
    assert frame["g"] == ["u", "v"]


def test_argument_names_with_dots():
    assert call("base::sum", [1.0, np.nan, 2.0], **{"na.rm": True}) == 3.0


@pytest.mark.parametrize(
    "value", [object(), 1j, np.array([1j]), np.array([object()]), {"a": {1, 2}}]
)
def test_values_that_r_cannot_hold(value):
    with pytest.raises(InputError, match="value"):
        call("base::identity", value)
    assert call("base::sum", 1.0) == 1.0


@pytest.mark.rpy2
def test_results_that_python_cannot_hold():
    with pytest.raises(BackendError, match="SexpEnvironment"):
        call("base::globalenv")


# --- conditions and console
# -------------------------------------------------------------------------


def test_error_has_message_and_call():
    with pytest.raises(
        RBackendError, match=r"R: missing values.*in R's call `quantile\.default\(arg1, probs"
    ):
        call("stats::quantile", [1.0, np.nan], probs=0.5)


def test_error_of_an_unknown_function():
    with pytest.raises(RBackendError, match="no_such_function"):
        call("no_such_function", 1.0)
    with pytest.raises(RBackendError, match="there is no package called"):
        call("nosuchpackage::f", 1.0)


def test_data_do_not_appear_in_the_message():
    with pytest.raises(RBackendError) as error:
        call("stats::quantile", np.append(np.arange(10_000.0), np.nan))
    assert len(str(error.value)) < 300


def test_warnings_become_ours():
    with pytest.warns(
        FairstatsWarning, match=r"R: NAs introduced by coercion \(in R's call `base::as.numeric"
    ):
        value = call("base::as.numeric", "x")
    assert np.isnan(value)


def test_every_warning_is_told():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call("base::mapply", "as.integer", ["x", "y", "2"])
    assert len(seen) == 2
    assert {w.category for w in seen} == {FairstatsWarning}


def test_console_stays_silent(capfd):
    call("base::print", "printed")
    call("base::cat", "catted\n")
    call("base::message", "messaged")
    call("utils::str", np.arange(10.0))
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


@pytest.mark.rpy2
def test_what_r_printed_is_kept_for_errors(tmp_path):
    script = tmp_path / "loud.R"
    script.write_text('cat("loud before\\n"); message("and a message"); stop("the end")\n')
    with pytest.raises(RBackendError, match="the end") as error:
        call("base::source", str(script))
    notes = "".join(error.value.__notes__)
    assert "loud before" in notes
    assert "and a message" in notes


def test_r_asks_nothing_of_the_user():
    assert call("base::readline", "your name? ") == ""


# --- seed
# -------------------------------------------------------------------------------------------


def test_seed_comes_from_rng():
    first = call("stats::rnorm", 5, rng=1)
    np.testing.assert_array_equal(call("stats::rnorm", 5, rng=1), first)
    assert not np.array_equal(call("stats::rnorm", 5, rng=2), first)
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(call("stats::rnorm", 5, rng=rng), first)
    assert not np.array_equal(call("stats::rnorm", 5, rng=rng), first)
    assert not np.array_equal(call("stats::rnorm", 5), call("stats::rnorm", 5))


def test_seed_of_r_is_put_back(python):
    out = python(
        """
        import numpy as np
        from fairstats.ground.rsession import call
        call("base::sum", 1.0)
        import rpy2.rinterface as ri
        seed = ri.evalr('function() if (exists(".Random.seed", globalenv())) sum(.Random.seed * 1.0) else 0')
        first = seed()[0]
        call("stats::rnorm", 3, rng=1)
        print(seed()[0] == first)
        ri.evalr('set.seed(42, "Wichmann-Hill")')
        before = seed()[0], ri.evalr("RNGkind()[1]")[0]
        call("stats::rnorm", 3, rng=1)
        try:
            call("base::stop", "no", rng=1)
        except Exception:
            pass
        print((seed()[0], ri.evalr("RNGkind()[1]")[0]) == before, before[1])
        """
    )
    assert out.split() == ["True", "True", "Wichmann-Hill"]
