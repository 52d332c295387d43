"""The exact tests of R and Python: one ordering, one nuisance interval, one search, one switch (live R)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairstats.ground.rsession import r_session
from fairstats.numerics.rates.exact import exact_interval, exact_limits, exact_pvalue
from fairstats.numerics.rates.search import STEP
from fairstats.numerics.rates.switch import needs_exact

pytestmark = pytest.mark.r
TABLES = ((3, 12, 8, 15), (1, 1, 0, 300), (0, 3, 380, 400), (9, 9, 3, 10), (30, 40, 6, 9), (5, 12, 5, 12))
NULLS = {"ratio": (0.8, 1.0, 1.25), "difference": (-0.1, 0.0, 0.1)}
