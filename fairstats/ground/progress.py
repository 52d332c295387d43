"""Progress bars of long work: the one place that draws them.

A bar is seen where standard error is a terminal and the work has taken two seconds; it goes away
with the work. Files, pipes and notebooks get none. The environment variable ``TQDM_DISABLE=1``
turns them off everywhere. A thread draws, so that a step which lasts a minute has its clock, and
counting a step costs the work nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import shorten
from typing import Any, TypeVar

#: Seconds after which work shows its bar.
DELAY = 2.0
#: Seconds between two looks of the thread that draws.
LOOK_EVERY = 0.25
#: After so many looks at which no work was under way the thread ends.
IDLE_LOOKS = 20
#: Bars seen at a time: work within work within work.
MOST_BARS = 10

Step = TypeVar("Step")


class Work:
    """Something under way: `words` say what, `done` of `total` steps are done.

    `total`: None where steps are not known, and the bar is a clock.
    """

    def __init__(self, words: str, total: int | None) -> None:
        self.words = words
        self.total = total
        self.done = 0
        self._started = time.monotonic()
        self._bar: Any = None
        self._ended = False

    def advance(self, n_steps: int = 1) -> None:
        """So many more steps are done."""
        self.done += n_steps

    def draw(self) -> None:
        """Draw how far it is, once it has taken long enough."""
        if self._ended or time.monotonic() - self._started < DELAY:
            return
        if self._bar is None:
            # loaded where a bar is drawn, by the thread that draws
            from tqdm import tqdm

            width = _terminal_width()
            layout: dict[str, Any] = {}
            if self.total is None:
                layout["bar_format"] = "{desc}: {elapsed}"
            self._bar = tqdm(
                total=self.total,
                desc=shorten(self.words, width // 2, placeholder=" …"),
                leave=False,
                file=sys.stderr,
                ncols=width,
                nrows=MOST_BARS,
                **layout,
            )
            if self._bar.disable:
                self._ended = True
                return
            self._bar.start_t -= time.monotonic() - self._started
        self._bar.n = self.done
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        self._ended = True
        if self._bar is not None:
            self._bar.close()


class _Drawer:
    """The thread that draws all work under way, and ends where there has been none for a while."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Nothing is under way: at first, and in a child process.

        A child by fork has no thread, and perhaps a lock that the thread held.
        """
        self._lock = threading.Lock()
        self._under_way: list[Work] = []
        self._thread: threading.Thread | None = None

    def begin(self, work: Work) -> None:
        """Draw this from now on."""
        with self._lock:
            self._under_way.append(work)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._draw_all, name="fairstats progress", daemon=True
                )
                self._thread.start()

    def end(self, work: Work) -> None:
        """No longer."""
        with self._lock:
            if work in self._under_way:  # a child by fork leaves its parent's work alone
                self._under_way.remove(work)
                work.close()

    def _draw_all(self) -> None:
        idle_looks = 0
        while True:
            time.sleep(LOOK_EVERY)
            with self._lock:
                idle_looks = 0 if self._under_way else idle_looks + 1
                if idle_looks > IDLE_LOOKS:
                    self._thread = None
                    return
                for work in self._under_way:
                    work.draw()


_DRAWER = _Drawer()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_DRAWER.start_anew)


def _terminal_width() -> int:
    """Columns of the terminal behind standard error; 80 where it does not say."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def is_watched() -> bool:
    """Whether somebody looks: standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def under_way(words: str, total: int | None = None, *, shown: bool = True) -> Iterator[Work]:
    """Work with a bar; `advance` of what it gives counts steps.

    `shown`: whether a bar is wanted at all.

    Examples
    --------
    >>> from fairstats.ground.progress import under_way
    >>> with under_way("samples", total=10) as work:
    ...     work.advance(10)
    >>> work.done
    10
    """
    work = Work(words, total)
    if not (shown and is_watched()):
        yield work
        return
    _DRAWER.begin(work)
    try:
        yield work
    finally:
        _DRAWER.end(work)


def each_of(steps: Sequence[Step], words: str, *, shown: bool = True) -> Iterable[Step]:
    """The steps one by one, with a bar.

    Examples
    --------
    >>> from fairstats.ground.progress import each_of
    >>> [step for step in each_of("abc", "letters")]
    ['a', 'b', 'c']
    """
    # calls of microseconds go through here
    if not (shown and is_watched()):
        return steps
    return _with_bar(steps, words)


def _with_bar(steps: Sequence[Step], words: str) -> Iterator[Step]:
    with under_way(words, total=len(steps)) as work:
        for step in steps:
            yield step
            work.advance()
