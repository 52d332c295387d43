"""Which back end computes, r or scipy: ``backend=`` of the call, `use_backend`, ``FAIRSTATS_BACKEND``, or "auto"."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, Self

from fairstats.ground.checks import check_choice
from fairstats.ground.errors import BackendError
from fairstats.ground.rprobe import probe_r

Backend = Literal["auto", "r", "scipy"]
#: What a caller may ask for, by `backend=` or by an environment variable.
BACKENDS: tuple[Backend, ...] = ("auto", "r", "scipy")
VARIABLE = "FAIRSTATS_BACKEND"

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
