"""The floors are kept, and the habits of the house.

No print, no assert, no bare except, small files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import fairstats

PACKAGE = Path(fairstats.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
#: Floor of each part; a part may import its own floor's folder and any lower floor.
FLOORS = {
    "ground": 0,
    "datasets": 1,
    "numerics": 1,
    "plots": 1,
    "methods": 2,
    "report": 3,
    "cli": 4,
    "__main__": 5,
}
#: What a reader can hold in mind: blocks within blocks, branches of a function, arguments handed
#: on, files of a room.
DEEPEST = 5
MOST_FILES = 32
MOST_BRANCHES = 26
MOST_ARGUMENTS = 10
BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.IfExp,
    ast.ExceptHandler,
    ast.BoolOp,
    ast.comprehension,
    ast.match_case,
)
#: The one thing of the top level that a floor may import.
VERSION = {"fairstats._version", "fairstats._version.__version__"}


def part_of(module: str) -> str | None:
    """The part of the package that a dotted name lies in; None for the top level itself."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 and pieces[1] in FLOORS else None


def dotted(path: Path) -> str:
    parts = ["fairstats", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(tree: ast.AST, *, types: bool) -> Iterator[ast.AST]:
    """Every node, those under ``if TYPE_CHECKING`` only where `types`."""
    for node in ast.iter_child_nodes(tree):
        if not types and is_type_checking(node):
            continue
        yield node
        yield from statements(node, types=types)


def imports(path: Path, *, types: bool) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import of fairstats, those inside functions too."""
    package = dotted(path) if path.name == "__init__.py" else dotted(path).rpartition(".")[0]
    for node in statements(tree_of(path), types=types):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name != "fairstats"]
            names += ["fairstats.*" for alias in node.names if alias.name == "fairstats"]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "fairstats")


def test_every_folder_has_a_floor() -> None:
    parts = {p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    parts |= {p.stem for p in PACKAGE.glob("*.py")} - {"__init__", "_version", "results"}
    assert parts <= set(FLOORS), (
        f"on which floor: {sorted(parts - set(FLOORS))}? (also in pyproject.toml)"
    )


def test_no_module_imports_a_higher_floor() -> None:
    faults = []
    for path in FILES:
        own = part_of(dotted(path))
        if own is None:
            continue  # the top level only names the public names
        for line, name in imports(path, types=False):
            other = part_of(name)
            if other is None:
                if own != "__main__" and name not in {"fairstats", *VERSION}:
                    faults.append(f"{path}:{line}: import {name} from the module that defines it")
            elif (
                FLOORS[other] >= FLOORS[own]
                and other != own
                and (own, other) != ("numerics", "plots")
            ):
                faults.append(f"{path}:{line}: {own} imports {name}")  # (a result draws itself)
    assert not faults


def test_methods_do_not_import_each_other() -> None:
    faults = []
    for path in FILES:
        own = dotted(path).split(".")
        if len(own) < 3 or own[1] != "methods":
            continue
        for line, name in imports(path, types=True):
            other = name.split(".")
            if other[1:2] == ["methods"] and len(other) > 2 and other[2] != own[2]:
                faults.append(f"{path}:{line}: {own[2]} imports {name}")
    assert not faults


def test_no_files_form_a_circle() -> None:
    """Also by imports inside functions, and by those for types alone."""
    names = {dotted(path) for path in FILES} - {"fairstats"}
    reached = {}
    for path in FILES:
        own = dotted(path)
        found = {name for _, name in imports(path, types=True) if name in names - {own}}
        reached[own] = {
            name for name in found if not own.startswith(f"{name}.")
        }  # not the folder it lies in
    circles = []
    for start in sorted(names):
        seen: set[str] = set()
        waiting = list(reached[start])
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += reached[name]
        if start in seen:
            circles.append(start)
    assert not circles, "these import, by way of others, themselves"


def test_plots_import_ground_only() -> None:
    for path in (PACKAGE / "plots").rglob("*.py"):
        for line, name in imports(path, types=False):
            assert part_of(name) in {"ground", "plots", None}, (
                f"{path}:{line}: plots imports {name}"
            )


def test_no_print_no_assert_no_bare_except() -> None:
    faults = []
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Assert):
                faults.append(
                    f"{path}:{node.lineno}: assert: raise an error of ours, `python -O` drops"
                    " asserts"
                )
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                faults.append(f"{path}:{node.lineno}: bare except")
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "print"
            ):
                faults.append(
                    f"{path}:{node.lineno}: print: return text, or write through the terminal view"
                )
    assert not faults


def test_a_module_says_what_it_is() -> None:
    silent = [str(path) for path in FILES if not ast.get_docstring(tree_of(path))]
    assert not silent


def depth_of(node: ast.AST, depth: int = 0) -> int:
    """How deep blocks stand in blocks; an ``elif`` is no deeper than its ``if``."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        is_elif = isinstance(node, ast.If) and child in node.orelse and isinstance(child, ast.If)
        inside = isinstance(child, (ast.If, ast.For, ast.While, ast.With, ast.Try)) and not is_elif
        deepest = max(deepest, depth_of(child, depth + inside))
    return deepest


def test_functions_are_not_hard_to_follow() -> None:
    """Not lines are counted but what makes them hard.

    Depth, branches, arguments that are handed on.
    """
    hard = []
    for path in FILES:
        for function in ast.walk(tree_of(path)):
            if not isinstance(function, ast.FunctionDef):
                continue
            branches = 1 + sum(isinstance(node, BRANCHES) for node in ast.walk(function))
            arguments = len(function.args.args) + len(function.args.kwonlyargs)
            private = function.name.startswith("_") and not function.name.startswith("__")
            name = f"{path.name}: {function.name}"
            if depth_of(function) > DEEPEST:
                hard.append(f"{name}: blocks {depth_of(function)} deep")
            if branches > MOST_BRANCHES:
                hard.append(f"{name}: {branches} branches")
            if private and arguments > MOST_ARGUMENTS:
                hard.append(f"{name}: {arguments} arguments")
    assert not hard


def test_a_room_has_few_files() -> None:
    rooms = {folder: len(list(folder.glob("*.py"))) for folder in {path.parent for path in FILES}}
    crowded = {str(folder): n for folder, n in rooms.items() if n > MOST_FILES}
    assert not crowded, "make a room of what belongs together"


def test_what_draws_is_called_rng_and_random_state_in_estimators() -> None:
    """One name, one thing: a generator of random numbers that is handed on is `rng` everywhere."""
    others = []
    for path in FILES:
        for function in ast.walk(tree_of(path)):
            if not isinstance(function, ast.FunctionDef):
                continue
            arguments = function.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                annotation = ast.unparse(argument.annotation) if argument.annotation else ""
                draws = re.fullmatch(r"(np\.random\.)?Generator( \| None)?", annotation)
                of_estimator = argument.arg == "random_state" and function.name == "__init__"
                if (draws and argument.arg != "rng") or (
                    argument.arg == "random_state" and not of_estimator
                ):
                    others.append(f"{path.relative_to(PACKAGE)}: {function.name}({argument.arg})")
    assert others == []


def test_no_folder_bears_the_name_of_a_public_function() -> None:
    names = {p.name for p in PACKAGE.iterdir() if p.is_dir()} | {
        p.stem for p in PACKAGE.glob("*.py")
    }
    assert names & set(fairstats.__all__) <= {"datasets", "evt", "rates", "results"}


def test_import_linter_contract() -> None:
    """The same by import-linter, which also follows chains of imports.

    The contract is in pyproject.toml.
    """
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    from importlinter import configuration
    from importlinter.application.use_cases import lint_imports

    configuration.configure()
    pyproject = PACKAGE.parent / "pyproject.toml"
    if not pyproject.exists():
        pytest.skip("the package is not in its source tree")
    assert lint_imports(config_filename=str(pyproject), cache_dir=None, is_debug_mode=False)


def test_no_two_functions_of_r_share_a_name() -> None:
    """All files of an R package are one name space: the later one would stand for both."""
    homes: dict[str, list[str]] = {}
    for path in sorted((PACKAGE.parent / "r" / "R").glob("*.R")):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^([\w.]+) <- function", text, re.MULTILINE):
            homes.setdefault(name, []).append(path.name)
    assert len(homes) > 300
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
