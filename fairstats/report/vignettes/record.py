"""What a vignette's R chunks printed, kept beside it for machines without R."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairstats.ground.errors import VignetteError
from fairstats.ground.writing import JSON, write_file
from fairstats.report.vignettes.source import Vignette


@dataclass(frozen=True)
class Recorded:
    """By what it was recorded (``R 4.2.2, fairstats 0.2.0``), and texts by the chunk's key."""

    by: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


def chunk_keys(vignette: Vignette) -> dict[int, str]:
    """Number of each R chunk → a key that changes when it or any chunk before it changes."""
    digest = hashlib.sha256()
    keys = {}
    for chunk in vignette.chunks:
        digest.update(f"{chunk.language}\0{chunk.code.strip()}\0".encode())
        if chunk.language == "r":
            keys[chunk.number] = digest.hexdigest()[:16]
    return keys


def read_recorded(source: Path) -> Recorded:
    """The recorded output of a vignette, empty where there is none.

    A `VignetteError` for a damaged file.
    """
    path = _recorded_file(source)
    if not path.is_file():
        return Recorded()
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        texts = {str(key): str(text) for key, text in stored["outputs"].items()}
        return Recorded(by=str(stored["by"]), outputs=texts)
    except (ValueError, KeyError, AttributeError, TypeError) as problem:
        cure = "To fix: move it away, then fairstats vignettes record."
        raise VignetteError(
            f"{path} is damaged, or no record of what R printed: {problem!r}. {cure}"
        ) from problem


def write_recorded(vignette: Vignette, by: str, outputs: Mapping[int, str]) -> Path:
    """Write what R printed (number of a chunk → text) beside the vignette; the file's path.

    Raises VignetteError where a file of that name is there which is no such record.
    """
    keys = chunk_keys(vignette)
    path = _recorded_file(vignette.path)
    read_recorded(vignette.path)
    path.parent.mkdir(exist_ok=True)
    texts = {keys[number]: text for number, text in sorted(outputs.items())}
    record = {"by": by, "outputs": texts}
    return write_file(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n", JSON)


def _recorded_file(source: Path) -> Path:
    """``recorded/NAME.json`` beside the vignette."""
    return source.parent / "recorded" / f"{source.stem}.json"
