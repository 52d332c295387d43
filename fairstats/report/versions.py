"""Versions of what computed a report."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from fairstats._version import __version__

__all__ = ["installed_versions"]

_PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "narwhals")


def installed_versions() -> dict[str, str]:
    """fairstats, Python and the packages that numbers come from."""
    found = {"fairstats": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
