"""Progress bars: seen on a terminal where work takes long, and nowhere else.

The terminal is a pseudo-terminal that a child process has as standard error.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fairstats as fs
from fairstats.ground import progress
from tests.fuzz.calls import calls

pty = pytest.importorskip("pty", reason="pseudo-terminals are POSIX's")

#: Work of .6 s in three steps within work of unknown length, where a bar is due after .2 s.
_LONG = """
import time
from fairstats.ground import progress
progress.DELAY = 0.2
progress.LOOK_EVERY = 0.05
with progress.under_way("the whole"):
    for step in progress.each_of(range(3), "the steps"{further}):
        time.sleep(0.2)
print("done")
"""

#: Public functions that open no bar, and why they need none.
QUICK = {
    "tally_sql": "writes a query",
    "ConfusionCounts.from_counts": "a few counts",
    "use_backend": "remembers a name",
    "crosscheck": "what the fuzz passes is refused; bars are tested with a report below",
    "make_scorer": "makes a function",
    "rates.interval": "formulas over arrays: 10^6 in a second",
    "rates.contrast_interval": "formulas over arrays: 10^6 in a second",
    "rates.pvalue": "formulas over arrays: 10^6 in a second",
    "rates.stratified": "formulas over a table",
    "choose_metric": "questions and answers",
    "stable_bandwidth": "reads a curve",
    "rank_rules": "means of a table",
    "select_model": "means of a table",
    "um_multiclass": "draws when it is asked for them, with a bar",
    "evt.fit_gpd": "Newton steps over exceedances: .2 s for 10^6",
    "evt.fit_gpd by covariates": "Newton steps over exceedances",
    "evt.fit_gev": "Newton steps over maxima",
    "evt.fit_gev by covariates": "Newton steps over maxima",
    "evt.fit_point_process": "Newton steps over exceedances",
    "evt.choose_threshold": "what the fuzz passes is refused; tested below",
    "evt.extremal_index": "one pass over the series",
    "evt.decluster": "one pass over the series",
    "evt.exponentiality_test": "sums over exceedances",
    "evt.empirical_return_level": "a quantile",
    "evt.mean_residual_life": "cumulated sums",
    "evt.tail_type": "two fits",
    "evt.threshold_stability": "a fit per threshold, 20 of them",
}


def _error_output(code: str, *, terminal: bool, **environment: str) -> str:
    """What a child process writes to standard error, a terminal or a pipe."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stderr=theirs if terminal else subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    os.close(theirs)
    received = b""
    if terminal:
        for block in _blocks(ours):
            received += block
    stdout, stderr = child.communicate(timeout=60)
    os.close(ours)
    assert child.returncode == 0
    assert stdout.endswith("done\n")
    return received.decode() if terminal else stderr


def _blocks(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            block = os.read(terminal, 65_536)
        except OSError:  # what Linux answers once the child is gone
            return
        if not block:
            return
        yield block


def test_long_work_shows_a_bar_and_a_clock_on_a_terminal_and_takes_them_away() -> None:
    shown = _error_output(_LONG.format(further=""), terminal=True)
    assert re.search(r"the whole: 00:0\d", shown)
    assert re.search(r"the steps: +\d+%\|.*\| [123]/3 \[00:0\d", shown)
    # the last thing written to each line is blanks
    assert not shown.rsplit("\r", 2)[1].strip()


def test_nothing_is_written_where_nothing_is_a_terminal() -> None:
    assert _error_output(_LONG.format(further=""), terminal=False) == ""


def test_the_switch_of_tqdm_turns_bars_off() -> None:
    assert _error_output(_LONG.format(further=""), terminal=True, TQDM_DISABLE="1") == ""


def test_no_bar_where_none_is_wanted() -> None:
    shown = _error_output(_LONG.format(further=", shown=False"), terminal=True)
    assert "the whole" in shown
    assert "the steps" not in shown


def test_quick_work_shows_nothing() -> None:
    quick = _LONG.format(further="").replace("DELAY = 0.2", f"DELAY = {progress.DELAY}")
    assert _error_output(quick, terminal=True) == ""
    assert progress.DELAY == 2.0


def test_a_call_of_the_package_shows_its_bar() -> None:
    """The bar of permutations, of a public function as it is called."""
    code = """
import numpy as np
import fairstats as fs
from fairstats.ground import progress
progress.DELAY = 0.02
progress.LOOK_EVERY = 0.01
rng = np.random.default_rng(1)
y = rng.integers(0, 2, 200)
X = rng.random((200, 3))
fs.hfm(X, y, y, sensitive_features=np.arange(200) % 2, n_resamples=999, n_subsamples=0, rng=1)
print("done")
"""
    assert "HFM" in _error_output(code, terminal=True)


def test_work_that_fails_takes_its_bar_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    n_under_way = []

    @progress.under_way("in vain")
    def fail() -> None:
        n_under_way.append(len(progress._DRAWER._under_way))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert n_under_way == [1]
    assert progress._DRAWER._under_way == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes fork on POSIX")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # what is tested
def test_a_child_by_fork_has_bars_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that forks while the thread holds the lock, which would never be given back."""
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    with progress.under_way("of the parent"), progress._DRAWER._lock:
        child = os.fork()
        if child == 0:
            with progress.under_way("of the child"):
                n_under_way = len(progress._DRAWER._under_way)
            os._exit(10 + n_under_way)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 11


def test_steps_are_those_given_and_are_counted() -> None:
    with progress.under_way("steps", total=5) as work:
        work.advance(2)
        work.advance()
    assert (work.done, work.total) == (3, 5)
    assert list(progress.each_of([3, 1, 2], "numbers")) == [3, 1, 2]


def _words_of_bars(monkeypatch: pytest.MonkeyPatch, call: Any) -> list[str]:
    """Words of all bars that a call would show if it took long."""
    words = []

    class Recorded(progress.Work):
        def __init__(self, work_words: str, total: int | None) -> None:
            words.append(work_words)
            super().__init__(work_words, total)

    with monkeypatch.context() as patched:
        patched.setattr(progress, "Work", Recorded)
        patched.setattr(progress, "is_watched", lambda: True)
        patched.setattr(progress, "DELAY", 1e9)
        call()
    return words


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_public_function_has_a_bar_or_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could take long shows that it works; what is listed as quick shows nothing."""
    without = set()
    for name, call in calls().items():
        if name == "um_model":
            continue  # loads PyMC with a bar, in some ten seconds

        def answer(call: Any = call) -> None:
            arguments = dict(call.good)
            arguments.pop("progress", None)  # as users call it
            # what is refused is in the list, with that reason
            with contextlib.suppress(fs.FairstatsError):
                call.function(**arguments)

        if not _words_of_bars(monkeypatch, answer):
            without.add(name)
    assert without == QUICK.keys()


def test_a_choice_of_thresholds_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    series = np.random.default_rng(1).exponential(size=300)
    found = _words_of_bars(
        monkeypatch, lambda: fs.evt.choose_threshold(series, n_resamples=19, n_thresholds=2, rng=1)
    )
    assert "thresholds" in found
