"""Perturbed twins: functions of the project's R code replaced for a while in the running R."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

Perturb = Callable[[str, str], AbstractContextManager[None]]


@pytest.fixture
def perturbed() -> Perturb:
    """``with perturbed("name", "function(...) …")``: the twin `name` is that code within the block.

    ``original(...)`` in the code calls what it replaces.
    """
    from fairstats.ground import rsession

    @contextmanager
    def replace(name: str, code: str) -> Iterator[None]:
        rsession.call("base::sum", 1.0)  # starts R
        session = rsession._running_session()
        swap = session.ri.evalr(
            "function(home, name, code) {\n"
            "  original <- get(name, envir = home)\n"
            "  inner <- new.env(parent = home)\n"
            "  assign('original', original, envir = inner)\n"
            "  assign(name, eval(str2lang(code), inner), envir = home)\n"
            "  original\n"
            "}"
        )
        back = session.ri.evalr(
            "function(home, name, value) { assign(name, value, envir = home); NULL }"
        )
        text = session.ri.StrSexpVector([name])
        before = swap(session.home, text, session.ri.StrSexpVector([code]))
        try:
            yield
        finally:
            back(session.home, text, before)

    return replace
