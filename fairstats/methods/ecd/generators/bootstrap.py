"""Smoothed bootstrap: observed rows, with kernel noise on their numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fairstats.ground.errors import InputError
from fairstats.ground.randomness import as_generator
from fairstats.methods.ecd.generators.columns import Column, as_columns, as_people
from fairstats.numerics.evt.checks import as_count

__all__ = ["SmoothedBootstrap"]


@dataclass
class SmoothedBootstrap:
    """Rows drawn with replacement; numbers x become m + (x − m + h·ε)/√(1 + h²), cut to the observed range.

    ε is normal with the covariance of the numeric columns, so that their means and covariances are kept.
    Categories stay as they are: every combination of them was observed.

    Parameters
    ----------
    bandwidth : float, optional
        h, in standard deviations. Default: Silverman's (4/((d + 2)·n))^(1/(d + 4)), d numeric columns.
    rng : None, int or Generator

    References
    ----------
    Silverman, B. W., Young, G. A. (1987). The bootstrap: to smooth or not to smooth? Biometrika 74, 469–479.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairstats.methods.ecd.generators.bootstrap import SmoothedBootstrap
    >>> people = pd.DataFrame({"age": [31.5, 44.0, 52.5, 60.0], "sex": ["F", "M", "F", "M"]})
    >>> SmoothedBootstrap(rng=1).fit(people).sample(3).shape
    (3, 2)
    """

    bandwidth: float | None = None
    rng: Any = None
    _columns: list[Column] = field(default_factory=list, init=False, repr=False)
    _n: int = field(default=0, init=False, repr=False)

    def fit(self, frame: Any) -> SmoothedBootstrap:
        """Keep the rows.

        Parameters
        ----------
        frame : DataFrame, shape (n, p)

        Raises
        ------
        InputError
            No frame, fewer than two rows, missing values, a bandwidth below 0.
        """
        people = as_people(frame, "frame")
        if self.bandwidth is not None and not 0 <= self.bandwidth < np.inf:
            raise InputError(
                "bandwidth", got=repr(self.bandwidth), allowed="a number of at least 0", cure="None"
            )
        self._generator, _ = as_generator(self.rng)
        self._columns, self._n = as_columns(people), len(people)
        return self

    def _noise(self, count: int) -> list[np.ndarray[Any, Any]]:
        """Normal noise with the covariance of the numeric columns, one array per column."""
        numeric = [c.numbers for c in self._columns if c.kind in ("whole", "real")]
        if not numeric:
            return []
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(np.vstack(numeric))))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return list(root @ self._generator.standard_normal((len(numeric), count)))

    def sample(self, n: int) -> pd.DataFrame:
        """Synthetic rows, shape (n, p), with the columns and types of the frame."""
        count = as_count("n", n, least=1)
        if not self._n:
            raise RuntimeError("fit comes before sample")
        rows = self._generator.integers(0, self._n, count)
        numeric = sum(c.kind in ("whole", "real") for c in self._columns)
        h = self.bandwidth
        if h is None:
            h = (4 / ((numeric + 2) * self._n)) ** (1 / (numeric + 4))
        made, noise = {}, self._noise(count)
        for column in self._columns:
            if column.kind not in ("whole", "real"):
                made[column.name] = column.finish(column.at(rows))
                continue
            x = column.numbers
            smooth = x.mean() + (x[rows] - x.mean() + h * noise.pop(0)) / np.sqrt(1 + h * h)
            made[column.name] = column.finish(np.clip(smooth, x.min(), x.max()))
        return pd.DataFrame(made, columns=[c.name for c in self._columns])
