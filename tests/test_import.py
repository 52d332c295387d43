"""`import fairstats` is light, every module imports, and every public name is there and stays there."""

from __future__ import annotations

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

#: None of these may be loaded by `import fairstats`: each costs more than everything that is loaded.
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
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(json.loads(done.stdout))


def modules() -> list[str]:
    """Every module of the package but `__main__`."""
    found = pkgutil.walk_packages(fairstats.__path__, "fairstats.")
    return ["fairstats", *(m.name for m in found if not m.name.endswith("__main__"))]


def import_or_skip(name: str) -> types.ModuleType:
    """Import a module; skip where the package of an extra is missing, which only its own modules may need."""
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
            "assert set(modules) == set(fairstats._SUBMODULES), modules",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_type_checkers_see_the_names_that_are_there() -> None:
    """The names under TYPE_CHECKING are those that `__getattr__` gives."""
    import ast

    tree = ast.parse(Path(fairstats.__file__).read_text(encoding="utf-8"))
    shown = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert shown == set(fairstats.__all__) - {"__version__"}
