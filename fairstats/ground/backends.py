"""Which back end computes, what is installed for it, and, where it does not work, why and what
helps.
"""

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
from fairstats.ground.rdoor.aside import probe_rscript
from fairstats.ground.rprobe import R_PACKAGES, RProbe, forget_probe, probe_r, run_aside

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Backend = Literal["auto", "r", "scipy"]
#: What a caller may ask for, by `backend=` or by an environment variable.
BACKENDS: tuple[Backend, ...] = ("auto", "r", "scipy")
VARIABLE = "FAIRSTATS_BACKEND"
Status = Literal["ok", "missing", "broken"]
#: How `Result.backend` begins where R computed.
_R_LABEL = "r: "
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
    "fast": "exact tests by compiled loops",
    "generate": "synthetic samples",
    "r": "the R back end",
}
#: Distribution → module, where they differ by more than "-" and "_".
_MODULE_OF_DISTRIBUTION = {
    "scikit-learn": "sklearn",
    "rpy2-rinterface": "rpy2.rinterface",
    "rpy2-robjects": "rpy2.robjects",
}
#: Back end → R package that it calls.
_R_PACKAGE_OF_BACKEND = {
    "extreme values by r": "extRemes",
    "extreme values by r, source evd": "evd",
    "highest density regions by r": "hdrcde",
}
_LOAD_IN_R = r"""for (p in commandArgs(TRUE)) tryCatch(
  invisible(suppressMessages(loadNamespace(p))),
  error = function(e) cat("fairstats-broken:", p, "\t", gsub("\n", " ", conditionMessage(e)), "\n", sep = "")
)"""

_chosen: Backend | None = None


class use_backend:
    """Choose the back end of all later calls; as a context manager, of the calls inside.

    Parameters
    ----------
    name : {"auto", "r", "scipy"}
        "auto": R where it works and has the packages, else SciPy. "r": R, or an error that says
        what is missing.

    Raises
    ------
    InputError
        For another name.

    Notes
    -----
    It holds for every thread of the process, but not for worker processes: set the environment
    variable ``FAIRSTATS_BACKEND`` for those, or pass ``backend=``.

    Examples
    --------
    >>> import fairstats as fs
    >>> with fs.use_backend("scipy") as chosen:
    ...     chosen
    <back end in use: scipy>
    """

    def __init__(self, name: Backend) -> None:
        global _chosen
        self._before = _chosen
        _chosen = _check_backend(name, "name")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        global _chosen
        _chosen = self._before

    def __repr__(self) -> str:
        return f"<back end in use: {current_backend()}>"


def current_backend() -> Backend:
    """What a call without ``backend=`` asks for.

    `use_backend`, else ``FAIRSTATS_BACKEND``, else "auto".
    """
    if _chosen is not None:
        return _chosen
    from_environment = os.environ.get(VARIABLE, "").strip().lower()
    if from_environment:
        return _check_backend(from_environment, VARIABLE)
    return "auto"


def resolve(
    requested: Any = None,
    *,
    purpose: str,
    r_packages: Sequence[str] = (),
    argument: str = "backend",
) -> Literal["r", "scipy"]:
    """The back end that a call uses; `requested`: its ``backend=``, `purpose`: for messages, "GPD
    fits".

    Raises BackendError if "r" was asked for and R, or one of the packages that the purpose needs,
    is not there.
    """
    if requested is None:
        wanted = current_backend()
    else:
        wanted = _check_backend(requested, argument)
    if wanted == "scipy":
        return "scipy"
    probe = probe_r()
    lacking = []
    for package in r_packages:
        if package not in probe.packages:
            lacking.append(package)
    if probe.works and not lacking:
        return "r"
    if wanted == "auto":
        return "scipy"
    if not probe.works:
        raise BackendError(
            f'{purpose} with backend="r": {probe.cause}. To fix: {probe.cure}; or use'
            ' backend="scipy".'
        )
    raise BackendError(
        f'{purpose} with backend="r" needs the R package{"s" if len(lacking) > 1 else ""} '
        f"{', '.join(lacking)}, not installed in R {probe.r_version}. "
        f'To fix: {"; ".join(map(r_package_cure, lacking))}; or use backend="scipy".'
    )


def label_of_r(package: str) -> str:
    """What `Result.backend` says where R computed: ``"r: extRemes 2.2.1"``."""
    return f"{_R_LABEL}{package} {probe_r().packages.get(package, '')}".strip()


