"""The result of an HFM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.entries import JOINT, HfmEntry

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["HfmResult"]

_QUANTITIES = ("D", "D_f", "HFM")
_METRICS = ("hfm_distance_labels", "hfm_distance_predictions", "hfm")


@serialisable
@dataclass(frozen=True)
class HfmResult(Result):
    """D, D_f and HFM of every sensitive attribute and value.

    Attributes
    ----------
    entries : tuple of HfmEntry
        Values of each attribute, the maximum over them, and last the maximum over attributes.
    statistic : "max", "mean" or float
    columns : tuple of str
        Coordinates of the rows after encoding, without the label.
    label_levels : tuple of str
    n : int
        Rows.
    scale : {"minmax", "none"}
    left_out : tuple of str
        Columns of X that were left out because they are sensitive attributes.
    constant : tuple of str
        Columns with a single value: they add nothing.
    n_resamples, n_subsamples : int
        Of the tests and of the stability ranges; 0 where none were made.
    seed : int or None
    """

    title: ClassVar[str] = "HFM: what a classifier adds to the distance between groups"

    entries: tuple[HfmEntry, ...]
    statistic: str | float
    columns: tuple[str, ...]
    label_levels: tuple[str, ...]
    n: int
    scale: str
    left_out: tuple[str, ...]
    constant: tuple[str, ...]
    n_resamples: int
    n_subsamples: int
    seed: int | None

    @property
    def overall(self) -> HfmEntry:
        """The entry that sums up: the maximum over attributes, or over values, or the only one."""
        return self.entries[-1]

    @property
    def d(self) -> float:
        """D(S0, S1) of `overall`."""
        return self.overall.d

    @property
    def d_f(self) -> float:
        """D_f(S0, S1) of `overall`."""
        return self.overall.d_f

    @property
    def hfm(self) -> float:
        """HFM of `overall`."""
        return self.overall.hfm

    def entry(self, attribute: str, group: str | None = None) -> HfmEntry:
        """The entry of an attribute (its maximum over values), or of one value of it.

        Raises
        ------
        InputError
            If there is none.
        """
        from fairstats.ground.errors import InputError

        own = [e for e in self.entries if e.attribute == attribute]
        found = [e for e in own if group is None or group in (e.group, e.reference)]
        if not found:
            raise InputError(
                "attribute" if not own else "group",
                got=repr(attribute if not own else group),
                allowed=", ".join(
                    repr(v)
                    for v in dict.fromkeys(e.group if own else e.attribute for e in own or self.entries)
                ),
                cure="name one of them",
            )
        exact = [e for e in found if e.group == group]
        return exact[0] if exact else found[-1]

    def rows(self) -> list[dict[str, Any]]:
        """Three rows per entry: D, D_f, HFM."""
        return [self._row(entry, k) for entry in self.entries for k in range(3)]

    def _row(self, entry: HfmEntry, k: int) -> dict[str, Any]:
        distance = (entry.distance, entry.distance_f, None)[k]
        pair = (distance.witnesses if distance is not None else None) or (None, None)
        test = entry.tests[k] if entry.tests else None
        stable = [s for s in entry.stability if s.quantity == _QUANTITIES[k]]
        return {
            "metric": _METRICS[k],
            "group": entry.group,
            "reference": entry.reference,
            "estimate": (entry.d, entry.d_f, entry.hfm)[k],
            "statistic": test.statistic if test else float("nan"),
            "pvalue": test.pvalue if test else float("nan"),
            "pvalue_adjusted": entry.pvalues_adjusted[k] if entry.pvalues_adjusted else float("nan"),
            "n": entry.n + entry.n_reference,
            "method": f"exact set distances ({self.statistic})",
            "backend": "numpy",
            "attribute": entry.attribute,
            "stability_low": stable[0].low if stable else float("nan"),
            "stability_high": stable[0].high if stable else float("nan"),
            "row_group": pair[0],
            "row_reference": pair[1],
        }

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """What says something, in a readable order."""
        hidden = {"backend", "method", "statistic"}
        shown = [c for c in frame.columns if c not in hidden and not frame[c].isna().all()]
        return ["attribute", *(c for c in shown if c != "attribute")]

    def witnesses(self) -> pd.DataFrame:
        """The rows that drive each distance, by label.

        Returns
        -------
        DataFrame
            Columns `attribute`, `group`, `reference`, `quantity` ("D", "D_f"), `direction` ("group to
            reference" or back), `row`, `nearest`, `distance`, `attains` (whether it is the larger direction).
            Empty for the mean, which no row attains.
        """
        import pandas as pd

        rows = []
        for entry in self.entries:
            if entry.is_maximum:
                continue
            for quantity, found in (("D", entry.distance), ("D_f", entry.distance_f)):
                for name, directed in (
                    ("group to reference", found.a_to_b),
                    ("reference to group", found.b_to_a),
                ):
                    if directed.row is not None:
                        rows.append(
                            {
                                "attribute": entry.attribute,
                                "group": entry.group,
                                "reference": entry.reference,
                                "quantity": quantity,
                                "direction": name,
                                "row": directed.row,
                                "nearest": directed.nearest,
                                "distance": directed.value,
                                "attains": directed.value == found.value,
                            }
                        )
        names = [
            "attribute",
            "group",
            "reference",
            "quantity",
            "direction",
            "row",
            "nearest",
            "distance",
            "attains",
        ]
        return pd.DataFrame(rows, columns=names)

    def stability(self) -> pd.DataFrame:
        """Quantiles of D, D_f and HFM over subsamples of two sizes, with the drift; no confidence is claimed.

        Returns
        -------
        DataFrame
            Columns `attribute`, `group`, `reference`, `quantity`, `share`, `low` (5%), `median`, `high`
            (95%), `drift`, `n_subsamples`.
        """
        import pandas as pd

        names = ["quantity", "share", "low", "median", "high", "drift", "n_subsamples"]
        rows = [
            {
                "attribute": entry.attribute,
                "group": entry.group,
                "reference": entry.reference,
                **{name: getattr(found, name) for name in names},
            }
            for entry in self.entries
            for found in entry.stability
        ]
        return pd.DataFrame(rows, columns=["attribute", "group", "reference", *names])

    def notes(self) -> list[str]:
        """Settings, what was left out, and how far the figures reach."""
        found = [
            f"{self.n:,} rows in {len(self.columns)} coordinates and the label ({self.scale} scale); "
            f"statistic {self.statistic}. D_f is D with predictions in place of labels; HFM = D_f/D − 1."
        ]
        if self.left_out:
            found.append("Left out of the features as sensitive: " + ", ".join(self.left_out) + ".")
        if self.constant:
            found.append("Constant, so without influence: " + ", ".join(self.constant) + ".")
        if self.statistic == "max":
            found.append(
                "The maximum is decided by single rows (see witnesses()): it is highly sensitive to the "
                "instances used, and has no confidence interval."
            )
        if self.n_resamples:
            found.append(
                f"Tests with {self.n_resamples:,} resamples"
                + ("" if self.seed is None else f" (seed {self.seed})")
                + ": sensitive values permuted among rows for D and D_f (groups no further apart than "
                "random), y and ŷ exchanged within rows for HFM (the classifier adds no distance); adjusted "
                "by Holm over values."
            )
        else:
            found.append("No tests were made; pass n_resamples=199 for them.")
        if self.n_subsamples:
            found.append(
                f"Stability: 5% and 95% quantiles over {self.n_subsamples:,} subsamples of 80% of the rows, "
                "no confidence range; stability() also has 40% and the drift."
            )
        return found

    def plot(self, ax: Axes | None = None) -> Axes:
        """HFM of every entry with its stability range; see `fairstats.plots.hfm.plot_hfm`."""
        from fairstats.plots.hfm import plot_hfm

        return plot_hfm(self, ax=ax)

    @property
    def is_joint(self) -> bool:
        """Whether several attributes were given."""
        return any(entry.attribute == JOINT for entry in self.entries)
