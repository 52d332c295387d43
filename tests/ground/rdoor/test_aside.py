"""R by Rscript, where rpy2 is missing.

Witnesses: R itself, which hands back what it got; rpy2, which answers alike; bytes that R's saveRDS
wrote.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fairstats.ground import rsession
from fairstats.ground.errors import BackendError, FairstatsWarning, RBackendError
from fairstats.ground.rdoor import aside, wire
from fairstats.ground.rdoor.aside import call_aside, probe_rscript
from fairstats.ground.rdoor.convert import from_r, to_r
from fairstats.ground.rprobe import RProbe

VALUES = [
    None,
    1.5,
    float("inf"),
    -7,
    2**40,
    True,
    "naïve",
    "",
    ["a", "b"],
    np.array([0.1, np.nan, -np.inf]),
    np.array([[1, 2, 3], [4, 5, 6]]),
    np.array([True, False]),
    np.arange(24.0).reshape(2, 3, 4),
    {"x": 1.0, "inner": {"y": ["u", "v"], "z": None}},
    [1.0, "text", {"k": 2}],
]


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    aside.close()


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for name in wanted:
            assert_same(found[name], wanted[name])
    elif isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(found, wanted)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert found == wanted
        assert type(found) is type(wanted) or isinstance(wanted, int)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_survive_the_bytes(value: Any) -> None:
    assert_same(from_r(wire.read(wire.write(to_r(value, wire))), wire), value)


def test_what_r_wrote_is_read() -> None:
    """saveRDS(list(a = c(1.5, NA), f = factor(c("u", NA)), t = NA_character_), version = 2,
    compress = FALSE) of R 4.2.2, byte by byte.
    """
    recorded = (
        "580a00000002000402020002030000000213000000030000000e000000023ff80000000000007ff0"
        "0000000007a20000030d000000020000000180000000000004020000000100040009000000066c65"
        "76656c73000000100000000100040009000000017500000402000000010004000900000005636c61"
        "737300000010000000010004000900000006666163746f72000000fe000000100000000100000009"
        "ffffffff000004020000000100040009000000056e616d6573000000100000000300040009000000"
        "0161000400090000000166000400090000000174000000fe"
    )
    answer = from_r(wire.read(bytes.fromhex(recorded)), wire)
    np.testing.assert_array_equal(answer["a"], [1.5, np.nan])
    assert answer["f"] == ["u", None]
    assert answer["t"] is None


def test_objects_without_a_counterpart_are_refused() -> None:
    closure = wire.write(wire.NULL)[:-4] + b"\x00\x00\x00\x03"
    with pytest.raises(BackendError, match="no counterpart"):
        wire.read(closure)


def test_without_rscript_there_is_a_cause_and_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "find_rscript", lambda: None)
    found = probe_rscript()
    assert (found.status, found.cause) == ("missing", "there is no Rscript on PATH")
    assert "install R" in found.cure
    monkeypatch.setattr(aside, "_process", None)
    with pytest.raises(BackendError, match="no Rscript on PATH"):
        call_aside("base::sum", 1.0, seed=1)


def test_rscript_that_fails_is_broken(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "Rscript"
    fake.write_text("#!/bin/sh\necho 'cannot open libR.so' >&2\nexit 3\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setattr(aside, "find_rscript", lambda: str(fake))
    found = probe_rscript()
    assert found.status == "broken"
    assert "code 3" in found.cause
    assert "libR.so" in found.cause


@pytest.mark.r
class TestLive:
    """Rscript itself."""

    @pytest.mark.parametrize("value", VALUES, ids=str)
    def test_values_come_back(self, value: Any) -> None:
        assert_same(call_aside("base::identity", value, seed=1), value)

    def test_names_of_arguments_and_packages(self) -> None:
        values = np.array([1.0, np.nan, 3.0])
        assert call_aside("base::sum", values, seed=1, **{"na.rm": True}) == 4.0
        assert call_aside("stats::pnorm", 0.0, seed=1) == 0.5

    def test_errors_and_warnings_are_those_of_r(self) -> None:
        with pytest.raises(RBackendError, match="non-numeric argument"):
            call_aside("base::log", "text", seed=1)
        with pytest.warns(FairstatsWarning, match="NaNs produced"):
            assert np.isnan(call_aside("base::sqrt", -1.0, seed=1))

    def test_what_has_no_counterpart(self) -> None:
        with pytest.raises(BackendError, match="no counterpart"):
            call_aside("base::globalenv", seed=1)

    def test_an_r_that_has_ended_is_started_anew(self) -> None:
        first = call_aside("base::Sys.getpid", seed=1)
        os.kill(int(first), signal.SIGKILL)
        with pytest.raises(RBackendError, match="has ended"):
            call_aside("base::sum", 1.0, seed=1)
        assert call_aside("base::Sys.getpid", seed=1) != first

    def test_versions_and_packages(self) -> None:
        found = probe_rscript()
        assert found.works
        assert (
            found.r_version
            == call_aside(
                "base::as.character",
                call_aside("base::R.Version", seed=1)["version.string"],
                seed=1,
            ).split()[2]
        )

    def test_seeds_are_those_of_the_session(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same `rng` draws the same numbers by the one door and, where that is shut, by the
        other.
        """
        monkeypatch.setattr(rsession, "_running", None)
        monkeypatch.setattr(rsession, "_embedded_module", lambda: None)
        monkeypatch.setattr(rsession, "probe_r", lambda: RProbe("missing"))
        drawn = rsession.call("stats::rnorm", 3, rng=5)
        np.testing.assert_array_equal(drawn, rsession.call("stats::rnorm", 3, rng=5))
        seed = rsession.draw_r_seed(5)
        np.testing.assert_array_equal(drawn, call_aside("stats::rnorm", 3, seed=seed))


@pytest.mark.rpy2
@pytest.mark.r
def test_draws_are_those_of_rpy2() -> None:
    seed = rsession.draw_r_seed(5)
    np.testing.assert_array_equal(
        rsession.call("stats::rnorm", 4, rng=5), call_aside("stats::rnorm", 4, seed=seed)
    )
