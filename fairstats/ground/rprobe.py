"""Does R work here? Asked of a process of its own, so that a broken R cannot take this one
along.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

#: What R is asked of itself.
ASK = Path(__file__).with_name("probe.R").read_text(encoding="utf-8")

#: Tries R through rpy2. While R answers `ASK`, rpy2 is imported; then R is started within this
#: process. rpy2 would ask R twice by itself: it is given the answers. R that does not answer is
#: asked without its profiles.
TRY = r"""
import json, os, subprocess, sys
path, packages, ask, mark = map(json.loads, sys.argv[1:])
sys.path[:] = path
home = os.environ.get("R_HOME")
rscript = os.path.join(home, "bin", "Rscript") if home else "Rscript"
out = {"rpy2": "", "variables": {}, "packages": {}, "libraries": [], "profile": ""}

def begin(*options):
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    try:
        return subprocess.Popen([rscript, *options, "-e", ask, mark, *packages], **quiet)
    except OSError:
        return None

asked = begin()

def answer(*args, **kwargs):
    return tuple((k, v) for k, v in out["variables"].items() if os.environ.get(k) != v)

def complete_answer():
    if asked is None:
        return False
    fine, said = read(asked)
    for kind, options in (("user", ["--no-init-file"]), ("site", ["--no-init-file", "--no-site-file"])):
        if fine:
            break
        fine, _ = read(begin(*options))
        if fine:
            out["profile"] = kind + ": " + said
    return fine

def read(asked):
    try:
        printed, said = map(os.fsdecode, asked.communicate(timeout=20))
    except subprocess.TimeoutExpired:
        asked.kill()
        return False, "it does not come to an end"
    said = [line.strip() for line in said.splitlines() if line.strip()]
    said = " ".join(line for line in said if not line.startswith(("Execution halted", "Calls:")))
    lines = printed.splitlines()
    lines = [line[len(mark):].split("\t") for line in lines if line.startswith(mark)]
    for kind, *said in lines:
        if kind in ("version", "home"):
            out[kind] = said[0]
        elif kind == "library":
            out["libraries"].append(said[0])
        elif kind == "package":
            out["packages"][said[0]] = said[1]
        elif kind == "variable":
            out["variables"][said[0]] = os.fsdecode(bytes.fromhex(said[1]))
    return bool(lines) and lines[-1][0] == "end", said[-200:]

try:
    from importlib.metadata import version
    out["rpy2"] = version("rpy2-rinterface")
except Exception:  # noqa: BLE001 - a parent package that fails to import in any way is a broken rpy2
    pass
try:
    if asked is not None:
        try:
            import rpy2.situation as situation
            situation.r_ld_library_path_from_subprocess = lambda home: ""
        except ImportError:
            pass
    import rpy2.rinterface as ri
    from rpy2.rinterface_lib import embedded
    complete = complete_answer()
    if complete:
        ri._getrenvvars = answer
    options = ("rpy2", "--quiet", "--no-save", "--no-restore", "--no-init-file", "--no-site-file")
    embedded.set_initoptions(options)
    ri.initr()
    if not complete:
        ask = "c(as.character(getRversion()), R.home(), .libPaths())"
        out["version"], out["home"], *out["libraries"] = ri.evalr(ask)
        look = 'function(p) tryCatch(as.character(utils::packageVersion(p)), error = function(e) "")'
        look = ri.evalr(look)
        out["packages"] = {p: look(ri.StrSexpVector([p]))[0] for p in packages}
        out["variables"] = {}
except BaseException as error:
    out["error"] = "%s: %s" % (type(error).__name__, error)
