"""With the core dependencies alone every number is there, and what is missing names the extra that
brings it.

The code runs in an interpreter of its own in which the packages of the extras cannot be imported,
so that the promise is tested in any environment."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import fairstats

ROOT = Path(__file__).resolve().parents[1]

#: Refuse the packages of every extra as if they were not installed.
HIDE = """
import importlib.abc, importlib.util, sys
HIDDEN = {"matplotlib", "jinja2", "typer", "rich", "pyarrow", "pymc", "pytensor", "arviz", "optuna", "ctgan",
          "rpy2", "polars", "fairlearn", "hypothesis", "duckdb", "pyspark", "dask", "sqlglot", "numba",
          "python_calamine", "pyreadstat"}
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: (
    None if name.partition(".")[0] in HIDDEN else find_spec(name, package)
)
import warnings; warnings.simplefilter("error")
import fairstats as fs
frame, about = fs.datasets.load_compas(subset="besse")
import pathlib, tempfile
folder = tempfile.mkdtemp()
(pathlib.Path(folder) / "people.parquet").write_bytes(b"PAR1")
y_true, y_pred, race = frame["two_year_recid"].eq(0), frame["score_text"].eq("Low"), frame["race"]
score = 1 - frame["decile_score"] / 10
result = fs.disparate_impact(y_pred, sensitive_features=race, reference="Caucasian")
"""

WORKS = {
    "a ratio": "assert round(result.estimate, 4) == 0.7117",
    "its table": "assert len(result.to_frame()) == 1",
    "its text": "assert 'violated' in str(result)",
    "its notebook view": "assert '<table' in result._repr_html_()",
    "JSON": """
        import json
        again = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
        assert again.to_frame().equals(result.to_frame())
        """,
    "every interval": """
        for method in ("log", "delta", "score", "koopman", "bootstrap"):
            fs.disparate_impact(
                y_pred, sensitive_features=race, reference="Caucasian", method=method, rng=1, n_resamples=199
            )
        """,
    "every ratio": """
        for label in (0, 1):
            fs.conditional_accuracy(y_true, y_pred, sensitive_features=race, label=label)
            fs.conditional_use_accuracy(y_true, y_pred, sensitive_features=race, prediction=label)
        """,
    "every difference": """
        for name in ("demographic_parity", "equal_opportunity", "predictive_parity", "average_odds",
                     "equalized_odds"):
            getattr(fs, name + "_difference")(y_true, y_pred, sensitive_features=race)
            getattr(fs, name + "_difference")(y_true, y_pred, sensitive_features=race, agg="max")
        """,
    "ABROCA": "fs.abroca(y_true, score, sensitive_features=race, rng=1)",
    "strata": "fs.disparate_impact(y_pred, sensitive_features=race, strata=frame['age_cat'])",
    "two models": "fs.compare_models(y_true, y_pred, score > 0.7, sensitive_features=race)",
    "planning": "assert fs.sample_size_ratio(0.5, 0.7).n == 971",
    "weights and clusters": """
        fs.disparate_impact(y_pred, sensitive_features=race, sample_weight=frame["age"], cluster=frame["age"])
        """,
    "every data set": """
        for load in (fs.datasets.load_adult, fs.datasets.load_german_credit, fs.datasets.load_ricci):
            load()
        """,
}

AUDIT = """
report = fs.audit(frame, y_true="two_year_recid", y_pred="score_text", sensitive_features="race",
                  pos_label={"y_true": 0, "y_pred": "Low"}, reference="Caucasian")
"""
WORKS |= {
    "an audit": AUDIT + "assert len(report.to_frame()) > 5 and 'violated' in report.summary()",
    "an audit as JSON": AUDIT
    + """
import tempfile, pathlib
path = pathlib.Path(tempfile.mkdtemp()) / "report.json"
report.to_json(path)
assert fs.results.AuditReport.from_json(path).to_frame().equals(report.to_frame())
""",
    "the doctor": "fs.doctor()",
    "a text file": """
