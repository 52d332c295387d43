"""Which back end computes, what is installed for it, and, where it does not work, why and what helps."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from fairstats._version import __version__
from fairstats.ground.checks import check_choice
from fairstats.ground.errors import BackendError
from fairstats.ground.lazy import pd
from fairstats.ground.rprobe import R_PACKAGES, RProbe, forget_probe, probe_r, run_aside

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Backend = Literal["auto", "r", "scipy"]
#: What a caller may ask for, by `backend=` or by an environment variable.
BACKENDS: tuple[Backend, ...] = ("auto", "r", "scipy")
VARIABLE = "FAIRSTATS_BACKEND"
Status = Literal["ok", "missing", "broken"]
#: Extras that are reported, in this order, and what they are for.
EXTRAS = {
    "core": "",
    "report": "plots and the HTML report",
    "cli": "the command line",
    "files": "spreadsheets, SPSS, Stata, SAS, Parquet, Feather",
    "scale": "files larger than memory, by DuckDB",
    "spark": "tables on a Spark cluster",
    "bayes": "hierarchical posteriors",
    "search": "hyper-parameter search",
    "generate": "synthetic samples",
    "r": "the R back end",
}
#: Distribution → module, where they differ by more than "-" and "_".
_MODULES = {"scikit-learn": "sklearn", "rpy2-rinterface": "rpy2.rinterface", "rpy2-robjects": "rpy2.robjects"}
#: Back end → R package that it calls.
_USES = {
    "extreme values by r": "extRemes", "extreme values by r, source evd": "evd",
    "highest density regions by r": "hdrcde",
}  # fmt: skip
_LOAD = r"""for (p in commandArgs(TRUE)) tryCatch(
  invisible(suppressMessages(loadNamespace(p))),
  error = function(e) cat("fairstats-broken:", p, "\t", gsub("\n", " ", conditionMessage(e)), "\n", sep = "")
)"""

_chosen: Backend | None = None


class use_backend:
    """Choose the back end of all later calls; as a context manager, of the calls inside.

    Parameters
    ----------
    name : {"auto", "r", "scipy"}
        "auto": R where it works and has the packages, else SciPy. "r": R, or an error that says what is missing.

    Raises
    ------
    InputError
        For another name.

    Notes
    -----
    It holds for every thread of the process, but not for worker processes: set the environment variable
    ``FAIRSTATS_BACKEND`` for those, or pass ``backend=``.

    Examples
    --------
    >>> import fairstats as fs
    >>> with fs.use_backend("scipy") as chosen:
    ...     chosen
    <back end in use: scipy>
    """

    def __init__(self, name: Backend) -> None:
        global _chosen
        self._before, _chosen = _chosen, _checked(name, "name")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        global _chosen
        _chosen = self._before

    def __repr__(self) -> str:
        return f"<back end in use: {current_backend()}>"


def current_backend() -> Backend:
    """What a call without ``backend=`` asks for: `use_backend`, else ``FAIRSTATS_BACKEND``, else "auto"."""
    if _chosen is not None:
        return _chosen
    value = os.environ.get(VARIABLE, "").strip().lower()
    return _checked(value, VARIABLE) if value else "auto"


def resolve(
    requested: Any = None, *, purpose: str, r_packages: Sequence[str] = (), argument: str = "backend"
) -> Literal["r", "scipy"]:
    """The back end that a call uses; `requested`: its ``backend=``, `purpose`: for messages, "GPD fits".

    Raises BackendError if "r" was asked for and R, or one of the packages that the purpose needs, is not there.
    """
    wanted = current_backend() if requested is None else _checked(requested, argument)
    if wanted == "scipy":
        return "scipy"
    found = probe_r()
    lacking = [name for name in r_packages if name not in found.packages]
    if found.works and not lacking:
        return "r"
    if wanted == "auto":
        return "scipy"
    if not found.works:
        raise BackendError(f'{purpose} with backend="r": {found.cause}. To fix: {found.cure}; or use backend="scipy".')
    raise BackendError(
        f'{purpose} with backend="r" needs the R package{"s" if len(lacking) > 1 else ""} '
        f"{', '.join(lacking)}, not installed in R {found.r_version}. "
        f'To fix: {"; ".join(map(r_package_cure, lacking))}; or use backend="scipy".'
    )


def unless_asked(requested: Any = None) -> Any:
    """SciPy unless somebody asked for another: R, which takes seconds to start, is not started by the way."""
    return "scipy" if requested is None and current_backend() == "auto" else requested


def r_package_cure(package: str) -> str:
    """How to install an R package."""
    cure = f'in R: install.packages("{package}")'
    only_cran = package in ("extRemes", "hdrcde", "ash")
    return cure if only_cran else f"{cure} (Debian: apt-get install r-cran-{package.lower()})"


def _checked(name: Any, argument: str) -> Backend:
    check_choice(argument, name, BACKENDS, cure='"auto" takes R where it works and SciPy otherwise')
    return name  # type: ignore[no-any-return]


@dataclass(frozen=True)
class DoctorRow:
    """One thing that was looked at; `part`: "python", "core", an extra, "R", "R package" or "back end"."""

    part: str
    name: str
    version: str
    status: Status
    detail: str = ""
    cure: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """Answer of `doctor`; `rows` in the order Python, dependencies, extras, R, R packages, back ends."""

    rows: tuple[DoctorRow, ...]

    @property
    def healthy(self) -> bool:
        """Whether Python and every core dependency are usable; extras and R may be missing."""
        return all(row.status == "ok" for row in self.rows if row.part in ("python", "core"))

    def to_frame(self) -> pd.DataFrame:
        """One row per thing: part, name, version, status, detail, cure."""
        return pd.DataFrame(self.rows, columns=[f.name for f in fields(DoctorRow)])

    def __str__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        lines: list[str] = []
        for part, rows in groupby(self.rows, lambda row: row.part):
            lines.append(": ".join(filter(None, (part, EXTRAS.get(part)))))
            for row in rows:
                mark = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}[row.status]
                said = " — ".join(text for text in (row.version, row.detail) if text)
                lines.append(f"  {mark} {row.name:<{width}}  {said}".rstrip())
                lines += [f"          {'':<{width}}  to fix: {row.cure}"] if row.cure else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(index=False, border=0)


def doctor(*, refresh: bool = True) -> DoctorReport:
    """Look at Python, every dependency and extra, R, its packages and the back ends.

    Nothing of it is loaded into this process, so that the doctor survives whatever is broken.

    Parameters
    ----------
    refresh : bool, default True
        Look at R again instead of taking the answer kept from before.

    Returns
    -------
    DoctorReport
        Prints as a table; `healthy`, `rows`, `to_frame()`.

    Examples
    --------
    >>> import fairstats as fs
    >>> fs.doctor(refresh=False).healthy
    True
    """
    if refresh:
        forget_probe()
    found = probe_r()
    broken = _unloadable(found) if found.works else {}
    here = (
        DoctorRow("python", "Python", platform.python_version(), "ok", sys.executable or "embedded"),
        DoctorRow("python", "fairstats", __version__, "ok", str(Path(__file__).parents[1])),
    )
    return DoctorReport((*here, *_dependency_rows(), *_r_rows(found, broken), *_backend_rows(found, broken)))


def _declared() -> dict[str, list[str]]:
    """Extra → requirements, from the source tree or the package's own metadata."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    if project.is_file():
        with project.open("rb") as file:
            table = tomllib.load(file).get("project", {})
        if table.get("name") == "fairstats":
            return {"core": table["dependencies"], **table["optional-dependencies"]}
    declared: dict[str, list[str]] = {}
    try:
        lines = requires("fairstats") or []
    except PackageNotFoundError:
        return declared
    for line in lines:
        match = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", line)
        declared.setdefault(match[1] if match else "core", []).append(line)
    return declared


