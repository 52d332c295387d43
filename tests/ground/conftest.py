"""What the tests of the ground floor share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_python(code: str, environment: dict[str, str] | None = None, path: Path = ROOT) -> str:
    """Standard output of a script in a process of its own; fails where it fails."""
    env = {**os.environ, "PYTHONPATH": str(path), **(environment or {})}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env=env,
        cwd=path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def python() -> Callable[..., str]:
    """`run_python`."""
    return run_python
