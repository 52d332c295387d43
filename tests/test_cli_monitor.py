"""``fairstats monitor``: one state, months that are added, an alarm by exit code 1.

Witness: `disparate_impact` of all rows at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from fairstats.cli.app import app
from fairstats.results import MonitorResult

BEGIN = ("--group", "sex", "--y-pred", "hired", "--planned", "5000", "--reference", "m")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["monitor", *(str(argument) for argument in arguments)])


def write_month(folder: Path, number: int, rate: float = 0.4, n: int = 600) -> Path:
    rng = np.random.default_rng(number)
    sex = rng.choice(["f", "m"], n)
    chance = np.where(sex == "f", rate, 0.4)
    rows = pd.DataFrame({"sex": sex, "hired": (rng.random(n) < chance).astype(int)})
    path = folder / f"month-{number}.csv"
    rows.to_csv(path, index=False)
    return path


def read_state(path: Path) -> MonitorResult:
    return MonitorResult.from_dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture
def months(tmp_path: Path) -> list[Path]:
    """Three months without a difference, then one with one."""
    return [
        *(write_month(tmp_path, number) for number in (1, 2, 3)),
        write_month(tmp_path, 4, rate=0.1, n=3_000),
    ]


def test_months_are_added_in_any_order_and_the_alarm_is_exit_code_1(months: list[Path]) -> None:
    state = months[0].with_name("state.json")
    first = run(state, months[2], months[0], *BEGIN)
    assert first.exit_code == 0, first.output
    assert "after 2 files: 1,200 rows (2 of the files new)" in first.stdout
    assert run(state, months[1]).exit_code == 0
    alarm = run(state, months[3])
    assert alarm.exit_code == 1, alarm.output
    assert "f against m: violated" in alarm.stdout
    assert "ALARM: a violation was first shown after" in alarm.stdout
    rows = pd.concat([pd.read_csv(month) for month in months])
    at_once = fs.disparate_impact(
        rows["hired"],
        sensitive_features=rows["sex"],
        reference="m",
        method="anytime",
        planned=5_000,
    )
    assert tuple(read_state(state).confidence_interval) == tuple(at_once.confidence_interval)
    assert run(state).exit_code == 1  # where it stands


def test_a_month_is_counted_once(months: list[Path]) -> None:
    state = months[0].with_name("state.json")
    assert run(state, months[0], *BEGIN).exit_code == 0
    before = state.read_bytes()
    again = run(state, months[1], months[0])
    assert again.exit_code == 2
    assert "counted before" in again.output
    assert state.read_bytes() == before
    copy = months[0].with_name("copy.csv")
    copy.write_bytes(months[0].read_bytes())
    assert run(state, copy).exit_code == 2
    write_month(months[0].parent, 1, n=700)
    changed = run(state, months[0])
    assert changed.exit_code == 2
    assert "held other rows" in changed.output


def test_settings_are_fixed_before_the_first_look(months: list[Path]) -> None:
    state = months[0].with_name("state.json")
    assert run(state, months[0], *BEGIN).exit_code == 0
    refused = run(state, months[1], "--planned", "600")
    assert refused.exit_code == 2
    assert "`--planned`: got 600; allowed: 5000" in refused.output
    assert run(state, months[1], *BEGIN).exit_code == 0


@pytest.mark.parametrize(
    ("left_out", "message"), [("--planned", "`--planned`"), ("--group", "`--group`")]
)
def test_a_new_state_needs_what_is_watched(months: list[Path], left_out: str, message: str) -> None:
    at = BEGIN.index(left_out)
    arguments = (*BEGIN[:at], *BEGIN[at + 2 :])
    state = months[0].with_name("state.json")
    done = run(state, months[0], *arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert not state.exists()


@pytest.mark.parametrize("content", ['{"class": "Tally"}', "{", "[]"])
def test_another_file_is_no_state_and_stays(months: list[Path], content: str) -> None:
    other = months[0].with_name("other.json")
    other.write_text(content, encoding="utf-8")
    assert run(other, months[0], *BEGIN).exit_code == 2
    assert other.read_text(encoding="utf-8") == content


def test_a_run_that_is_killed_while_it_writes_leaves_the_state_of_before(
    months: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = months[0].with_name("state.json")
    assert run(state, months[0], *BEGIN).exit_code == 0
    before = state.read_bytes()

    def killed(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        for name in ("replace", "rename", "link"):
            patch.setattr(os, name, killed)
        assert run(state, months[1]).exit_code != 0
    assert state.read_bytes() == before
    assert run(state, months[1]).exit_code == 0
    assert len(read_state(state).files) == 2


def test_a_state_that_another_run_wrote_meanwhile_is_not_replaced(
    months: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fairstats.cli.monitoring as command

    state = months[0].with_name("state.json")
    assert run(state, months[0], *BEGIN).exit_code == 0
    count = command._count_file

    def meanwhile(*arguments: Any) -> Any:
        state.write_text(state.read_text(encoding="utf-8") + " ", encoding="utf-8")
        return count(*arguments)

    monkeypatch.setattr(command, "_count_file", meanwhile)
    done = run(state, months[1])
    assert done.exit_code == 2
    assert "another run wrote meanwhile" in done.output
    assert len(read_state(state).files) == 1


def test_tallies_of_months_are_files_too_and_the_path_goes_to_csv(months: list[Path]) -> None:
    counted = fs.tally(str(months[0]), y_pred="hired", sensitive_features="sex")
    january = months[0].with_name("january.json")
    counted.to_json(january)
    state = months[0].with_name("state.json")
    target = months[0].with_name("path.csv")
    done = run(state, january, months[1], *BEGIN, "--csv", target)
    assert done.exit_code == 0, done.output
    path = pd.read_csv(target)
    assert path["n_rows"].tolist() == [600, 1_200]
    pd.testing.assert_series_equal(path["estimate"], read_state(state).path()["estimate"])


def test_persons_who_return_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    state = tmp_path / "state.json"
    for number, first in ((1, 0), (2, 200), (3, 399)):
        person = np.repeat(np.arange(first, first + 200), 2)
        rows = pd.DataFrame({"person": person, "sex": np.where(person % 2, "f", "m")})
        rows["hired"] = rng.integers(0, 2, 400)
        rows.to_csv(tmp_path / f"{number}.csv", index=False)
    assert run(state, tmp_path / "1.csv", *BEGIN, "--cluster", "person").exit_code == 0
    assert run(state, tmp_path / "2.csv").exit_code == 0
    before = state.read_bytes()
    refused = run(state, tmp_path / "3.csv")
    assert refused.exit_code == 2
    assert "1 of 200 clusters return" in refused.output
    assert state.read_bytes() == before
    exact = run(
        tmp_path / "other.json",
        tmp_path / "1.csv",
        *BEGIN,
        "--cluster",
        "person",
        "--method",
        "anytime-exact",
    )
    assert exact.exit_code == 2
    assert "`--cluster`" in exact.output


def test_the_page_draws_the_path(months: list[Path]) -> None:
    pytest.importorskip("jinja2")
    state = months[0].with_name("state.json")
    page = months[0].with_name("page.html")
    done = run(state, *months, *BEGIN, "--out", page)
    assert done.exit_code == 1, done.output
    text = page.read_text(encoding="utf-8")
    assert "Since when" in text
    assert "limits at every look" in text
    assert "A violation was first shown after" in text
    assert "8 of 10 audits" not in text  # the power of a single look
    alone = months[0].with_name("again.html")
    assert run(state, "--out", alone).exit_code == 1
    assert "Since when" in alone.read_text(encoding="utf-8")


def test_a_process_that_is_killed_leaves_a_whole_state(months: list[Path]) -> None:
    """The process ends itself by SIGKILL within the writing of the state, after the bytes of the
    new one were written beside it.
    """
    state = months[0].with_name("state.json")
    assert run(state, months[0], *BEGIN).exit_code == 0
    before = state.read_bytes()
    program = (
        "import os, signal, sys\n"
        "def end(*arguments, **options):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.replace = os.rename = os.link = end\n"
        "from fairstats.cli.app import app\n"
        "app(sys.argv[1:])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "monitor", str(state), str(months[1])],
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert state.read_bytes() == before
    assert run(state, months[1]).exit_code == 0
    assert len(read_state(state).files) == 2
