"""A case of the fuzz tests: good arguments, one to three of them spoiled, and what is wrong with
the answer.

Which arguments are spoiled, and by what, follows from the number of the case, so that a failure is
repeated by its number."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import fairstats as fs
from fairstats.ground.errors import FairstatsError, FairstatsWarning
from tests.fuzz.calls import Call
from tests.fuzz.odd import odd_value

#: Seconds that a call may take on a machine that does other things, too.
LIMIT = 20.0


class HangError(Exception):
    """A call took longer than `LIMIT`."""


@contextmanager
def limits() -> Iterator[None]:
    """An alarm for every call, SciPy for all numbers (R would start), and both as before at the
    end.
    """

    def ring(signum: int, frame: Any) -> None:
        raise HangError(f"no answer within {LIMIT:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    with fs.use_backend("scipy"):
        yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def spoiled(call: Call, random: Random) -> tuple[dict[str, Any], str]:
    """The arguments of a case, and what was spoiled."""
    arguments = dict(call.good)
    names = [random.choice(call.always)] if call.always else []
    wanted = random.choices((1, 2, 3), (70, 22, 8))[0]
    names += random.sample(list(arguments), min(wanted, len(arguments)))
    told = []
    for name in dict.fromkeys(names[:wanted]):
        what, arguments[name] = odd_value(random, arguments[name])
        told.append(f"{name}: {what}")
    return arguments, ", ".join(told)


def fault_of(name: str, call: Call, number: int) -> str | None:
    """What is wrong with what a case did; None where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that make odd values
        arguments, told = spoiled(call, Random(f"{name} {number}"))  # noqa: S311  # chance, no secret
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            call.function(**arguments)
        except FairstatsError:
            pass
        except Exception as problem:  # noqa: BLE001  # any other is what this test looks for
            return f"[{number}] {told}: {type(problem).__name__}: {problem}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            close_figures()
    others = [w for w in caught if not issubclass(w.category, FairstatsWarning)]
    return (
        f"[{number}] {told}: warned {others[0].category.__name__}: {others[0].message}"
        if others
        else None
    )


def close_figures() -> None:
    """matplotlib warns of more than 20 open figures, which the call that comes next is not to blame
    for.
    """
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def faults(calls: Mapping[str, Call], cases: int) -> list[str]:
    """The faults of so many cases of these calls, each with its share."""
    total = sum(call.weight for call in calls.values())
    found = []
    for name, call in calls.items():
        share = max(int(cases * call.weight / total + 0.5), 1)
        found += [
            f"{name} {fault}" for number in range(share) if (fault := fault_of(name, call, number))
        ]
    return found
