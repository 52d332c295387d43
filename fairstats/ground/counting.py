"""From rows to a tally: the columns of a frame, counted once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from fairstats.ground.columns import count_columns
from fairstats.ground.tally import Tally


def tally(
    frame: Any,
    *,
    sensitive_features: str | Sequence[str],
    y_true: str | None = None,
    y_pred: str | None = None,
    y_pred_b: str | None = None,
    score: str | None = None,
    counterfactual_score: str | None = None,
    features: Sequence[str] = (),
    strata: str | None = None,
    sample_weight: str | None = None,
    cluster: str | None = None,
    pos_label: Any = None,
    missing: Any = "raise",
    groups: Sequence[Hashable] | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    number: str | None = None,
    engine: Literal["auto", "rows", "duckdb", "polars", "spark"] = "auto",
) -> Tally:
    """Count the rows of a frame: everything that the named columns allow to be asked later.

    Parameters
    ----------
    frame : data frame or lazy table
        pandas, polars, pyarrow, or any other that narwhals reads. Lazy tables (polars LazyFrame, DuckDB
        relation, Spark, Dask, Ibis, SQLFrame) are counted where they are: only grouped counts and sums come
        here.
    sensitive_features : str or sequence of str
        Sensitive columns; several are crossed, and `Tally.by` gives each by itself.
    y_true, y_pred, y_pred_b : str, optional
        Columns of labels, predictions, and of the predictions of a second model.
    score : str, optional
        Column of scores in [0, 1].
    counterfactual_score : str, optional
        Score of the same rows with the other value of the sensitive attribute: gives the part `tails`.
    features : sequence of str, optional
        Columns of features: gives the part `distinct`, which set distances need.
    strata : str, optional
        Column of strata.
    sample_weight, cluster : str, optional
        Columns of weights and sampling units.
    pos_label, missing, groups
        As in `disparate_impact`; `groups` for one sensitive column.
    score_range : tuple of float, default (0, 1)
        Ends of the scale of the scores, which become 0 and 1.
    number : str, optional
        Column with the rows that each row stands for, as in the answer to a query of `tally_sql`; then
        `sample_weight` holds sums of weights, and the column of that name with ``_squares`` those of their
        squares. Not with clusters or counterfactual scores.
    engine : {"auto", "rows", "duckdb", "polars", "spark"}, default "auto"
        What counts. "auto": lazy tables by their own engine, frames by rows in NumPy. "rows" loads a lazy
        table; another name moves a frame's rows into that engine.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        Where a column is missing or cannot be used; in a lazy table more than 10⁶ distinct rows of
        `features`.
    EngineError
        Where the engine of a lazy table fails; it gives the engine's own words.

    Notes
    -----
    Of a lazy table up to 65,536 distinct scores are counted one by one. More are counted in intervals
    between the fractions k/m with m ≤ 1,000, so that MADD in up to 1,000 bins is exact;
    `ScoreCounts.auc_error` bounds what AUC and ABROCA can be off by.

    Examples
    --------
    >>> import pandas as pd, fairstats as fs
    >>> frame = pd.DataFrame({"y": [1, 0, 1, 0], "hat": [1, 0, 0, 1], "sex": ["f", "f", "m", "m"]})
    >>> counted = fs.tally(frame, y_true="y", y_pred="hat", sensitive_features="sex")
    >>> print(counted)
    Tally of 4 rows by sex: f (2), m (2); cells.
    """
    asked = dict(locals())
    return Tally(**count_columns(asked.pop("frame"), asked.pop("sensitive_features"), **asked))
