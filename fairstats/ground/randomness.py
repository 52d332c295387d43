"""One way to take a seed or a generator, and to report the seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.errors import InputError

__all__ = ["as_generator"]


def as_generator(rng: Any) -> tuple[np.random.Generator, int | None]:
    """Generator and the seed to report.

    Parameters
    ----------
    rng : None, int or numpy.random.Generator
        None draws a seed, which is reported so that the run can be repeated; a Generator has none to report.

    Raises
    ------
    InputError
        For anything else.
    """
    if isinstance(rng, np.random.Generator):
        return rng, None
    if rng is None:
        rng = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng)), int(rng)
    raise InputError(
        "rng", got=repr(rng), allowed="None, a non-negative integer or a numpy.random.Generator", cure="rng=1"
    )
