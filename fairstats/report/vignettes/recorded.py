"""What R printed when it last ran: kept beside a vignette, shown where R is missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.parse import Vignette
from fairstats.report.vignettes.source import recorded_file

__all__ = ["Recorded", "chunk_keys", "read_recorded", "write_recorded"]


@dataclass(frozen=True)
class Recorded:
    """Recorded output of a vignette's R chunks.

    Attributes
    ----------
    by : str
        What ran, say ``R 4.2.2, fairstats 0.1.0, full run``.
    outputs : mapping of str to str
        Key of a chunk → what it printed.
    """

    by: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


def chunk_keys(vignette: Vignette) -> dict[int, str]:
    """Number of each R chunk → a key that changes when it or any chunk before it changes."""
    seen = hashlib.sha256()
    keys = {}
    for chunk in vignette.chunks:
        seen.update(f"{chunk.language}\0{chunk.code.strip()}\0".encode())
        if chunk.language == "r":
            keys[chunk.number] = seen.hexdigest()[:16]
    return keys


def read_recorded(source: Path) -> Recorded:
    """The recorded output of a vignette; empty where there is none.

    Raises
    ------
    VignetteError
        If the file is damaged.
    """
    path = recorded_file(source)
    if not path.is_file():
        return Recorded()
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return Recorded(str(held["by"]), {str(k): str(v) for k, v in held["outputs"].items()})
    except (ValueError, KeyError, AttributeError, TypeError) as problem:
        raise VignetteError(
            f"{path} is damaged: {problem!r}. To fix: fairstats vignettes record."
        ) from problem


def write_recorded(vignette: Vignette, by: str, outputs: Mapping[int, str]) -> Path:
    """Write what R printed (number of a chunk → text) beside the vignette; the file's path."""
    keys = chunk_keys(vignette)
    path = recorded_file(vignette.path)
    path.parent.mkdir(exist_ok=True)
    held = {"by": by, "outputs": {keys[number]: text for number, text in sorted(outputs.items())}}
    path.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
