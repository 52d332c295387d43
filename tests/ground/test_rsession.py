"""The door to R where R is not needed: names, folders, forked children, refusals."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairstats.ground import rsession
from fairstats.ground.errors import BackendError, InputError
from fairstats.ground.rprobe import RProbe
from fairstats.ground.rsession import call, r_code_folder


@pytest.mark.parametrize(
    "name", ["", "f(x)", "system; x", "a::b::c", "pkg:::hidden", "1f", "f x", "f\n"]
)
def test_only_names_of_functions_are_called(name):
    with pytest.raises(InputError, match="function"):
        call(name)


def test_bad_rng_is_refused_before_r_starts(monkeypatch):
    monkeypatch.setattr(rsession, "_running_session", lambda: pytest.fail("R was started"))
    with pytest.raises(InputError, match="rng"):
        call("base::sum", 1.0, rng="seed")


def test_r_that_does_not_work_names_cause_and_cure(monkeypatch):
    monkeypatch.setattr(rsession, "_running", None)
    monkeypatch.setattr(rsession, "_embedded_module", lambda: None)
    monkeypatch.setattr(
        rsession, "probe_r", lambda: RProbe("missing", cause="no R here", cure="get one")
    )
    monkeypatch.setattr(rsession, "probe_rscript", lambda: RProbe("missing"))
    with pytest.raises(BackendError, match=r"no R here.*To fix: get one"):
        call("base::sum", 1.0)


def test_forked_child_is_refused_before_the_lock(monkeypatch):
    monkeypatch.setattr(rsession, "_running", SimpleNamespace(pid=os.getpid() + 1))
    monkeypatch.setattr(rsession, "_lock", None)  # touching it would raise something else
    with pytest.raises(BackendError, match=r"forked child.*spawn.*loky.*scipy"):
        call("base::sum", 1.0)


def test_forked_child_of_a_process_whose_r_was_started_by_others(monkeypatch):
    monkeypatch.setattr(rsession, "_running", None)
    monkeypatch.setattr(
        rsession, "_embedded_module", lambda: SimpleNamespace(isinitialized=lambda: True)
    )
    monkeypatch.setenv(
        "PYTHON_SESSION_INITIALIZED", f"current_pid={os.getpid() + 1}:sys.executable=python"
    )
    with pytest.raises(BackendError, match="forked child"):
        call("base::sum", 1.0)


def make(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_r_code_beside_the_package_comes_first(tmp_path):
    make(tmp_path, "r/DESCRIPTION", "r/R/rates.R", "fairstats/_r/R/rates.R")
    assert r_code_folder(tmp_path / "fairstats") == tmp_path / "r" / "R"


def test_r_code_of_the_wheel(tmp_path):
    make(tmp_path, "fairstats/_r/R/rates.R", "r/other.txt")
    assert r_code_folder(tmp_path / "fairstats") == tmp_path / "fairstats" / "_r" / "R"


def test_no_r_code(tmp_path):
    assert r_code_folder(tmp_path) is None


def test_source_tree_has_its_r_code():
    folder = r_code_folder()
    assert folder is not None
    assert folder == Path(rsession.__file__).resolve().parents[2] / "r" / "R"


def test_version_of_the_r_package_is_ours():
    import fairstats

    folder = r_code_folder()
    assert folder is not None
    lines = (folder.parent / "DESCRIPTION").read_text().splitlines()
    assert f"Version: {fairstats.__version__}" in lines
