"""What an error about an argument must say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairstats.ground.errors import InputError


def check_refusal(call: Callable[[], Any], argument: str, words: str) -> None:
    """An `InputError` that names the argument, holds these words, and tells the cure."""
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.argument == argument
    assert words in str(refusal.value)
    assert refusal.value.cure