sys.stdout.write("\n" + mark + json.dumps(out) + "\n")
sys.stdout.flush()
os._exit(0)
"""
#: R packages that fairstats can use → what for.
R_PACKAGES: Mapping[str, str] = {
    "extRemes": "extreme-value fits (default)",
    "evd": "extreme-value fits (on request)",
    "hdrcde": "highest density regions",
    "ks": "kernel densities in the plane",
    "ash": "averaged shifted histograms",
    "survey": "weighted and clustered rates, as a witness",
    "boot": "bootstrap intervals, as a witness",
    "jsonlite": "reading JSON reports in R",
}
#: Variables that decide which R and which rpy2 are found.
_ENVIRONMENT_VARIABLES = (
    "PATH",
    "R_HOME",
    "R_LIBS",
    "R_LIBS_USER",
    "R_LIBS_SITE",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "R_PROFILE",
    "R_PROFILE_USER",
    "RPY2_CFFI_MODE",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
)
_TIMEOUT_SECONDS = 60.0
_ANSWER_MARK = "fairstats-probe:"
INSTALL_R = (
    "install R (Debian/Ubuntu: apt-get install r-base-core; conda: r-base; else cran.r-project.org)"
)
_REBUILD_COMMAND = (
    "pip install --force-reinstall --no-cache-dir --no-binary rpy2-rinterface rpy2-rinterface"
)
_OLD_RPY2 = 'pip install "rpy2-rinterface>=3.6.2,<3.6.6"'


@dataclass(frozen=True)
class RProbe:
    """What was found of R.

    `status`: missing where R or rpy2 is not there; `packages`: installed ones of `R_PACKAGES`, with
    versions; `libraries`: R's library paths, those of the user's profile, too; `variables`:
    environment of R's own front end, which rpy2 asks for at its start; `cause`, `cure`: why it does
    not work, or only without the profile; else empty.
    """

    status: Literal["ok", "missing", "broken"]
    r_version: str = ""
    r_home: str = ""
    rpy2_version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    cause: str = ""
    cure: str = ""

    @property
    def works(self) -> bool:
        """Whether R can be called."""
        return self.status == "ok"


#: The answer that holds once R runs in this process.
_settled: list[RProbe] = []


def probe_r() -> RProbe:
    """Look for R and rpy2 without loading them here, anew where the environment (``R_HOME``, …) has
    changed.

    Never raises: every way in which R or rpy2 can be absent or broken becomes a cause and a cure.
    """
    if _settled:
        return _settled[0]
    return _probe_in_process(
        tuple(os.environ.get(variable) for variable in _ENVIRONMENT_VARIABLES), tuple(sys.path)
    )


def forget_probe() -> None:
    """Make the next `probe_r` look again, say after installing something."""
    _settled.clear()
    _probe_in_process.cache_clear()


def settle_probe(probe: RProbe) -> None:
    """Keep this answer whatever the environment says: R has been started here, and changes it."""
    _settled[:] = [probe]


@lru_cache(maxsize=8)
def _probe_in_process(environment: tuple[str | None, ...], path: tuple[str, ...]) -> RProbe:
    """What rpy2 finds of R, asked in another process that may crash."""
    if not _rpy2_installed():
        return RProbe("missing", cause="rpy2 is not installed", cure=_cure_without_rpy2())
    if absent := _r_absent():
        return absent
    if not sys.executable:
        cause = (
            "this Python does not know its own executable, so R cannot be tried in another process"
        )
        return RProbe(
            "broken", cause=cause, cure="run fairstats from an ordinary Python interpreter"
        )
    script_arguments = (list(path), list(R_PACKAGES), ASK, _ANSWER_MARK)
    try:
        completed = run_aside(sys.executable, "-c", TRY, *map(json.dumps, script_arguments))
    except subprocess.TimeoutExpired:
        advice = "start R in a terminal and see what it waits for (a prompt in .Rprofile?)"
        return RProbe(
            "broken", cause=f"R did not start within {_TIMEOUT_SECONDS:.0f} s", cure=advice
        )
    except OSError as error:
        return RProbe(
            "broken", cause=f"Python could not be started to try R: {error}", cure="see the message"
        )
    lines = []
    for output_line in completed.stdout.splitlines():
        if output_line.startswith(_ANSWER_MARK):
            lines.append(output_line)
    if not lines:
        return _crashed_probe(completed.returncode, completed.stderr)
    return _read_answer(json.loads(lines[-1].removeprefix(_ANSWER_MARK)), completed.stderr)


def run_aside(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of ours to its end, without a terminal."""
    return subprocess.run(  # noqa: S603 - our own script, no shell
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT_SECONDS,
        stdin=subprocess.DEVNULL,
    )


def _rpy2_installed() -> bool:
    try:
        return find_spec("rpy2") is not None and find_spec("rpy2.rinterface") is not None
    except Exception:  # noqa: BLE001 - a parent package that fails to import in any way is a broken rpy2
        return True  # something is there: let the probe say what is wrong with it


def _r_absent() -> RProbe | None:
    """What can be said without starting anything: no R on PATH, or R_HOME that points nowhere."""
    r_home = os.environ.get("R_HOME")
    if r_home and not (Path(r_home, "bin").is_dir() and Path(r_home, "library", "base").is_dir()):
        cause = f"R_HOME is {r_home!r}, where there is no R"
        advice = "unset it, or set it to what `R RHOME` prints"
        return RProbe("broken", r_home=r_home, cause=cause, cure=advice)
    if not r_home and os.name != "nt" and shutil.which("R") is None:
        return RProbe(
            "missing", cause="there is no R on PATH and R_HOME is not set", cure=INSTALL_R
        )
    return None


