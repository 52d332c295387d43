"""What runs without the extras.

A message that names the extra, and imports that load nothing heavy.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import fairstats as fs
from fairstats.ground.errors import MissingDependencyError
from fairstats.methods.um import pymc_models

from .conftest import TABLE


def test_missing_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(pymc_models, "import_module", absent)
    with pytest.raises(MissingDependencyError, match=r"fairstats\[bayes\]"):
        fs.um_posterior(counts=TABLE, sampler="pymc")
    with pytest.raises(MissingDependencyError, match=r"fairstats\[bayes\]"):
        fs.um_posterior(counts=TABLE).to_arviz()
    with pytest.raises(MissingDependencyError, match=r"fairstats\[bayes\]"):
        fs.um_model(TABLE)


def test_posteriors_and_comparisons_load_nothing_heavy() -> None:
    """In another process: neither the import nor an exact posterior and comparison load these."""
    code = (
        "import json, sys, fairstats as fs\n"
        "c = {'a': dict(tp=30, tn=40, fp=10, fn=10), 'b': dict(tp=20, tn=30, fp=12, fn=9)}\n"
        "p = fs.um_posterior(counts=c, rng=1)\n"
        "p.metric('equal_opportunity'); str(p); fs.um_compare(p, p, rng=1)\n"
        "heavy = ('pymc', 'pytensor', 'arviz', 'sklearn', 'matplotlib', 'scipy.stats')\n"
        "print(json.dumps([h for h in heavy if h in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_name_loads_no_pandas() -> None:
    """Naming the function, and a metric of counts by name, need neither pandas nor scipy.stats."""
    code = (
        "import json, sys, fairstats as fs\n"
        "fs.um_posterior\n"
        "c = {'a': dict(tp=30, tn=40, fp=10, fn=10), 'b': dict(tp=20, tn=30, fp=12, fn=9)}\n"
        "fs.um_posterior(counts=c, rng=1).metric('equal_opportunity')\n"
        "print(json.dumps([h for h in ('pandas', 'scipy.stats') if h in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
