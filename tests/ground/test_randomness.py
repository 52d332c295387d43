"""One way to take a seed."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.ground.checks import as_generator
from fairstats.ground.errors import InputError


def test_a_seed_is_reported_and_repeats() -> None:
    first, seed = as_generator(7)
    assert seed == 7
    assert first.random() == np.random.default_rng(7).random()


def test_none_draws_a_seed_that_repeats_the_run() -> None:
    generator, seed = as_generator(None)
    assert seed is not None
    again, _ = as_generator(seed)
    assert generator.random() == again.random()
    assert as_generator(None)[1] != seed


def test_a_generator_is_used_as_it_is() -> None:
    rng = np.random.default_rng(3)
    generator, seed = as_generator(rng)
    assert generator is rng
    assert seed is None


@pytest.mark.parametrize(
    "rng",
    ["x", -1, 1.5, True, np.random.RandomState(1), [1]],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_refused(rng: object) -> None:
    with pytest.raises(InputError, match="`rng`: got"):
        as_generator(rng)


def test_the_global_generator_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    as_generator(None)
    as_generator(5)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # type: ignore[index]  # noqa: NPY002