def _cure_without_rpy2() -> str:
    if os.environ.get("R_HOME") or os.name == "nt" or shutil.which("R"):
        return 'pip install "fairstats[r]"'
    return f'{INSTALL_R}, then pip install "fairstats[r]"'


def _crashed_probe(exit_code: int, stderr: str) -> RProbe:
    """What is known of R where the process that tried it ended before it answered."""
    last_line = next(
        (error_line.strip() for error_line in reversed(stderr.splitlines()) if error_line.strip()),
        "",
    )
    if exit_code < 0:
        ending_words = f"was killed by signal {-exit_code}"
    else:
        ending_words = f"ended with code {exit_code}"
    cause = f"the process that tried R {ending_words}" + (f": {last_line}" if last_line else "")
    current_home = os.environ.get("R_HOME")
    if current_home:
        advice = f"unset R_HOME (it is {current_home!r}), or "
    else:
        advice = ""
    return RProbe(
        "broken", cause=cause, cure=f"{advice}rpy2 and R do not fit together; {_REBUILD_COMMAND}"
    )


def _read_answer(answer: dict[str, Any], stderr: str) -> RProbe:
    """What a process that started R by rpy2 answered about it."""
    error_text = answer.get("error")
    if error_text is None:
        cause, advice = _failed_profile(answer["profile"])
        return RProbe(
            status="ok",
            r_version=answer["version"],
            r_home=answer["home"],
            rpy2_version=answer["rpy2"],
            packages={
                package: package_version
                for package, package_version in answer["packages"].items()
                if package_version
            },
            libraries=tuple(answer["libraries"]),
            variables=answer["variables"],
            cause=cause,
            cure=advice,
        )
    cause, advice = diagnose(error_text, stderr)
    missing = cause.startswith("rpy2 is not installed")
    return RProbe(
        "missing" if missing else "broken",
        rpy2_version=answer["rpy2"],
        cause=cause,
        cure=advice,
    )


def _failed_profile(profile_message: str) -> tuple[str, str]:
    """What is wrong with the profile that R could not start with, and what helps.

    Empty where it could.
    """
    if not profile_message:
        return "", ""
    profile_kind, _, reason = profile_message.partition(": ")
    if profile_kind == "user":
        variable = "R_PROFILE_USER"
        usual_name = ".Rprofile"
    else:
        variable = "R_PROFILE"
        usual_name = "Rprofile.site"
    profile_name = os.environ.get(variable) or usual_name
    cause = f"R does not start with the profile {profile_name} ({reason or 'it ends R'}), and is used without it"
    return cause, f"mend {profile_name}; until then libraries that it adds are not searched"


def diagnose(error: str, stderr: str = "") -> tuple[str, str]:
    """Cause and cure of what rpy2 said when it failed.

    It logs the first of two failures to `stderr`.
    """
    all_messages = f"{error}\n{stderr}"
    if "R_getVar" in all_messages:
        cause = "rpy2-rinterface 3.6.6 and later need R 4.5 or later (undefined symbol: R_getVar)"
        return cause, f"{_OLD_RPY2}, or install R 4.5 or later"
    if "undefined symbol" in all_messages:
        symbol = all_messages.split("undefined symbol", 1)[1].splitlines()[0].strip(": '\")")
        return (
            f"rpy2 was built for another R (undefined symbol: {symbol})",
            f"rebuild it: {_REBUILD_COMMAND}",
        )
    if "libR." in all_messages or "cannot open shared object" in all_messages:
        advice = (
            "use an R built with --enable-R-shlib (Debian's, conda's and CRAN's are), and set"
            " R_HOME to what its"
        )
        return f"R's shared library cannot be loaded ({error})", f"{advice} `R RHOME` prints"
    if error.startswith(("ModuleNotFoundError", "ImportError")):
        if "_rinterface_cffi" in all_messages:
            cause = (
                f"rpy2 was installed without the interface that RPY2_CFFI_MODE asks for ({error})"
            )
            return cause, f"unset RPY2_CFFI_MODE, or {_REBUILD_COMMAND}"
        if "No module named 'rpy2'" in error:
            return f"rpy2 is not installed ({error})", _cure_without_rpy2()
        return f"rpy2 cannot be imported ({error})", 'pip install --force-reinstall "fairstats[r]"'
    if error.startswith(("FileNotFoundError", "ValueError", "RuntimeError")):
        advice = (
            "unset R_HOME or set it to what `R RHOME` prints, and check that `R --version` answers"
        )
        return f"rpy2 finds no working R ({error})", advice
    return (
        f"rpy2 cannot start R ({error})",
        f"see the message; often it helps to rebuild: {_REBUILD_COMMAND}",
    )