table = fs.read_table(b"sex,x\\n01,0.5\\n1,\\n", numbers="x")
assert list(table["sex"]) == ["01", "1"] and table["x"].isna().tolist() == [False, True]
""",
    "highest density regions": "region = fs.hdr(score + 1e-3 * frame.index, 0.5)",
}

#: What needs an extra: the extra, the code.
NEEDS = {
    "a picture": ("report", "result.plot()"),
    "a picture of a region": ("report", "fs.hdr(score + 1e-3 * frame.index, 0.5).plot()"),
    "a report": ("report", AUDIT + "report.to_html('never-written.html')"),
    "the command line": ("cli", "import fairstats.cli.app"),
    "DuckDB": (
        "scale",
        "fs.tally(frame, y_pred='score_text', sensitive_features='race', engine='duckdb')",
    ),
    "Spark": (
        "spark",
        "fs.tally(frame, y_pred='score_text', sensitive_features='race', engine='spark')",
    ),
    "a file for an engine": ("files", "fs.read_table(b'a,b\\n1,2\\n', engine='duckdb')"),
    "a Parquet file": ("files", "fs.read_table(b'PAR1')"),
    "a spreadsheet": ("files", "fs.read_table(b'PK\\x03\\x04xl/')"),
}


#: Run the snippets on standard input one by one; what each of them raised, as JSON.
RUN = """
import contextlib, json, traceback
outcomes = {}
for name, code in json.load(sys.stdin).items():
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(code, dict(globals()))
    except BaseException as problem:
        outcomes[name] = [type(problem).__name__, str(problem), traceback.format_exc()]
sys.stdout.write(json.dumps(outcomes))
"""


@pytest.fixture(scope="module")
def raised() -> dict[str, list[str]]:
    """For each piece of code that raised: name of the exception, its message, its traceback."""
    snippets = {name: textwrap.dedent(code) for name, code in WORKS.items()}
    snippets |= {name: textwrap.dedent(code) for name, (_, code) in NEEDS.items()}
    done = hidden(RUN, json.dumps(snippets))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def hidden(code: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run code where the extras are hidden."""
    command = [sys.executable, "-c", HIDE + code]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("what", WORKS)
def test_works_without_extras(raised: dict[str, list[str]], what: str) -> None:
    assert what not in raised, raised[what][2]


@pytest.mark.parametrize("what", NEEDS)
def test_error_names_the_extra(raised: dict[str, list[str]], what: str) -> None:
    extra, _ = NEEDS[what]
    kind, message, trace = raised[what]
    assert kind == "MissingDependencyError", trace
    assert f'pip install "fairstats[{extra}]"' in message
    assert extra in extras()


def test_command_without_its_extra_says_so() -> None:
    done = hidden("from fairstats.__main__ import main\nsys.argv = ['fairstats', 'demo']\nmain()")
    assert done.returncode == 3
    assert "fairstats[cli]" in done.stderr
    assert "Traceback" not in done.stderr


def extras() -> set[str]:
    """Names of the extras in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


def test_core_dependencies_are_those_of_the_design() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.partition(">=")[0] for requirement in project["dependencies"]}
    assert names == {
        "numpy",
        "scipy",
        "pandas",
        "statsmodels",
        "scikit-learn",
        "narwhals",
        "packaging",
        "tqdm",
        "threadpoolctl",
        "formulaic",  # statsmodels 0.15 cannot do without it
    }


def test_every_error_of_a_missing_package_names_an_extra_that_exists() -> None:
    """The texts in the source: ``extra="report"`` and ``fairstats[report]``."""
    import re

    for path in Path(fairstats.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        named = re.findall(r'extra="(\w+)"', text) + re.findall(r"fairstats\[([\w,]+)\]", text)
        for extra in {e for names in named for e in names.split(",")}:
            assert extra in extras(), f"{path}: there is no extra {extra!r}"
