"""Damaged JSON: a report that can be shown, or one error of ours; never another library's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import FairstatsError, InputError
from fairstats.ground.results import Result
from fairstats.ground.serialise import DEEPEST, decode, encode, fits, parse_json
from fairstats.report.packed import unpack
from fairstats.report.report import AuditReport

pytest.importorskip("typer")

from typer.testing import CliRunner

from fairstats.cli import app as cli


@pytest.fixture(scope="module")
def written() -> str:
    """A small report with rates, an area between curves and MADD, as JSON."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    sex = np.repeat(["f", "m"], 30)
    table = pd.DataFrame({"y": y, "hat": rng.integers(0, 2, 60), "sex": sex})
    table["score"] = np.clip(rng.normal(0.4 + 0.2 * y, 0.2), 0, 1).round(1)
    names = {"y_true": "y", "y_pred": "hat", "score": "score", "sensitive_features": "sex"}
    data = unpack(json.loads(fs.audit(table, **names, n_resamples=100, rng=1).json_text()))  # type: ignore[arg-type]
    del data["table"]  # which no reader of ours looks at
    return json.dumps(data)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every part."""
    yield path
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


ODD = [
    None,
    True,
    -1,
    3,
    10**39,
    1e308,
    -2.5,
    "",
    "x",
    "NaN",
    [],
    [[]],
    [1, "a"],
    {},
    {"class": "Interval"},
    {"class": ["x"]},
    {"float": "no"},
    {"float": []},
    {"mapping": []},
    {"array": [1, [2]], "dtype": "float64", "shape": [2]},
    {"array": [1, 2], "dtype": "int64", "shape": [3]},
    {"array": [1.5], "dtype": "int64", "shape": [1]},
    {"array": ["a"], "dtype": "float64", "shape": [1]},
    {"array": [1], "dtype": "V8", "shape": [1]},
    {"array": [300], "dtype": "int8", "shape": [1]},
    {"array": [], "dtype": "float64", "shape": [10**15]},
    {"array": {"mapping": {}}, "dtype": "object", "shape": []},
]


def changed(written: str, path: tuple[Any, ...], how: str, value: Any) -> Any:
    """The report with one part replaced, left out or doubled."""
    holder = data = json.loads(written)
    if not path:
        return value
    for key in path[:-1]:
        holder = holder[key]
    if how == "drop":
        del holder[path[-1]]
    elif how == "double" and isinstance(holder, list):
        holder.insert(path[-1], holder[path[-1]])
    else:
        holder[path[-1]] = value
    return data


@pytest.mark.parametrize("cases", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_a_changed_report_is_read_or_refused(written: str, cases: int) -> None:
    rng = np.random.default_rng(cases)
    every = list(places(json.loads(written)))
    for _ in range(cases):
        path = every[rng.integers(len(every))]
        how = ("drop", "double", "replace")[rng.integers(3)]
        damaged = changed(written, path, how, ODD[rng.integers(len(ODD))])
        try:
            read = AuditReport.from_dict(
                parse_json(json.dumps(damaged), "report", "a text", "a report")
            )
            assert read.summary()
        except FairstatsError:
            continue
        except Exception as problem:
            problem.add_note(f"{how} {path}")
            raise


#: Text of a file → what the one line says.
FILES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "cannot be read as JSON"),
    "torn": ('{"class": "AuditReport", "title": "A', "cannot be read as JSON"),
    "a number": ("3", "with a int"),
    "a list": ("[1, 2]", "with a list"),
    "no text": (b"\xff\xfe\x00", "cannot be read as JSON"),
    "nested": ("[" * 100_000 + "]" * 100_000, "too many levels"),
    "nested less": ('{"a": ' * 200 + "1" + "}" * 200, f"more than {DEEPEST} levels"),
    "a number of many digits": ('{"a": ' + "9" * 5000 + "}", "a whole number of 5000 digits"),
    "a number beyond floats": ('{"a": 1e999}', "the number 1e999"),
    "not a number": ('{"a": NaN}', "the number NaN"),
    "no report": ('{"class": "Interval"}', "Interval"),
    "another class": ('{"class": "Novelty", "a": 1}', "'Novelty'"),
    "a class that is none": ('{"class": ["Interval"]}', "of type ['Interval']"),
    "a tally": ('{"class": "Tally"}', "Tally"),
}


@pytest.mark.parametrize("command", ["crosscheck", "audit"])
@pytest.mark.parametrize("case", FILES)
def test_damaged_files_are_one_line_and_code_2(tmp_path: Path, case: str, command: str) -> None:
    text, said = FILES[case]
    path = tmp_path / "r.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = CliRunner().invoke(cli.app, [command, str(path)])
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert said in done.stderr
    assert len(done.stderr) < 2000


def test_no_file(tmp_path: Path) -> None:
    for command in ("crosscheck", "audit"):
        done = CliRunner().invoke(cli.app, [command, str(tmp_path / "none.json")])
        assert done.exit_code == 2
        assert "cannot be read (No such file" in done.stderr


def test_parts_that_do_not_fit_together_are_no_disagreement(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recompute(*given: Any, **more: Any) -> None:
        raise IndexError("index 2 is out of bounds")

    monkeypatch.setattr("fairstats.report.crosscheck.run.crosscheck", recompute)
    path = tmp_path / "r.json"
    path.write_text(written, encoding="utf-8")
    done = CliRunner().invoke(cli.app, ["crosscheck", str(path)])
    assert done.exit_code == 2
    assert "whose parts do not fit together (IndexError: index 2 is out of bounds)" in done.stderr


TYPES: dict[str, tuple[Any, str, bool]] = {
    "a float": (0.5, "float", True),
    "a whole float": (1, "float", True),
    "a truth value is no float": (True, "float", False),
    "text is no float": ("1", "float", False),
    "a truth value is no number": (True, "int", False),
    "none where it may be": (None, "float | None", True),
    "none where it may not": (None, "str", False),
    "a tuple": ((1.0, 2.0), "tuple[float, ...]", True),
    "a tuple with text": ((1.0, "a"), "tuple[float, ...]", False),
    "a pair": (("a", "b"), "tuple[str, str]", True),
    "a pair of three": (("a", "b", "c"), "tuple[str, str]", False),
    "a mapping": ({"a": 1.0}, "dict[str, float]", True),
    "a mapping with text": ({"a": "b"}, "dict[str, float]", False),
    "an array": (np.zeros(2), "NDArray[np.float64] | None", True),
    "a list is no array": ((0.0,), "NDArray[np.float64]", False),
    "a class": (fs.results.Interval(0, 1, 0.95, ""), "Interval", True),
    "another class": (fs.results.HypothesisTest("", "", 0, 0, ""), "Interval", False),
    "anything": (object(), "Any", True),
}


@pytest.mark.parametrize("case", TYPES)
def test_types_of_fields(case: str) -> None:
    value, declared, fine = TYPES[case]
    assert fits(value, declared, vars(fs.results)) is fine


def test_a_field_of_another_type_is_named() -> None:
    told = encode(fs.results.Interval(0.0, 1.0, 0.95, "score"))
    with pytest.raises(InputError, match="Interval whose high is 'much', of type str"):
        decode({**told, "high": "much"})


@pytest.mark.parametrize(
    "make", [lambda: fs.disparate_impact(counts={"a": (20, 30), "b": (25, 25)})]
)
def test_sound_results_pass(make: Callable[[], Result]) -> None:
    result = make()
    again = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.to_dict() == result.to_dict()


def test_a_threshold_that_separates_nothing_is_refused(written: str) -> None:
    """Case C3: such a report was read, and raised another library's error when it was shown."""
    data = json.loads(written)
    settings = [path for path in places(data) if path and path[-1] == "threshold"]
    assert settings
    for path in settings:
        damaged = changed(written, path, "replace", 0)
        with pytest.raises(InputError, match="threshold"):
            AuditReport.from_dict(damaged)