def _requirements() -> Iterator[tuple[str, Requirement]]:
    from packaging.requirements import Requirement

    declared = _declared()
    return ((extra, Requirement(line)) for extra in EXTRAS for line in declared.get(extra, ()))


def _dependency_rows() -> Iterator[DoctorRow]:
    for extra, needed in _requirements():
        name, clauses = needed.name, needed.specifier
        pip = f'pip install "{name}{clauses}"' if extra == "core" else f'pip install "fairstats[{extra}]"'
        try:
            installed = version(name)
        except PackageNotFoundError:
            yield DoctorRow(extra, name, "", "missing", f"needs {clauses}", pip)
            continue
        fault: tuple[str, ...] = ()
        if not _importable(_MODULES.get(name, name.replace("-", "_"))):
            fault = ("its files are not there", f"pip install --force-reinstall {name}")
        elif not clauses.contains(installed, prereleases=True):
            fault = (f"needs {clauses}", pip)
        yield DoctorRow(extra, name, installed, "broken" if fault else "ok", *fault)


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except Exception:  # noqa: BLE001 - a parent package may fail to import in any way
        return False


def _unloadable(found: RProbe) -> dict[str, str]:
    """R packages that are installed but do not load → R's message."""
    rscript = Path(found.r_home, "bin", "Rscript")
    try:
        # a profile that fails, which is told by itself, would end this look before it began
        start = ("--no-init-file", "--no-site-file") if found.cause else ()
        done = run_aside(str(rscript), *start, "-e", _LOAD, *found.packages)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found_broken = re.findall(r"fairstats-broken:([^\t]*)\t(.*)", done.stdout)
    return {name: message.strip() for name, message in found_broken}


def _r_rows(found: RProbe, broken: dict[str, str]) -> Iterator[DoctorRow]:
    detail = f"{found.r_home}, called by rpy2-rinterface {found.rpy2_version}"
    detail = "; ".join(filter(None, (detail, found.cause))) if found.works else found.cause
    yield DoctorRow("R", "R from Python", found.r_version, found.status, detail, found.cure)
    for name, purpose in R_PACKAGES.items() if found.works else ():
        installed = found.packages.get(name, "")
        cure, row = r_package_cure(name), ("R package", name, installed)
        if name in broken:
            yield DoctorRow(*row, "broken", broken[name], f"reinstall it; {cure}")
        else:
            yield DoctorRow(*row, "ok", purpose) if installed else DoctorRow(*row, "missing", purpose, cure)


def _backend_rows(found: RProbe, broken: dict[str, str]) -> Iterator[DoctorRow]:
    yield DoctorRow("back end", "scipy", version("scipy"), "ok", f'chosen: "{current_backend()}"')
    yield DoctorRow("back end", "rates by r", found.r_version, found.status, "base R" if found.works else found.cause)
    for name, package in _USES.items():
        if not found.works:
            yield DoctorRow("back end", name, "", found.status, found.cause)
        elif package in broken or package not in found.packages:
            status: Status = "broken" if package in broken else "missing"
            yield DoctorRow("back end", name, "", status, f"{package} is {status}; SciPy is used")
        else:
            yield DoctorRow("back end", name, found.packages[package], "ok", package)
