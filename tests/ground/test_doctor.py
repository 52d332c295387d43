"""What doctor() says, on machines that are whole and on machines that are not."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from fairstats.ground import backends as module
from fairstats.ground.backends import DoctorReport, DoctorRow, doctor
from fairstats.ground.rprobe import R_PACKAGES, RProbe

ROOT = Path(__file__).parents[2]
WORKS = RProbe(
    "ok",
    r_version="4.2.2",
    r_home="/r",
    rpy2_version="3.6.5",
    packages={"evd": "2.3.6.1", "ks": "1.14.0"},
)
BROKEN = RProbe("broken", cause="rpy2 was built for another R", cure="rebuild it")


@pytest.fixture
def report_of(monkeypatch):
    def make(probe, unloadable=None):
        monkeypatch.setattr(module, "probe_r", lambda: probe)
        monkeypatch.setattr(module, "_unloadable_packages", lambda found: unloadable or {})
        return doctor(refresh=False)

    return make


def row(report, name):
    return next(r for r in report.rows if r.name == name)


def test_covers_every_dependency_and_extra(report_of):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {r.name for r in report_of(WORKS).rows}
    wanted = list(project["dependencies"])
    for extra in module.EXTRAS:
        if extra != "core":
            wanted += project["optional-dependencies"][extra]
    for requirement in wanted:
        name = requirement.split(">")[0].split("=")[0].split("[")[0].strip()
        assert name in names


def test_core_is_healthy_here(report_of):
    report = report_of(BROKEN)
    assert report.healthy
    assert row(report, "Python").version.startswith(
        f"{sys.version_info.major}.{sys.version_info.minor}"
    )


def test_r_that_works(report_of):
    report = report_of(WORKS)
    assert row(report, "R from Python").status == "ok"
    assert "3.6.5" in row(report, "R from Python").detail
    assert row(report, "rates by r").status == "ok"
    assert row(report, "extreme values by r, source evd").version == "2.3.6.1"


def test_r_packages_that_are_missing_have_a_cure(report_of):
    report = report_of(WORKS)
    for name in R_PACKAGES:
        there = name in WORKS.packages
        assert row(report, name).status == ("ok" if there else "missing")
        assert bool(row(report, name).cure) != there
    assert 'install.packages("extRemes")' in row(report, "extRemes").cure
    assert "r-cran-survey" in row(report, "survey").cure
    assert row(report, "extreme values by r").status == "missing"
    assert "SciPy is used" in row(report, "extreme values by r").detail


def test_r_package_that_does_not_load_is_broken(report_of):
    report = report_of(WORKS, {"evd": "there is no package called ‘x’"})
    assert row(report, "evd").status == "broken"
    assert "no package called" in row(report, "evd").detail
    assert row(report, "extreme values by r, source evd").status == "broken"


def test_broken_r_says_why_and_what_helps(report_of):
    report = report_of(BROKEN)
    assert row(report, "R from Python").status == "broken"
    assert row(report, "R from Python").detail == BROKEN.cause
    assert row(report, "R from Python").cure == BROKEN.cure
    assert row(report, "highest density regions by r").status == "broken"
    assert not [r for r in report.rows if r.part == "R package"]


@pytest.mark.parametrize("probe", [WORKS, BROKEN, RProbe("missing", cause="no rpy2", cure="pip")])
def test_views(report_of, probe):
    report = report_of(probe)
    frame = report.to_frame()
    assert list(frame.columns) == ["part", "name", "version", "status", "detail", "cure"]
    assert len(frame) == len(report.rows)
    assert isinstance(frame, pd.DataFrame)
    assert set(frame["status"]) <= {"ok", "missing", "broken"}
    text = str(report)
    page = report._repr_html_()
    for r in report.rows:
        assert r.name in text
        assert r.name in page


def test_html_is_escaped():
    page = DoctorReport((DoctorRow("R", "<b>", "", "broken", "a & b", "<script>"),))._repr_html_()
    assert "<script>" not in page
    assert "a &amp; b" in page


def test_missing_dependency_is_not_healthy(report_of, monkeypatch):
    monkeypatch.setattr(
        module, "_declared_requirements", lambda: {"core": ["no-such-package>=1.0"]}
    )
    report = report_of(BROKEN)
    assert not report.healthy
    assert row(report, "no-such-package").status == "missing"
    assert 'pip install "no-such-package>=1.0"' in row(report, "no-such-package").cure


def test_old_dependency_is_broken(report_of, monkeypatch):
    monkeypatch.setattr(
        module, "_declared_requirements", lambda: {"core": ["numpy>=99"], "report": ["pandas<1"]}
    )
    report = report_of(BROKEN)
    assert row(report, "numpy").status == "broken"
    assert "needs >=99" in row(report, "numpy").detail
    assert row(report, "pandas").cure == 'pip install "fairstats[report]"'


def test_distribution_without_files_is_broken(report_of, monkeypatch):
    monkeypatch.setattr(module, "_is_importable", lambda name: name != "numpy")
    assert row(report_of(BROKEN), "numpy").status == "broken"


def test_metadata_of_an_installed_wheel(report_of, monkeypatch, tmp_path):
    lines = [
        "numpy>=1.26.4",
        "rich>=13.9; extra == 'cli'",
        'fairstats[cli]; extra == "all"',
        "x; extra == 'dev'",
    ]
    monkeypatch.setattr(module, "requires", lambda name: lines)
    monkeypatch.setattr(
        module, "__file__", str(tmp_path / "site" / "fairstats" / "ground" / "doctor.py")
    )
    found = {(extra, needed.name) for extra, needed in module._parsed_requirements()}
    assert found == {("core", "numpy"), ("cli", "rich")}


def test_not_installed_at_all(monkeypatch, tmp_path):
    def nothing(name):
        raise module.PackageNotFoundError(name)

    monkeypatch.setattr(module, "requires", nothing)
    monkeypatch.setattr(
        module, "__file__", str(tmp_path / "site" / "fairstats" / "ground" / "doctor.py")
    )
    assert module._declared_requirements() == {}


def test_loads_nothing_that_it_looks_at():
    code = (
        "import sys; from fairstats.ground.backends import doctor; doctor()\nheavy ="
        " ('rpy2.rinterface', 'scipy.stats', 'statsmodels', 'sklearn', 'matplotlib',"
        " 'pymc')\nprint([m for m in heavy if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.r
def test_live(tmp_path, monkeypatch):
    folder = tmp_path / "evd"
    folder.mkdir()
    (folder / "DESCRIPTION").write_text("Package: evd\nVersion: 9.9.9\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "R_LIBS": str(tmp_path)}
    code = (
        "from fairstats.ground.backends import doctor;"
        " print(doctor().to_frame().to_json(orient='records'))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    import json

    rows = {r["name"]: r for r in json.loads(done.stdout)}
    assert rows["R from Python"]["status"] == "ok"
    assert rows["rates by r"]["status"] == "ok"
    assert rows["evd"]["status"] == "broken"
    assert rows["evd"]["version"] == "9.9.9"
