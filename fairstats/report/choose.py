"""`choose_metric`: a decision tree from what one has and wants to know to the call to make."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fairstats.ground.checks import check_choice, check_flag


@dataclass(frozen=True)
class MetricChoice:
    """Where the tree ended.

    `answers`: question → answer, in the order asked; `call`: the call to make; `why`: what it
    measures, and what speaks against it; `see`: other calls for the same case.
    """

    answers: dict[str, str]
    call: str
    why: str
    see: tuple[str, ...] = ()

    def __str__(self) -> str:
        path = "; ".join(f"{question}: {answer}" for question, answer in self.answers.items())
        if self.see:
            also = f"\nSee also: {', '.join(self.see)}."
        else:
            also = ""
        return f"{self.call}\n{self.why}{also}\n({path})"


def choose_metric(*, interactive: bool = False, **answers: str) -> MetricChoice:
    """The metric for a case, and the call that computes it with its interval.

    Parameters
    ----------
    interactive : bool, default False
        Ask at the console for what is not answered.
    **answers
        Answers by question: ``data`` ("decisions", "scores", "rows", "models", "counterfactuals",
        "employment"), and what each answer asks next; an error names question and possible answers.

    Returns
    -------
    MetricChoice
        Prints as the call and the reason.

    Raises
    ------
    InputError
        Where an answer is missing or none of those possible.

    Notes
    -----
    After the tree of jfa (Derks, fairness_selection): which quantity should be alike between groups
    depends on whether outcomes are known and on whom an error harms, and no statistic decides that.

    Examples
    --------
    >>> import fairstats as fs
    >>> print(fs.choose_metric(data="decisions", outcome="known", harm="refused in error").call)
    fs.equal_opportunity_difference(y_true, y_pred, sensitive_features=group)
    """
    check_flag("interactive", interactive)
    known_answers = dict(answers)
    chosen = {}
    at = _load_tree()
    while "question" in at:
        name = at["name"]
        choices = tuple(at["answers"])
        answer: Any = known_answers.pop(name, None)
        if answer is None and interactive:
            answer = _ask_reader(at["question"], choices, input)
        check_choice(
            name, answer, choices, cure=f"{at['question']} choose_metric({name}={choices[0]!r}, …)"
        )
        chosen[name] = answer
        at = at["answers"][answer]
    for name in known_answers:
        check_choice("answers", name, tuple(chosen), cure="leave it out: it is not asked here")
    return MetricChoice(
        answers=chosen, call=at["call"], why=at["why"], see=tuple(at.get("see", ()))
    )


def _load_tree() -> Any:
    with files("fairstats.report").joinpath("choose.toml").open("rb") as stream:
        nodes = tomllib.load(stream)

    def grown(name: str) -> Any:
        node = nodes[name]
        if "question" not in node:
            return node
        below = {answer: grown(target) for answer, target in node["answers"].items()}
        return {"name": node.get("name", name), "question": node["question"], "answers": below}

    return grown("data")


def _ask_reader(question: str, choices: tuple[str, ...], ask: Callable[[str], str]) -> str:
    """The answer to a question at the console, by its number or its text."""
    choices_listed = "\n".join(f"  {k}: {choice}" for k, choice in enumerate(choices, start=1))
    reply = ask(f"{question}\n{choices_listed}\n> ").strip()
    if reply.isdigit() and 0 < int(reply) <= len(choices):
        return choices[int(reply) - 1]
    return reply
