"""Reading a report that this version of fairstats, or another one, wrote."""

from __future__ import annotations

from typing import Any

from fairstats._version import __version__
from fairstats.ground.caution import caution
from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.ground.serialise import decode, unknown_parts

__all__ = ["TABLE", "decode_report"]

#: The tidy table, which a report's JSON repeats for other readers.
TABLE = "table"
_NAMED = 3


def decode_report(data: dict[str, Any]) -> Any:
    """The value that a dictionary holds; says which version wrote it, where it was another.

    Raises
    ------
    InputError
        Where it holds something that this version does not know.

    Warns
    -----
    FairstatsWarning
        Where another version wrote it.
    """
    whole = {key: value for key, value in data.items() if key != TABLE}
    written = _version_of(whole)
    if written in ("", __version__):
        return decode(whole)
    unknown = unknown_parts(whole)
    if unknown:
        raise _other_version(written, ", ".join(unknown[:_NAMED]) + (", …" if len(unknown) > _NAMED else ""))
    try:
        found = decode(whole)
    except (InputError, TypeError, ValueError, KeyError) as problem:
        raise _other_version(written, str(problem)) from problem
    caution(
        f"The report was written by fairstats {written}, and is read by {__version__}: its numbers are those "
        f"of {written}, the words around them those of {__version__}.",
        FairstatsWarning,
    )
    return found


def _version_of(data: dict[str, Any]) -> str:
    """Version of fairstats in the report's own list; empty where there is none."""
    versions = data.get("versions")
    mapping = versions.get("mapping") if isinstance(versions, dict) else None
    return str(mapping.get("fairstats", "")) if isinstance(mapping, dict) else ""


def _other_version(written: str, why: str) -> InputError:
    return InputError(
        "data",
        got=f"a report of fairstats {written}, which fairstats {__version__} cannot read: {why}",
        allowed=f"a report of fairstats {__version__}, or one that holds nothing else",
        cure=f'read it with the version that wrote it, pip install "fairstats=={written}", or audit again',
    )
