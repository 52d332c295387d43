"""Choosing the back end, and probing an R that is absent or broken in every way we know."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fairstats.ground import backends, rprobe
from fairstats.ground.backends import current_backend, resolve, use_backend
from fairstats.ground.errors import BackendError, FairstatsError, InputError
from fairstats.ground.rprobe import RProbe, diagnose

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.delenv("FAIRSTATS_BACKEND", raising=False)
    monkeypatch.setattr(backends, "_chosen", None)


@pytest.fixture
def found(monkeypatch):
    def pretend(probe):
        monkeypatch.setattr(backends, "probe_r", lambda: probe)

    return pretend


WORKS = RProbe("ok", r_version="4.2.2", r_home="/r", rpy2_version="3.6.5", packages={"evd": "2.3"})
ABSENT = RProbe("missing", cause="there is no R on PATH and R_HOME is not set", cure="install R")


# --- choice
# -----------------------------------------------------------------------------------------


def test_default_is_auto():
    assert current_backend() == "auto"


def test_environment_variable_sets_the_default(monkeypatch):
    monkeypatch.setenv("FAIRSTATS_BACKEND", "SciPy ")
    assert current_backend() == "scipy"


def test_wrong_environment_variable_is_named(monkeypatch):
    monkeypatch.setenv("FAIRSTATS_BACKEND", "julia")
    with pytest.raises(InputError, match=r"FAIRSTATS_BACKEND.*julia"):
        current_backend()


def test_use_backend_is_a_setter():
    use_backend("scipy")
    assert current_backend() == "scipy"
    use_backend("r")
    assert current_backend() == "r"


def test_use_backend_is_a_context_manager_that_nests_and_restores(monkeypatch):
    monkeypatch.setenv("FAIRSTATS_BACKEND", "r")
    with use_backend("scipy") as inner:
        assert current_backend() == "scipy"
        assert "scipy" in repr(inner)
        with use_backend("auto"):
            assert current_backend() == "auto"
        assert current_backend() == "scipy"
    assert current_backend() == "r"


def test_use_backend_restores_after_an_error():
    with pytest.raises(ZeroDivisionError), use_backend("scipy"):
        raise ZeroDivisionError
    assert current_backend() == "auto"


@pytest.mark.parametrize("name", ["R", "julia", None, 1, ["r"]])
def test_unknown_name_is_an_input_error(name):
    with pytest.raises(InputError, match="'auto', 'r', 'scipy'"):
        use_backend(name)
    assert current_backend() == "auto"


def test_use_backend_holds_in_other_threads():
    from concurrent.futures import ThreadPoolExecutor

    with use_backend("scipy"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(current_backend).result() == "scipy"


# --- resolve
# ----------------------------------------------------------------------------------------


def test_scipy_never_looks_for_r(monkeypatch):
    monkeypatch.setattr(backends, "probe_r", lambda: pytest.fail("looked for R"))
    assert resolve("scipy", purpose="GPD fits") == "scipy"


def test_auto_takes_r_where_it_has_the_packages(found):
    found(WORKS)
    assert resolve("auto", purpose="GPD fits", r_packages=["evd"]) == "r"
    assert resolve(None, purpose="GPD fits", r_packages=["evd"]) == "r"


def test_auto_falls_back_to_scipy(found):
    found(WORKS)
    assert resolve("auto", purpose="HDR", r_packages=["hdrcde"]) == "scipy"
    found(ABSENT)
    assert resolve("auto", purpose="HDR") == "scipy"


def test_r_without_r_names_cause_and_cure(found):
    found(ABSENT)
    with pytest.raises(
        BackendError, match=r"GPD fits.*no R on PATH.*To fix: install R.*backend=\"scipy\""
    ):
        resolve("r", purpose="GPD fits")


def test_r_without_the_package_names_it(found):
    found(WORKS)
    with pytest.raises(
        BackendError, match=r"packages extRemes, hdrcde.*install\.packages\(\"extRemes\"\)"
    ):
        resolve("r", purpose="fits", r_packages=["extRemes", "evd", "hdrcde"])
    assert issubclass(BackendError, FairstatsError)


def test_argument_beats_choice_beats_environment(monkeypatch, found):
    found(WORKS)
    monkeypatch.setenv("FAIRSTATS_BACKEND", "scipy")
    assert resolve(purpose="x") == "scipy"
    with use_backend("r"):
        assert resolve(purpose="x") == "r"
        assert resolve("scipy", purpose="x") == "scipy"


def test_unknown_backend_names_the_argument():
    with pytest.raises(InputError) as error:
        resolve("jax", purpose="x")
    assert error.value.argument == "backend"


# --- probing
# ----------------------------------------------------------------------------------------

ASK = """
from fairstats.ground.backends import resolve
from fairstats.ground.rprobe import probe_r
status = probe_r()
import sys
assert "rpy2.rinterface" not in sys.modules
print(status.status, "|", status.cause, "|", status.cure)
assert resolve("auto", purpose="x") == ("r" if status.works else "scipy")
"""


def probe_in(environment=None, path=()):
    """status, cause, cure as another process sees them."""
    env = {**os.environ, **(environment or {})}
    env = {name: value for name, value in env.items() if value is not None}
    env["PYTHONPATH"] = os.pathsep.join([*map(str, path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [part.strip() for part in done.stdout.strip().splitlines()[-1].split("|")]


@pytest.fixture
def fake_rpy2(tmp_path):
    """A folder to put before everything else, whose rpy2.rinterface does what the test says."""

    def make(body, module="rinterface"):
        package = tmp_path / "fake" / "rpy2"
        (package / "rinterface_lib").mkdir(parents=True)
        for name in ("__init__.py", "rinterface_lib/__init__.py"):
            (package / name).write_text("")
        (package / "rinterface_lib" / "embedded.py").write_text(
            "def set_initoptions(options): pass\n"
        )
        (package / f"{module}.py").write_text(textwrap.dedent(body))
        return package.parent

    return make


@pytest.fixture
def some_r(tmp_path):
    """A PATH with something called R on it, so that only rpy2 decides."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "R").write_text("#!/bin/sh\nexit 0\n")
    (folder / "R").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "R_HOME": None}