def computed_by_r(backend: str) -> bool:
    """Whether that is what a result says.

    >>> computed_by_r("r: extRemes 2.2.1"), computed_by_r("scipy 1.17")
    (True, False)
    """
    return backend.startswith(_R_LABEL)


def unless_asked(requested: Any = None) -> Any:
    """SciPy unless somebody asked for another.

    R, which takes seconds to start, is not started by the way.
    """
    if requested is None and current_backend() == "auto":
        return "scipy"
    return requested


def r_package_cure(package: str) -> str:
    """How to install an R package."""
    install_command = f'in R: install.packages("{package}")'
    only_cran = package in ("extRemes", "hdrcde", "ash")
    if only_cran:
        return install_command
    return f"{install_command} (Debian: apt-get install r-cran-{package.lower()})"


def _check_backend(backend: Any, argument: str) -> Backend:
    check_choice(
        argument, backend, BACKENDS, cure='"auto" takes R where it works and SciPy otherwise'
    )
    return backend  # type: ignore[no-any-return]


@dataclass(frozen=True)
class DoctorRow:
    """One thing that was looked at; `part`: "python", "core", an extra, "R", "R package" or "back
    end".
    """

    part: str
    name: str
    version: str
    status: Status
    detail: str = ""
    cure: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """Answer of `doctor`; `rows` in the order Python, dependencies, extras, R, R packages, back
    ends.
    """

    rows: tuple[DoctorRow, ...]

    @property
    def healthy(self) -> bool:
        """Whether Python and every core dependency are usable; extras and R may be missing."""
        return all(row.status == "ok" for row in self.rows if row.part in ("python", "core"))

    def to_frame(self) -> pd.DataFrame:
        """One row per thing: part, name, version, status, detail, cure."""
        return pd.DataFrame(self.rows, columns=[row_field.name for row_field in fields(DoctorRow)])

    def __str__(self) -> str:
        name_width = max(len(row.name) for row in self.rows)
        lines: list[str] = []
        for part, part_rows in groupby(self.rows, lambda row: row.part):
            lines.append(": ".join(filter(None, (part, EXTRAS.get(part)))))
            for row in part_rows:
                status_word = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}[
                    row.status
                ]
                description = " — ".join(
                    nonempty_text for nonempty_text in (row.version, row.detail) if nonempty_text
                )
                lines.append(f"  {status_word} {row.name:<{name_width}}  {description}".rstrip())
                lines += [f"          {'':<{name_width}}  to fix: {row.cure}"] if row.cure else []
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
    probe = probe_r()
    if probe.works:
        broken_packages = _unloadable_packages(probe)
    else:
        broken_packages = {}
    python_rows = (
        DoctorRow(
            part="python",
            name="Python",
            version=platform.python_version(),
            status="ok",
            detail=sys.executable or "embedded",
        ),
        DoctorRow(
            part="python",
            name="fairstats",
            version=__version__,
            status="ok",
            detail=str(Path(__file__).parents[1]),
        ),
    )
    return DoctorReport(
        (
            *python_rows,
            *_dependency_rows(),
            *_r_rows(probe, broken_packages),
            *_backend_rows(probe, broken_packages),
        )
    )


