"""`choose_metric`: every path of the tree ends in a call that exists."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

import pytest

import fairstats as fs
from fairstats.report.choose import _load_tree


def paths(node: Any) -> Iterator[dict[str, str]]:
    if "question" not in node:
        yield {}
        return
    for answer, below in node["answers"].items():
        for rest in paths(below):
            yield {node["name"]: answer, **rest}


@pytest.mark.parametrize("answers", list(paths(_load_tree())), ids=lambda a: " ".join(a.values()))
def test_every_path_ends_in_a_call_of_a_public_function(answers: dict[str, str]) -> None:
    import inspect

    choice = fs.choose_metric(**answers)
    call = ast.parse(choice.call, mode="eval").body
    assert isinstance(call, ast.Call)
    name = ast.unparse(call.func).removeprefix("fs.")
    signature = inspect.signature(getattr(fs, name))
    given = {k.arg: None for k in call.keywords}
    signature.bind(*call.args, **given)
    assert all(hasattr(fs, other.removeprefix("fs.").split("(")[0]) for other in choice.see)
    assert choice.answers == answers
    assert choice.call in str(choice)


def test_a_missing_or_wrong_answer_names_the_question() -> None:
    with pytest.raises(fs.InputError, match="What is there to be judged"):
        fs.choose_metric()
    with pytest.raises(fs.InputError, match="harm.*refused in error"):
        fs.choose_metric(data="decisions", outcome="known", harm="none")
    with pytest.raises(fs.InputError, match="not asked"):
        fs.choose_metric(data="rows", harm="any error")


def test_it_asks_at_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["1", "unknown", "2"])
    shown = []

    def answer(prompt: str) -> str:
        shown.append(prompt.splitlines())
        return next(said)

    monkeypatch.setattr(builtins, "input", answer)
    choice = fs.choose_metric(interactive=True)
    for question, *choices, last in shown:
        assert question.endswith("?")
        assert [line.partition(":")[0] for line in choices] == [
            f"  {k}" for k in range(1, len(choices) + 1)
        ]
        assert last == "> "
    assert choice.call.startswith("fs.demographic_parity_difference(")