def test_no_rpy2():
    status, cause, cure = probe_in_without_rpy2()
    assert (status, cause) == ("missing", "rpy2 is not installed")
    assert "fairstats[r]" in cure


def probe_in_without_rpy2():
    """As `probe_in`, in a process that cannot find rpy2."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    hide = (
        "import importlib.util as u, fairstats.ground.rprobe as p\n"
        "p.find_spec = lambda name: None if name.startswith('rpy2') else u.find_spec(name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide + ASK], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return [part.strip() for part in done.stdout.strip().splitlines()[-1].split("|")]


def test_no_r_on_path(tmp_path, fake_rpy2):
    status, cause, cure = probe_in({"PATH": str(tmp_path), "R_HOME": None}, [fake_rpy2("")])
    assert status == "missing"
    assert "no R on PATH" in cause
    assert "install R" in cure


def test_r_home_that_points_nowhere(tmp_path, fake_rpy2):
    status, cause, cure = probe_in({"R_HOME": str(tmp_path / "nowhere")}, [fake_rpy2("")])
    assert status == "broken"
    assert "nowhere" in cause
    assert "R RHOME" in cure


@pytest.mark.parametrize(
    ("body", "cause", "cure"),
    [
        (
            (
                'class error(Exception): pass\nraise error("cannot load library: undefined symbol:'
                ' R_getVar")'
            ),
            "need R 4.5",
            "<3.6.6",
        ),
        (
            "raise ImportError('_rinterface_cffi_api.so: undefined symbol: Rf_something')",
            "built for another R (undefined symbol: Rf_something)",
            "--no-binary rpy2-rinterface",
        ),
        (
            "raise OSError('libR.so: cannot open shared object file: No such file or directory')",
            "shared library",
            "--enable-R-shlib",
        ),
        (
            "raise ModuleNotFoundError(\"No module named '_rinterface_cffi_abi'\")",
            "RPY2_CFFI_MODE",
            "unset RPY2_CFFI_MODE",
        ),
        ("import numpy_that_is_not_there", "cannot be imported", "--force-reinstall"),
        ("raise RuntimeError('R not found')", "finds no working R", "R --version"),
        ("raise ValueError('r_home is None')", "finds no working R", "R RHOME"),
        ("raise SyntaxError('what')", "cannot start R (SyntaxError", "rebuild"),
        ("import sys; sys.exit(3)", "cannot start R (SystemExit: 3", "rebuild"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "killed by signal 11",
            "do not fit",
        ),
        ("import os; os._exit(9)", "ended with code 9", "do not fit"),
        ("def initr(): raise KeyError('R_HOME')", "cannot start R (KeyError", "rebuild"),
    ],
)
def test_broken_rpy2(body, cause, cure, fake_rpy2, some_r):
    status, said, cured = probe_in(some_r, [fake_rpy2(body)])
    assert status == "broken"
    assert cause in said
    assert cure in cured


def test_rpy2_whose_parent_cannot_be_imported(fake_rpy2, some_r):
    folder = fake_rpy2("")
    (folder / "rpy2" / "__init__.py").write_text("raise OSError('no')\n")
    status, cause, _ = probe_in(some_r, [folder])
    assert status == "broken"
    assert "OSError: no" in cause


def test_rpy2_without_rinterface(tmp_path, some_r):
    package = tmp_path / "half" / "rpy2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    status, cause, _ = probe_in(some_r, [package.parent])
    assert (status, cause) == ("missing", "rpy2 is not installed")


def test_r_that_hangs(monkeypatch, fake_rpy2, some_r):
    for name, value in some_r.items():
        monkeypatch.delenv(name) if value is None and name in os.environ else None
        if value is not None:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(rprobe, "_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(rprobe, "_settled", [])
    monkeypatch.setattr(rprobe, "_rpy2_installed", lambda: True)
    monkeypatch.syspath_prepend(fake_rpy2("import time; time.sleep(30)"))
    rprobe.forget_probe()
    found = rprobe.probe_r()
    rprobe.forget_probe()
    assert found.status == "broken"
    assert "did not start" in found.cause


def test_output_of_r_does_not_confuse_the_probe(fake_rpy2, some_r):
    body = """
        print("fairstats-probe is not this line", flush=True)
        class StrSexpVector(list): pass
        def initr(): print("[1] hello from .Rprofile", end="")
        def evalr(text):
            if text.startswith("function"):
                return lambda names: ["1.0" if names[0] == "evd" else ""]
            return ["4.2.2", "/r", "/lib"]
    """
    assert probe_in(some_r, [fake_rpy2(body)])[0] == "ok"


def test_answer_is_kept_until_the_environment_changes(monkeypatch):
    calls = []

    def count():
        calls.append(1)
        return False

    monkeypatch.setattr(rprobe, "_rpy2_installed", count)
    monkeypatch.setattr(rprobe, "_settled", [])
    rprobe.forget_probe()
    rprobe.probe_r()
    rprobe.probe_r()
    assert len(calls) == 1
    monkeypatch.setenv("R_HOME", "/elsewhere")
    rprobe.probe_r()
    assert len(calls) == 2
    rprobe.forget_probe()
    rprobe.probe_r()
    assert len(calls) == 3
    rprobe.forget_probe()


def test_settled_answer_holds_until_forgotten(monkeypatch):
    monkeypatch.setattr(rprobe, "_settled", [])
    rprobe.settle_probe(WORKS)
    monkeypatch.setenv("R_HOME", "/elsewhere")
    assert rprobe.probe_r() is WORKS
    rprobe.forget_probe()
    assert rprobe._settled == []


def test_diagnose_without_message():
    cause, cure = diagnose("RRuntimeError: ")
    assert cause
    assert cure


@pytest.mark.parametrize(
    ("error", "stderr", "cause", "cure"),
    [
        (
            "OSError: x",
            "libR: undefined symbol: Rf_foo)\nmore",
            "rpy2 was built for another R (undefined symbol: Rf_foo)",
            "rebuild it: " + rprobe._REBUILD_COMMAND,
        ),
        (
            "OSError: libR.so",
            "",
            "R's shared library cannot be loaded (OSError: libR.so)",
            (
                "use an R built with --enable-R-shlib (Debian's, conda's and CRAN's are), and set"
                " R_HOME to what its `R RHOME` prints"
            ),
        ),
        (
            "ImportError: no _rinterface_cffi_api",
            "",
            (
                "rpy2 was installed without the interface that RPY2_CFFI_MODE asks for"
                " (ImportError: no _rinterface_cffi_api)"
            ),
            "unset RPY2_CFFI_MODE, or " + rprobe._REBUILD_COMMAND,
        ),
        (
            "ModuleNotFoundError: No module named 'rpy2'",
            "",
            "rpy2 is not installed (ModuleNotFoundError: No module named 'rpy2')",
            'pip install "fairstats[r]"',
        ),
        (
            "ImportError: no cffi",
            "",
            "rpy2 cannot be imported (ImportError: no cffi)",
            'pip install --force-reinstall "fairstats[r]"',
        ),
        (
            "ValueError: r_home is None",
            "",
            "rpy2 finds no working R (ValueError: r_home is None)",
            "unset R_HOME or set it to what `R RHOME` prints, and check that `R --version` answers",
        ),
        (
            "KeyError: x",
            "",
            "rpy2 cannot start R (KeyError: x)",
            "see the message; often it helps to rebuild: " + rprobe._REBUILD_COMMAND,
        ),
    ],
)
def test_diagnose_by_hand(monkeypatch, error, stderr, cause, cure):
    """Written down; R_HOME is set, so that R itself is taken to be there."""
    monkeypatch.setenv("R_HOME", "/usr/lib/R")
    assert diagnose(error, stderr) == (cause, cure)


@pytest.mark.parametrize(
    ("answer", "status", "cause", "cure"),
    [
        (
            subprocess.CompletedProcess([], -11, "noise\n", "first\n  last \n\n"),
            "broken",
            "the process that tried R was killed by signal 11: last",
            "unset R_HOME (it is '/r'), or rpy2 and R do not fit together; "
            + rprobe._REBUILD_COMMAND,
        ),
        (
            subprocess.CompletedProcess([], 3, "", ""),
            "broken",
            "the process that tried R ended with code 3",
            "unset R_HOME (it is '/r'), or rpy2 and R do not fit together; "
            + rprobe._REBUILD_COMMAND,
        ),
        (
            subprocess.TimeoutExpired("R", 1),
            "broken",
            f"R did not start within {rprobe._TIMEOUT_SECONDS:.0f} s",
            "start R in a terminal and see what it waits for (a prompt in .Rprofile?)",
        ),
        (
            OSError("no room"),
            "broken",
            "Python could not be started to try R: no room",
            "see the message",
        ),
        (
            {"error": "ModuleNotFoundError: No module named 'rpy2'", "rpy2": ""},
            "missing",
            "rpy2 is not installed (ModuleNotFoundError: No module named 'rpy2')",
            'pip install "fairstats[r]"',
        ),
        (
            {"profile": "user: object 'x' not found"},
            "ok",
            (
                "R does not start with the profile /p/mine (object 'x' not found), and is used"
                " without it"
            ),
            "mend /p/mine; until then libraries that it adds are not searched",
        ),
        (
            {"profile": "site: "},
            "ok",
            "R does not start with the profile Rprofile.site (it ends R), and is used without it",
            "mend Rprofile.site; until then libraries that it adds are not searched",
        ),
        ({"profile": ""}, "ok", "", ""),
    ],
    ids=["signal", "code", "hangs", "no process", "no rpy2", "profile", "site profile", "works"],
)
def test_what_the_other_process_says(monkeypatch, answer, status, cause, cure):
    """Written down: one process that ends in every way, and what is made of its last marked
    line.
    """
    usual = {
        "error": None,
        "version": "4.2.2",
        "home": "/r",
        "rpy2": "3.6",
        "libraries": ["/l"],
        "variables": {},
    }
    usual["packages"] = {"evd": "2.3", "hdrcde": ""}
    asked = []

    def aside(*command):
        asked.append(command)
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, dict):
            return answer
        lines = [
            rprobe._ANSWER_MARK + "{}",
            "noise",
            rprobe._ANSWER_MARK + json.dumps(usual | answer),
            "noise",
        ]
        return subprocess.CompletedProcess([], 0, "\n".join(lines), "")

    monkeypatch.setattr(rprobe, "run_aside", aside)
    monkeypatch.setattr(rprobe, "_rpy2_installed", lambda: True)
    monkeypatch.setattr(rprobe, "_r_absent", lambda: None)
    monkeypatch.setattr(rprobe, "_settled", [])
    monkeypatch.setenv("R_HOME", "/r")
    monkeypatch.setenv("R_PROFILE_USER", "/p/mine")
    monkeypatch.delenv("R_PROFILE", raising=False)
    rprobe.forget_probe()
    found = rprobe.probe_r()
    assert (found.status, found.cause, found.cure) == (status, cause, cure)
    assert found.works is (status == "ok")
    if found.works:
        assert (found.r_version, found.r_home, found.rpy2_version) == ("4.2.2", "/r", "3.6")
        assert dict(found.packages) == {"evd": "2.3"}
        assert found.libraries == ("/l",)
    (command,) = asked
    assert command[:3] == (sys.executable, "-c", rprobe.TRY)
    assert json.loads(command[3]) == sys.path
    rprobe.forget_probe()


def test_importing_fairstats_loads_no_r():
    code = (
        "import sys, fairstats, fairstats.ground.backends\n"
        "heavy = ('rpy2', 'scipy.stats', 'statsmodels', 'sklearn', 'matplotlib')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