#: Part of a tally → how it is cut or spoiled → what the error names.
CUTS: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "cells without a group": (
        ("cells", "totals"),
        {"array": [[1.0, 2.0, 3.0, 4.0]], "dtype": "float64"},
        "totals",
    ),
    "rows of no table": (("cells", "rows"), {"array": [3, 4], "dtype": "int64"}, "rows"),
    "negative rows": (("cells", "rows", "array", 0, 0), -3, "rows"),
    "scores beyond 1": (("scores", "values", "array", 0), 7.5, "order"),
    "scores of another shape": (("scores", "counts", "array", 0), [[1], [2]], "counts|array"),
    "a level more": (("levels",), [["f"], ["m"], ["x"]], "groups"),
    "negative numbers of values": (("tails", "numbers", 0, "array", 0), -1, "numbers"),
    "features without levels": (("distinct", "levels"), [], "levels"),
    "a group that is none": (("distinct", "group", "array", 0), 9, "group"),
    "a confidence level": (("cells", "missing", "n_rows"), -1, "n_rows"),
}


@pytest.mark.parametrize("case", CUTS)
def test_a_tally_with_cut_fields_is_refused(case: str) -> None:
    """Case C3, field by field: a tally that can be read can be used."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"y": rng.integers(0, 2, 60), "hat": rng.integers(0, 2, 60), "sex": ["f", "m"] * 30}
    )
    table["score"] = rng.random(60).round(2)
    table["changed"] = rng.random(60).round(2)
    table["age"] = rng.integers(20, 25, 60)
    counted = fs.tally(
        table,
        y_true="y",
        y_pred="hat",
        score="score",
        counterfactual_score="changed",
        features=["age"],
        sensitive_features="sex",
    )
    data = json.loads(counted.to_json(exact=True))
    path, value, named = CUTS[case]
    if isinstance(value, dict):
        value = {**value, "shape": list(np.shape(value["array"]))}
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(InputError, match=named):
        decode(data)
