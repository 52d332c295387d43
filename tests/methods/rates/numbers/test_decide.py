"""What a row of numbers asks of its contrast."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fairstats.methods.rates.numbers.contrasts import MeanDifference
from fairstats.methods.rates.numbers.decide import decide_contrast
from fairstats.methods.rates.result import Inference
from fairstats.numerics.means.hall import Moments, Statistics


@dataclass
class CountedContrast:
    """A difference of means that keeps the null values that it was asked for."""

    contrast: MeanDifference
    asked: list[float] = field(default_factory=list)

    @property
    def estimate(self) -> float:
        return self.contrast.estimate

    @property
    def std_error(self) -> float:
        return self.contrast.std_error

    def statistics(self, value: float) -> Statistics:
        self.asked.append(value)
        return self.contrast.statistics(value)

    def limits(self, z: float) -> tuple[float, float]:
        return self.contrast.limits(z)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_statistics_of_a_null_value_are_asked_for_once(alternative: str) -> None:
    """Evidence and tests share them: of areas and quantiles each is the root of a search."""
    group = Moments(mean=1.2, variance=0.01, third=0.0001, size=40)
    reference = Moments(mean=1.0, variance=0.02, third=0.0002, size=30)
    counted = CountedContrast(MeanDifference(group, reference))
    settings = Inference(margin=0.1, alternative=alternative)

    decision = decide_contrast(counted, "difference", settings, (0.95, 0.9), "Hall")

    assert sorted(counted.asked) == [-0.1, 0.0, 0.1]
    # and the tests are those of the contrast itself
    by_alternative = {test.alternative: test.statistic for test in decision.tests}
    assert by_alternative["less"] == counted.contrast.statistics(-0.1).below
    assert by_alternative["greater"] == counted.contrast.statistics(0.1).above
