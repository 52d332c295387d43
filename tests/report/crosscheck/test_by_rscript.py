"""The cross-check where rpy2 is hidden: by Rscript, with the table that rpy2 gives.

Witness: the cross-check by rpy2 itself, column by column, random quantities included.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground import rsession
from fairstats.ground.rprobe import RProbe
from fairstats.report.crosscheck import check as door_module

pytestmark = pytest.mark.r

RNG = np.random.default_rng(7)
GROUP = RNG.choice(["a", "b", "c"], 400)
RESULTS = {
    "ratio": fs.disparate_impact(RNG.random(400) < 0.5, sensitive_features=GROUP),
    "madd": fs.madd(RNG.random(400), sensitive_features=GROUP, n_resamples=199, rng=1),
}


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rpy2, and no R that runs in this process."""
    lacking = RProbe("missing", cause="rpy2 is not installed", cure="")
    monkeypatch.setattr(rsession, "_running", None)
    monkeypatch.setattr(rsession, "_embedded_module", lambda: None)
    for module in (rsession, door_module):
        monkeypatch.setattr(module, "probe_r", lambda: lacking)


@pytest.mark.parametrize("name", RESULTS)
def test_everything_agrees(name: str, hidden: None) -> None:
    found = fs.crosscheck(RESULTS[name])
    assert found.agrees
    assert found.n_checked > 10
    assert found.to_frame()["source"].str.contains(r"fairstats|R \d|\d+\.\d").any()


@pytest.mark.rpy2
@pytest.mark.parametrize("name", RESULTS)
def test_the_table_is_that_of_rpy2(name: str, request: pytest.FixtureRequest) -> None:
    by_rpy2 = fs.crosscheck(RESULTS[name]).to_frame()
    request.getfixturevalue("hidden")
    by_rscript = fs.crosscheck(RESULTS[name]).to_frame()
    pd.testing.assert_frame_equal(by_rscript, by_rpy2, check_exact=True)


def test_the_command_without_rpy2(tmp_path: Path) -> None:
    """A process in which rpy2 cannot be imported."""
    (tmp_path / "rpy2").mkdir()
    (tmp_path / "rpy2" / "__init__.py").write_text("raise ImportError('hidden')", encoding="utf-8")
    frame = pd.DataFrame({"group": GROUP, "hired": RNG.random(400) < 0.5})
    report = fs.audit(frame, y_pred="hired", sensitive_features="group")
    stored = report.to_json(tmp_path / "r.json")
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-m", "fairstats", "crosscheck", str(stored)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    n_agree, n_checked = done.stdout.strip().splitlines()[-1].removesuffix(" agree").split(" of ")
    assert n_agree == n_checked
    assert int(n_checked.replace(",", "")) > 20
