"""`import fairstats` is light, every module imports, and every public name is there and stays
there.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import fairstats
from fairstats.ground.errors import MissingDependencyError

#: None of these may be loaded by `import fairstats`: each costs more than everything that is
#: loaded.
HEAVY = (
    "scipy.stats",
    "scipy.optimize",
    "statsmodels",
    "sklearn",
    "matplotlib",
    "jinja2",
    "rpy2",
    "pymc",
    "pytensor",
    "arviz",
    "optuna",
    "ctgan",
    "polars",
    "duckdb",
    "pyspark",
    "dask",
    "sqlglot",
    "numba",
    "pyarrow",
    "rich",
    "typer",
    "fairlearn",
)
#: pandas loads pyarrow by itself where it is installed.
LOADED_BY_PANDAS = "import pandas"


def loaded_after(code: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after `code`."""
    command = f"{code}\nimport json, sys\nsys.stdout.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return set(json.loads(done.stdout))


def modules() -> list[str]:
    """Every module of the package but `__main__`."""
    found = pkgutil.walk_packages(fairstats.__path__, "fairstats.")
    return ["fairstats", *(m.name for m in found if not m.name.endswith("__main__"))]


def import_or_skip(name: str) -> types.ModuleType:
    """Import a module; skip where the package of an extra is missing, which only its own modules
    may need.
    """
    try:
        return importlib.import_module(name)
    except MissingDependencyError as problem:
        pytest.skip(str(problem))
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] not in HEAVY:
            raise
        pytest.skip(f"{name} needs {problem.name}, which is not installed")


def test_import_loads_nothing_heavy() -> None:
    extra = loaded_after("import fairstats") - loaded_after(LOADED_BY_PANDAS)
    heavy = sorted(m for m in extra if any(m == h or m.startswith(h + ".") for h in HEAVY))
    assert heavy == []


@pytest.mark.parametrize("name", ["um_posterior", "disparate_impact", "ConfusionCounts", "evt"])
def test_a_name_loads_no_pandas(name: str) -> None:
    """A function as an attribute costs what it computes with, and pandas is for frames."""
    loaded = loaded_after(f"import fairstats; fairstats.{name}")
    assert loaded.isdisjoint({"pandas", "matplotlib", "sklearn", "statsmodels"})


def test_import_starts_no_other_process_and_no_thread() -> None:
    code = (
        "import subprocess, sys, threading\n"
        "def refuse(*a, **k): raise RuntimeError('a process was started')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "import fairstats\n"
        "sys.exit(threading.active_count() - 1)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_dir_lists_the_public_names() -> None:
    assert set(fairstats.__all__) <= set(dir(fairstats))
    assert len(fairstats.__all__) == len(set(fairstats.__all__))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'disparate_imapct'"):
        _ = fairstats.disparate_imapct


@pytest.mark.parametrize("name", modules())
def test_every_module_imports(name: str) -> None:
    module = import_or_skip(name)
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public), f"{name}.__all__ names {public!r}, which is not there"


def test_public_names_survive_the_import_of_every_module() -> None:
    """A submodule named like a public function would take its place once it is imported."""
    code = "\n".join(
        [
            "import importlib, types",
            "import fairstats",
            "kinds = {}",
            "for _ in range(2):",
            "    for name in fairstats.__all__:",
            "        value = getattr(fairstats, name)",
            "        assert kinds.setdefault(name, value) is value, name",
            "    for module in " + repr(modules()) + ":",
            "        try:",
            "            importlib.import_module(module)",
            "        except ImportError:",
            "            pass",
            "modules = [n for n, v in kinds.items() if isinstance(v, types.ModuleType)]",
            "assert set(modules) == {'datasets', 'evt', 'rates', 'results'}, modules",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["fairstats", "fairstats.results"])
def test_type_checkers_see_the_names_that_are_there(module: str) -> None:
    """The stub beside a lazy module names what its `__getattr__` gives."""
    import ast

    loaded = importlib.import_module(module)
    stub = ast.parse(Path(loaded.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    shown = {
        alias.asname or alias.name
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert shown == set(loaded.__all__)


def test_the_top_has_functions_estimators_and_errors_and_not_too_many() -> None:
    assert len(fairstats.__all__) <= 66
    classes = {n for n in fairstats.__all__ if isinstance(getattr(fairstats, n), type)}
    assert not classes & set(fairstats.results.__all__)


def result_classes() -> list[type]:
    """Every class of results of the package."""
    from fairstats.ground.results import Result

    for name in modules():
        import_or_skip(name)

    def below(cls: type) -> list[type]:
        return [c for sub in cls.__subclasses__() for c in (sub, *below(sub))]

    return [c for c in below(Result) if c.__module__.startswith("fairstats.")]


def test_every_result_class_is_public_and_answers_to_the_same_names() -> None:
    """A class has each name, inherits it, or says in `lacks` why not.

    Each words itself in sentences.
    """
    from fairstats.ground.results import Result

    missing = []
    for cls in result_classes():
        if cls.__name__.startswith("_") or cls.__subclasses__():  # what others are made of
            continue
        if cls.__name__ not in fairstats.results.__all__:
            missing.append(f"{cls.__name__} is not in fairstats.results")
        own = {f.name for f in dataclasses.fields(cls)} | set(dir(cls))
        if cls.sentences is Result.sentences:
            missing.append(f"{cls.__name__} has no sentences")
        if cls.rows is Result.rows and "backend" not in own:
            missing.append(f"{cls.__name__} has no backend, which its rows say")
        for name in ("comparisons", "plot", "estimate", "confidence_interval", "pvalue", "verdict"):
            derived = name not in ("comparisons", "plot") and ("comparisons" in own)
            if name not in own and name not in cls.lacks and not derived:
                missing.append(f"{cls.__name__} neither has nor lacks {name}")
    assert missing == []
