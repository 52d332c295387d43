"""Crossed codes: every combination has a number of its own, whatever integers the codes are kept
in.
"""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground.codes import cross_codes

PACKAGE = Path(fs.__file__).parent


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8])
def test_numbers_are_those_of_wide_integers(kind: type) -> None:
    """Witness: Python's own integers."""
    combinations = list(product(range(100), range(90), (0, 1)))
    parts = np.array(combinations).T
    crossed = cross_codes(
        (parts[0].astype(kind), 100), (parts[1].astype(kind), 90), (parts[2].astype(np.uint8), 2)
    )
    assert crossed.tolist() == [(a * 90 + b) * 2 + c for a, b, c in combinations]


@pytest.mark.parametrize(("n_groups", "n"), [(20, 4_000), (50, 2_000), (130, 4_000)])
def test_many_groups_in_a_comparison_of_models_by_scores(n_groups: int, n: int) -> None:
    """Case C1: codes of 20 groups are int8, and 20 × bins is no int8."""
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.arange(n) % n_groups)
    score = rng.random(n)
    other = np.clip(score + 0.1 * rng.standard_normal(n), 0, 1)
    with fs.use_backend("scipy"):
        result = fs.compare_models(
            rng.integers(0, 2, n),
            None,
            score={"a": score, "b": other},
            sensitive_features=groups,
            metrics="madd",
        )
    assert len({c.group for c in result.comparisons}) == n_groups - 1


def test_frozen_objects_change_in_no_place_but_their_construction() -> None:
    """Case C2: `object.__setattr__` stands in ``__post_init__`` only.

    Else `replace` loses what was set.
    """
    outside = []
    for file in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        allowed = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == "__post_init__"
        ]
        inside = {id(node) for function in allowed for node in ast.walk(function)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "__setattr__"
                and id(node) not in inside
            ):
                outside.append(f"{file.relative_to(PACKAGE)}:{node.lineno}")
    assert outside == []
