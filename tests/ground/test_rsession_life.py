"""The door to a running R: its start, the code it reads, threads, processes, Ctrl-C."""

import os
import shutil
import subprocess
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from fairstats.ground import rsession
from fairstats.ground.errors import RBackendError
from fairstats.ground.rsession import call

pytestmark = [pytest.mark.r, pytest.mark.rpy2]
ROOT = Path(__file__).parents[2]


# --- life of the session
# ----------------------------------------------------------------------------


def test_import_starts_nothing(python):
    assert "False" in python(
        "import sys; from fairstats.ground import rsession; "
        "print(rsession._running is not None or 'rpy2.rinterface' in sys.modules)"
    )


def test_running():
    call("base::sum", 1.0)
    assert rsession._running is not None


def test_users_profile_and_workspace_are_left_out(python, tmp_path):
    (tmp_path / "profile.R").write_text('cat("NOISE\\n"); options(digits = 3, scipen = 50)\n')
    subprocess.run(
        ["Rscript", "-e", "left_over <- 1; save.image()"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert (tmp_path / ".RData").exists()
    out = python(
        f"""
        import os
        os.chdir({str(tmp_path)!r})
        from fairstats.ground.rsession import call
        print(call("base::getOption", "scipen"), call("base::exists", "left_over"))
        """,
        {"R_PROFILE_USER": str(tmp_path / "profile.R")},
    )
    assert out.split() == ["0.0", "False"]


@pytest.mark.parametrize("before", [None, "/somewhere/lib"])
def test_processes_started_later_find_their_own_libraries(python, before):
    # R's start puts /usr/lib/x86_64-linux-gnu in front: another Python would load the system's
    # libpython
    out = python(
        """
        import os
        from fairstats.ground.rsession import call
        call("base::sum", 1.0)
        print(os.environ.get("LD_LIBRARY_PATH"))
        """,
        {} if before is None else {"LD_LIBRARY_PATH": before},
    )
    assert out.split() == [str(before)]


def test_library_paths_of_the_users_profile_are_kept(python, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    (tmp_path / "profile.R").write_text(f'.libPaths("{library}")\n')
    out = python(
        'from fairstats.ground.rsession import call; print(call("base::.libPaths"))',
        {"R_PROFILE_USER": str(tmp_path / "profile.R")},
    )
    assert str(library) in out


def test_what_the_user_does_in_r_changes_nothing(python):
    """Functions of the user's own by R's names, options, a locked environment, other generators."""
    out = python(
        """
        import numpy as np
        import fairstats as fs
        from fairstats.ground.rsession import call
        sample = np.random.default_rng(1).exponential(size=300)
        def answers():
            fit = fs.evt.fit_gpd(sample, 1.0, backend="r").params
            known = call("base::requireNamespace", "hdrcde", quietly=True)  # Debian has no package of it
            region = fs.hdr(sample, backend="r").intervals.tolist() if known else None
            twin = call("fs_fit_gpd", sample, "mle", "base")["estimate"]
            return fit, region, twin, call("stats::rnorm", 2, rng=1).tolist()
        before = str(answers())
        import rpy2.rinterface as ri
        ri.evalr('''for (name in c("c", "list", "eval", "assign", "options", "get0", "lapply", "sum", "names",
          "tryCatch", "set.seed", "if", "function", "optim", "mean", "paste", "density", "quantile",
          "is.null", "T", "F", "uniroot", "length", "max", "as.call", "new.env", "stop", "return", "formula"))
          base::assign(name, function(...) base::stop("the user's own"), base::globalenv())''')
        print(str(answers()) == before)
        ri.baseenv["options"](scipen=-10, digits=3, OutDec=",", warn=2)
        option = ri.baseenv["getOption"]
        print(str(answers()) == before, option("scipen")[0], option("warn")[0])
        ri.baseenv["RNGkind"]("Wichmann-Hill", "Box-Muller", "Rejection")
        ri.baseenv["rm"](".Random.seed", envir=ri.globalenv)
        print(str(answers()) == before, *ri.baseenv["RNGkind"]())
        ri.baseenv["set.seed"](1)
        ri.baseenv["lockEnvironment"](ri.globalenv, bindings=True)
        locked = ri.baseenv["bindingIsLocked"]
        print(str(answers()) == before, locked(".Random.seed", ri.globalenv)[0])
        """
    )
    assert out.splitlines() == [
        "True",
        "True -10 2",
        "True Wichmann-Hill Box-Muller Rejection",
        "True True",
    ]


def test_a_locked_environment_without_a_seed_is_named_where_r_must_draw(python):
    out = python(
        """
        import rpy2.rinterface as ri
        from rpy2.rinterface_lib import embedded
        embedded.set_initoptions(("rpy2", "--quiet", "--vanilla"))
        ri.initr()
        ri.evalr("lockEnvironment(globalenv())")
        from fairstats.ground.errors import BackendError
        from fairstats.ground.rsession import call
        print(call("base::sum", 1.0, 2.0))
        try:
            call("stats::rnorm", 2, rng=1)
        except BackendError as problem:
            print(problem)
        """
    )
    assert out.startswith("3.0")
    assert "the global environment of R is locked and holds no seed" in out


@pytest.mark.parametrize("code", ['stop("my profile is broken")', "quit(status = 3)"])
def test_a_profile_that_fails_is_named_and_r_works_without_it(python, tmp_path, code):
    (tmp_path / "broken.R").write_text(code + "\n")
    out = python(
        """
        import warnings
        from fairstats.ground.rprobe import probe_r
        from fairstats.ground.rsession import call
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            print(call("base::sum", 1.0, 2.0), len(said))
        print(probe_r().works, said[0].category.__name__, said[0].message)
        """,
        {"R_PROFILE_USER": str(tmp_path / "broken.R")},
    )
    assert out.startswith("3.0 1\nTrue FairstatsWarning R does not start with the profile")
    assert str(tmp_path / "broken.R") in out
    assert ("my profile is broken" in out) == ("stop" in code)


@pytest.mark.parametrize("home", ["/usr", "nowhere"])
def test_a_wrong_r_home_says_unset_it(python, tmp_path, home):
    (tmp_path / "nowhere" / "bin").mkdir(parents=True)
    home = str(tmp_path / home) if home == "nowhere" else home
    out = python(
        "from fairstats.ground.rprobe import probe_r; print(probe_r().cause, '|', probe_r().cure)",
        {"R_HOME": home},
    )
    assert out.startswith(f"R_HOME is {home!r}, where there is no R | unset it")


def test_r_that_is_already_running_is_used(python):
    out = python(
        """
        import rpy2.rinterface as ri
        ri.initr()
        ri.evalr("mine <- 17")
        from fairstats.ground.rsession import call
        print(call("base::get", "mine"), call("base::sum", 2.0))
        print(ri.evalr('print("theirs")')[0])
        """
    )
    assert out.splitlines()[0] == "17.0 2.0"
    assert "theirs" in out


def test_start_in_a_worker_thread_leaves_ctrl_c_alone(python):
    out = python(
        """
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
        from concurrent.futures import ThreadPoolExecutor
        from fairstats.ground.rsession import call
        mine = lambda signum, frame: print("mine")
        signal.signal(signal.SIGINT, mine)
        with ThreadPoolExecutor(1) as pool:
            print(pool.submit(call, "base::sum", [1.0, 2.0]).result())
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        print(signal.getsignal(signal.SIGINT) is mine, call("base::sum", 1.0))
        """
    )
    assert out.split() == ["3.0", "mine", "True", "1.0"]


def test_code_of_the_source_tree_is_used():
    assert Path(call("get0", "CODE_FOLDER")) == ROOT / "r" / "R"


@pytest.fixture
def wheel(tmp_path):
    """The package as the wheel lays it out: R code within."""
    ignore = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "fairstats", tmp_path / "site" / "fairstats", ignore=ignore)
    shutil.copytree(ROOT / "r" / "R", tmp_path / "site" / "fairstats" / "_r" / "R")
    return tmp_path / "site"


# None: a package
HOME = "from fairstats.ground.rsession import call; print(call('get0', 'CODE_FOLDER'))"


def test_code_of_the_wheel_is_used(python, wheel):
    assert python(HOME, path=wheel).strip().endswith(os.path.join("fairstats", "_r", "R"))


@pytest.mark.slow
def test_installed_r_package_of_the_same_version_is_used(python, wheel, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    package = tmp_path / "package"
    ignore = shutil.ignore_patterns("*.Rcheck", "reference")
    shutil.copytree(ROOT / "r", package, ignore=ignore)
    install = [
        "R",
        "CMD",
        "INSTALL",
        "--no-docs",
        "--no-test-load",
        f"--library={library}",
        str(package),
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    libraries = {"R_LIBS": os.pathsep.join(filter(None, [str(library), os.environ.get("R_LIBS")]))}
    assert python(HOME, libraries, path=wheel).strip() == "None"
    assert Path(python(HOME, libraries).strip()) == ROOT / "r" / "R"  # a source tree keeps its own
    description = library / "fairstats" / "DESCRIPTION"
    description.write_text(description.read_text().replace("Version: 0.", "Version: 99."))
    (library / "fairstats" / "Meta" / "package.rds").unlink()
    assert python(HOME, libraries, path=wheel).strip() != "None"


# --- threads and processes
# --------------------------------------------------------------------------


def mixed(k):
    """One of several calls, by number."""
    x = np.random.default_rng(k).normal(size=50 + k)
    match k % 5:
        case 0:
            return float(call("base::sum", x))
        case 1:
            return call("stats::quantile", x, probs=[0.1, 0.9]).tolist()
        case 2:
            return call("stats::rnorm", 3, rng=k).tolist()
        case 3:
            try:
                call("base::stop", f"error {k}")
            except RBackendError as error:
                return str(error)
        case _:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return np.nan_to_num(call("base::as.numeric", ["1", "2"])).tolist()


def test_eight_threads_with_fifty_mixed_calls_each():
    serial = [mixed(k) for k in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(mixed, range(400))) == serial


def test_threads_race_for_the_start(python):
    out = python(
        """
        from concurrent.futures import ThreadPoolExecutor
        from fairstats.ground.rsession import call
        with ThreadPoolExecutor(8) as pool:
            print(sum(pool.map(lambda k: call("base::sum", [float(k), 1.0]), range(40))))
        """
    )
    assert float(out) == sum(range(40)) + 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_child_gets_a_clear_error_and_does_no_harm(python):
    out = python(
        """
        import os, sys, warnings
        warnings.simplefilter("ignore")  # Python 3.12 warns of fork itself
        from multiprocessing import get_context
        from fairstats.ground import rsession
        from fairstats.ground.errors import BackendError
        folder = rsession.call("base::tempdir")

        def child(queue):
            try:
                queue.put(rsession.call("base::sum", 1.0))
            except BackendError as error:
                queue.put(str(error))

        context = get_context("fork")
        queue = context.Queue()
        rsession._lock.acquire()   # as if another thread were in R at the moment of the fork
        process = context.Process(target=child, args=(queue,))
        process.start()
        rsession._lock.release()
        print(queue.get(timeout=20), flush=True)  # or the child prints it once more
        process.join(20)
        pid = os.fork()
        if pid == 0:
            sys.exit(0)            # runs the exit handlers, as multiprocessing's children do not
        os.waitpid(pid, 0)
        print(os.path.isdir(folder), rsession.call("base::sum", [1.0, 2.0]), process.exitcode)
        """
    )
    first, second = out.strip().splitlines()
    assert "forked child" in first
    assert "spawn" in first
    assert 'backend="scipy"' in first
    assert second == "True 3.0 0"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork_before_r_starts_is_fine(python):
    out = python(
        """
        import warnings
        warnings.simplefilter("ignore")
        from multiprocessing import get_context
        from fairstats.ground.rsession import call
        with get_context("fork").Pool(1) as pool:
            print(pool.apply(call, ("base::sum", [1.0, 2.0])))
        """
    )
    assert out.strip() == "3.0"


def test_spawn_works():
    call("base::sum", 1.0)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(call, "base::sum", [1.0, 2.0]).result(timeout=60) == 3.0


def test_joblib_loky_works():
    joblib = pytest.importorskip("joblib")
    call("base::sum", 1.0)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        out = joblib.Parallel()(joblib.delayed(call)("stats::rnorm", 2, rng=k) for k in range(4))
    np.testing.assert_array_equal(out, [call("stats::rnorm", 2, rng=k) for k in range(4)])


# --- Ctrl-C
# -----------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_in_a_long_call_leaves_the_session_usable(python, tmp_path):
    script = tmp_path / "long.R"
    script.write_text("s <- 0\nwhile (TRUE) s <- s + 1\n")
    out = python(
        f"""
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
        from fairstats.ground.rsession import call
        call("base::sum", 1.0)
        for long in (("base::Sys.sleep", 60.0), ("base::source", {str(script)!r})):
            for _ in range(3):
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
                start = time.time()
                try:
                    call(*long)
                except KeyboardInterrupt:
                    print("interrupted", time.time() - start < 20, call("base::sum", [1.0, 2.0]))
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        """
    )
    assert out.splitlines() == ["interrupted True 3.0"] * 6 + ["True"]


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_while_a_thread_is_in_r(python, tmp_path):
    script = tmp_path / "second.R"
    script.write_text("end <- Sys.time() + 1\nwhile (Sys.time() < end) NULL\n")
    out = python(
        f"""
        import os, signal, threading
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
        from concurrent.futures import ThreadPoolExecutor
        from fairstats.ground.rsession import call
        call("base::sum", 1.0)
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(call, "base::source", {str(script)!r})
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                slow.result()
            except KeyboardInterrupt:
                print("interrupted", slow.exception(timeout=10))
        print(call("base::sum", [1.0, 2.0]))
        """
    )
    assert out.splitlines() == ["interrupted None", "3.0"]


def test_errors_keep_no_objects_of_r():
    with pytest.raises(RBackendError) as error:
        call("base::stop", "x")
    trace = error.value.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            assert not type(value).__module__.startswith("rpy2")
        trace = trace.tb_next
    assert rsession._running is not None