def _declared_requirements() -> dict[str, list[str]]:
    """Extra → requirements, from the source tree or the package's own metadata."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    if project.is_file():
        with project.open("rb") as file:
            table = tomllib.load(file).get("project", {})
        if table.get("name") == "fairstats":
            return {"core": table["dependencies"], **table["optional-dependencies"]}
    declared_requirements: dict[str, list[str]] = {}
    try:
        lines = requires("fairstats") or []
    except PackageNotFoundError:
        return declared_requirements
    for requirement in lines:
        extra_match = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        declared_requirements.setdefault(extra_match[1] if extra_match else "core", []).append(
            requirement
        )
    return declared_requirements


def _parsed_requirements() -> Iterator[tuple[str, Requirement]]:
    from packaging.requirements import Requirement

    by_extra = _declared_requirements()
    return (
        (extra_name, Requirement(requirement))
        for extra_name in EXTRAS
        for requirement in by_extra.get(extra_name, ())
    )


def _dependency_rows() -> Iterator[DoctorRow]:
    """Each declared package: its version, and what to do where it is missing or too old."""
    for extra_name, requirement in _parsed_requirements():
        distribution = requirement.name
        version_range = requirement.specifier
        if extra_name == "core":
            pip_command = f'pip install "{distribution}{version_range}"'
        else:
            pip_command = f'pip install "fairstats[{extra_name}]"'
        try:
            installed_version = version(distribution)
        except PackageNotFoundError:
            yield DoctorRow(
                part=extra_name,
                name=distribution,
                version="",
                status="missing",
                detail=f"needs {version_range}",
                cure=pip_command,
            )
            continue
        fault_and_cure: tuple[str, ...] = ()
        if not _is_importable(
            _MODULE_OF_DISTRIBUTION.get(distribution, distribution.replace("-", "_"))
        ):
            fault_and_cure = (
                "its files are not there",
                f"pip install --force-reinstall {distribution}",
            )
        elif not version_range.contains(installed_version, prereleases=True):
            fault_and_cure = (f"needs {version_range}", pip_command)
        yield DoctorRow(
            extra_name,
            distribution,
            installed_version,
            "broken" if fault_and_cure else "ok",
            *fault_and_cure,
        )


def _is_importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except Exception:  # noqa: BLE001 - a parent package may fail to import in any way
        return False


def _unloadable_packages(probe: RProbe) -> dict[str, str]:
    """R packages that are installed but do not load → R's message."""
    rscript = Path(probe.r_home, "bin", "Rscript")
    try:
        # a profile that fails, which is told by itself, would end this look before it began
        start_options = ("--no-init-file", "--no-site-file") if probe.cause else ()
        completed = run_aside(str(rscript), *start_options, "-e", _LOAD_IN_R, *probe.packages)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found_broken = re.findall(r"fairstats-broken:([^\t]*)\t(.*)", completed.stdout)
    return {package: message.strip() for package, message in found_broken}


def _r_rows(probe: RProbe, broken_packages: dict[str, str]) -> Iterator[DoctorRow]:
    """R itself, by rpy2 or as a program, and the R packages that back ends call."""
    r_detail = f"{probe.r_home}, called by rpy2-rinterface {probe.rpy2_version}"
    if probe.works:
        r_detail = "; ".join(filter(None, (r_detail, probe.cause)))
    else:
        r_detail = probe.cause
    yield DoctorRow(
        part="R",
        name="R from Python",
        version=probe.r_version,
        status=probe.status,
        detail=r_detail,
        cure=probe.cure,
    )
    if not probe.works:
        yield _rscript_row()
    for package, purpose in R_PACKAGES.items() if probe.works else ():
        installed_version = probe.packages.get(package, "")
        install_command = r_package_cure(package)
        row_beginning = ("R package", package, installed_version)
        if package in broken_packages:
            yield DoctorRow(
                *row_beginning,
                "broken",
                broken_packages[package],
                f"reinstall it; {install_command}",
            )
        else:
            yield (
                DoctorRow(*row_beginning, "ok", purpose)
                if installed_version
                else DoctorRow(*row_beginning, "missing", purpose, install_command)
            )


def _rscript_row() -> DoctorRow:
    """The door to R that the cross-check takes where rpy2 does not work."""
    aside = probe_rscript()
    if aside.works:
        purpose = f"{aside.r_home}; enough for the cross-check and for .rds files"
        return DoctorRow(
            part="R", name="R by Rscript", version=aside.r_version, status="ok", detail=purpose
        )
    return DoctorRow(
        part="R",
        name="R by Rscript",
        version="",
        status=aside.status,
        detail=aside.cause,
        cure=aside.cure,
    )


def _backend_rows(probe: RProbe, broken_packages: dict[str, str]) -> Iterator[DoctorRow]:
    """What each back end computes with, and what keeps R from it where it does."""
    yield DoctorRow(
        part="back end",
        name="scipy",
        version=version("scipy"),
        status="ok",
        detail=f'chosen: "{current_backend()}"',
    )
    yield DoctorRow(
        part="back end",
        name="rates by r",
        version=probe.r_version,
        status=probe.status,
        detail="base R" if probe.works else probe.cause,
    )
    for backend_name, package in _R_PACKAGE_OF_BACKEND.items():
        if not probe.works:
            yield DoctorRow(
                part="back end",
                name=backend_name,
                version="",
                status=probe.status,
                detail=probe.cause,
            )
        elif package in broken_packages or package not in probe.packages:
            status: Status = "broken" if package in broken_packages else "missing"
            yield DoctorRow(
                part="back end",
                name=backend_name,
                version="",
                status=status,
                detail=f"{package} is {status}; SciPy is used",
            )
        else:
            yield DoctorRow(
                part="back end",
                name=backend_name,
                version=probe.packages[package],
                status="ok",
                detail=package,
            )
