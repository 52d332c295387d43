"""A stream of files that is watched: tallies by file, and what the limits said after each.

The state of ``fairstats monitor``. It holds counts by file and no row; what is asked at each look is
`group_metric` of the tallies so far, by a method that holds at every look.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import math
import secrets
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_type, check_whole
from fairstats.ground.counts import CellCounts
from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import normal_quantile, two_sided_pvalue
from fairstats.ground.registry import find_metric
from fairstats.ground.results import Comparison, Result
from fairstats.ground.serialise import serialisable
from fairstats.ground.tally import Tally
from fairstats.ground.values import label_text
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.metrics import group_metric
from fairstats.methods.rates.result import ANYTIME, ANYTIME_METHODS, ComparisonResult
from fairstats.methods.rates.setup import RateArguments, make_settings
from fairstats.numerics.rates.anytime import LEAST_CASES
from fairstats.numerics.rates.kitagawa import split_change
from fairstats.plots.picture import LIMIT, NEUTRAL, Mark, Picture, draw, mark


@serialisable(kw_only=True)
class MonitorSettings:
    """What is watched, fixed before the first look.

    Attributes
    ----------
    metric : str
        A metric of rates, as in `group_metric`.
    method : {"anytime", "anytime-exact"}
    planned : int, optional
        Rows that are expected in all.
    reference : str, optional
        Reference group; of two groups by default the larger one of the first file.
    threshold, margin : float
        Of ratios and of differences.
    confidence_level : float
        1 − the probability of any false verdict at any look.
    adjust : str
        Over the groups: holm, bonferroni or none.
    sensitive_features : tuple of str
        Sensitive columns of the files.
    y_true, y_pred : str, optional
        Columns of outcomes and predictions.
    pos_label, pos_label_pred : str, optional
        Favourable value, and that of the predictions where it differs.
    label_values : tuple of str, optional
        Labels that may occur.
    missing : {"raise", "drop", "group"}
        What to do with missing values.
    cluster : str, optional
        Column of clusters (persons who return). Each must arrive whole, in one file.
    salt : str
        What the digests of clusters are made with; made with the first file where there is none.
    """

    metric: str = "disparate_impact"
    method: str = ANYTIME
    planned: int | None = None
    reference: str | None = None
    threshold: float = 0.8
    margin: float = 0.1
    confidence_level: float = 0.95
    adjust: str = "holm"
    sensitive_features: tuple[str, ...] = ()
    y_true: str | None = None
    y_pred: str | None = None
    pos_label: str | None = None
    pos_label_pred: str | None = None
    label_values: tuple[str, ...] | None = None
    missing: str = "raise"
    cluster: str | None = None
    salt: str = ""


@serialisable(eq=False)
class WatchedFile:
    """The counts of one file, and the SHA-256 digest of what was read.

    `clusters`: salted digests of its clusters, which tell whether one returns and not which it is;
    empty without clusters.
    """

    name: str
    digest: str
    tally: Tally
    clusters: str = ""


@serialisable(eq=False, kw_only=True)
class MonitorResult(Result):
    """What has been watched so far: limits and verdicts that hold at every look.

    Attributes
    ----------
    settings : MonitorSettings
        What is watched, fixed before the first look.
    files : tuple of WatchedFile
        In the order of their arrival, each one look.

    Examples
    --------
    >>> import pandas as pd, fairstats as fs
    >>> from fairstats.results import MonitorResult, MonitorSettings
    >>> settings = MonitorSettings(planned=400, sensitive_features=("sex",), y_pred="hired")
    >>> month = pd.DataFrame({"sex": ["f"] * 50 + ["m"] * 50, "hired": [1] * 10 + [0] * 40 + [1, 0] * 25})
    >>> counts = fs.tally(month, y_pred="hired", sensitive_features="sex")
    >>> watched = MonitorResult(settings=settings).add("january", "1", counts).add("february", "2", counts)
    >>> print(watched.path()[["file", "n_rows", "estimate", "verdict"]].to_string(index=False))
        file  n_rows  estimate   verdict
     january     100       2.5 undecided
    february     200       2.5  violated
    """

    settings: MonitorSettings
    files: tuple[WatchedFile, ...] = ()

    _shown: ClassVar[tuple[str, ...]] = ComparisonResult._shown

    def add(
        self,
        name: str,
        digest: str,
        counts: Tally,
        clusters: Iterable[Any] | None = None,
    ) -> MonitorResult:
        """The same with the counts of one more file.

        Parameters
        ----------
        name, digest : str
            Name of the file, and what tells its content from that of others.
        counts : Tally
            Of the rows of this file alone.
        clusters : sequence, optional
            Of clustered counts the names of their clusters, each once or in every row. Salted
            digests of them are kept.

        Raises
        ------
        InputError
            Where the file was counted before, or cannot be watched with the others; where a cluster
            returns that an earlier file had: limits at every look hold for clusters that arrive
            whole.
        """
        for argument, text in (("name", name), ("digest", digest)):
            check_type(argument, text, str, "text", f'{argument}="january.csv"')
        check_type("counts", counts, Tally, "a Tally", "fs.tally(frame, …)")
        for earlier in self.files:
            if earlier.digest == digest:
                raise InputError(
                    "file",
                    got=f"{name!r}, whose rows were counted before, as {earlier.name!r}",
                    allowed="each file once",
                    cure="leave it out",
                )
            if earlier.name == name:
                raise InputError(
                    "file",
                    got=f"{name!r}, which held other rows when it was counted",
                    allowed="files that do not change: what was looked at cannot be taken back",
                    cure="give new rows a name of their own, or begin a new state with all files",
                )
        cells = counts.by(*counts.sensitive) if counts.stratified else counts
        cells = replace(cells, scores=None, tails=None, distinct=None)
        settings = self.settings
        groups = cells.by(*cells.sensitive).groups
        if settings.reference is None and len(groups) == 2:
            settings = replace(settings, reference=groups[int(np.argmax(cells.group_sizes))])
        kept_clusters = ""
        _check_clusters(clusters, cells)
        if cells.cells is not None and cells.cells.clustered:
            if clusters is None:
                raise InputError(
                    "clusters",
                    got="a tally with clusters, and nothing that tells them apart",
                    allowed="the names of the clusters of this file, which must arrive whole",
                    cure='add(…, clusters=frame["person"])',
                )
            settings = replace(settings, salt=settings.salt or secrets.token_hex(16))
            digests = _digests_of(clusters, settings.salt)
            self._check_whole(name, digests)
            kept_clusters = base64.b64encode(digests.tobytes()).decode("ascii")
        watched_file = WatchedFile(name=name, digest=digest, tally=cells, clusters=kept_clusters)
        added = replace(self, settings=settings, files=(*self.files, watched_file))
        added._take_look(len(added.files))
        return added

    def _check_whole(self, name: str, digests: NDArray[np.uint64]) -> None:
        """Refuse clusters that an earlier file had."""
        for earlier in self.files:
            known_digests = np.frombuffer(base64.b64decode(earlier.clusters), dtype=np.uint64)
            n_returning = int(np.isin(digests, known_digests).sum())
            if n_returning:
                raise InputError(
                    "file",
                    got=f"{name!r}, in which {n_returning:,} of {digests.size:,} clusters return that"
                    f" {earlier.name!r} had",
                    allowed="clusters that arrive whole, each in one file",
                    cure="count a cluster once it is complete, or its first rows alone",
                )

    def _counts_after(self, n_files: int) -> Tally:
        """The tally of the first files."""
        return _add_tallies(self.files[:n_files])

    @property
    def counts(self) -> Tally:
        """The tally of all files."""
        return self._counts_after(len(self.files))

    def _take_look(self, n_files: int) -> ComparisonResult:
        """What the first files show: a result of `group_metric`."""
        settings = self.settings
        check_choice("method", settings.method, ANYTIME_METHODS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)  # the rows say the same
            counts = self._counts_after(n_files)
            if counts.cells is not None and counts.cells.clustered:
                return self._look_at_clusters(counts)
            result: Any = group_metric(
                metric=settings.metric,
                counts=counts,
                method=settings.method,  # type: ignore[arg-type]  # checked above
                planned=settings.planned,
                reference=settings.reference,
                threshold=settings.threshold,
                margin=settings.margin,
                confidence_level=settings.confidence_level,
                adjust=settings.adjust,
            )
        return result  # type: ignore[no-any-return]

    def _look_at_clusters(self, counts: Tally) -> ComparisonResult:
        """The same of clusters, which `add` has seen to arrive whole."""
        settings = self.settings
        metric = find_metric(settings.metric)
        if metric is None:
            raise InputError(
                "metric",
                got=repr(settings.metric),
                allowed="a metric of rates",
                cure="disparate_impact, say",
            )
        arguments = RateArguments(
            method=settings.method,
            planned=settings.planned,
            confidence_level=settings.confidence_level,
            adjust=settings.adjust,
            threshold=settings.threshold,
            margin=settings.margin,
        )
        inference = make_settings(metric.contrast, arguments)
        cells: CellCounts = (
            counts.selection() if metric.needs == ("predictions",) else counts.confusion()
        )
        result: Any = compare_metric(
            metric, cells, inference, settings.reference, whole_clusters=True
        )
        return result  # type: ignore[no-any-return]

    @functools.cached_property
    def looks(self) -> tuple[ComparisonResult, ...]:
        """What was shown after each file."""
        return tuple(self._take_look(n_files) for n_files in range(1, len(self.files) + 1))

    @property
    def comparisons(self) -> Any:
        """Those of the last look; none before the first file."""
        return self.looks[-1].comparisons if self.files else ()

    @property
    def backend(self) -> str:
        """What computed them."""
        return "numpy"

    @property
    def title(self) -> str:  # type: ignore[override]
        """One line above the table."""
        if not self.files:
            return f"Monitor of {self.settings.metric}: no file yet"
        number = len(self.files)
        return f"{self.looks[-1].title}, after {number} file{'s' * (number > 1)}"

    @property
    def alarm(self) -> str:
        """The file after which a violation was first shown; empty for none.

        It stays: that any look ever shows a violation that is none has the probability 1 −
        confidence level at most.
        """
        for watched_file, result in zip(self.files, self.looks, strict=True):
            if any(comparison.verdict == "violated" for comparison in result.comparisons):
                return watched_file.name
        return ""

    def path(self) -> pd.DataFrame:
        """Estimate, limits and verdict of every comparison after each file, one row each.

        Returns
        -------
        DataFrame
            look (from 1), file, n_rows (so far), then the columns of `to_frame`.
        """
        rows: list[dict[str, Any]] = []
        n_rows = 0
        for look, (watched_file, result) in enumerate(
            zip(self.files, self.looks, strict=True), start=1
        ):
            n_rows += watched_file.tally.n
            beginning = {"look": look, "file": watched_file.name, "n_rows": n_rows}
            rows += [{**beginning, **row} for row in result.rows()]
        return pd.DataFrame(rows)

    def drift(self, n_before: int = 1, n_after: int = 1) -> pd.DataFrame:
        """Split the change of selection rates from the first files to the last into its sources.

        Case mix: other shares of cases with a favourable outcome; treatment: other selection rates
        of cases that are alike in it (Kitagawa 1955). Both add up to the change.

        Parameters
        ----------
        n_before, n_after : int, default 1
            Number of files at the beginning, and at the end, that are compared.

        Returns
        -------
        DataFrame
            group, reference (empty: the group's own rate; else the change of the difference),
            quantity ("change", "case mix", "treatment"), estimate, std_error, ci_low, ci_high,
            pvalue of no change. Limits of the delta method, of *one* look: they do not hold at every
            look. NaN where a group has fewer than five cases of an outcome in a period. Simulated
            with 100 to 2,000 rows a period: coverage .930 and more.

        Raises
        ------
        InputError
            Without outcomes, under clusters, whose rows the limits would take as independent, or
            where the files are too few for two periods.
        """
        if self.settings.cluster is not None:
            raise InputError(
                "cluster",
                got=f"{self.settings.cluster!r}, whose rows depend on each other",
                allowed="independent rows: limits of the split count no clusters",
                cure="watch one row of each cluster",
            )
        n_files = len(self.files)
        cure = "n_before=1, n_after=1"
        for argument, number in (("n_before", n_before), ("n_after", n_after)):
            check_whole(argument, number, low=1, high=max(n_files - 1, 1), cure=cure)
        if n_before + n_after > n_files:
            raise InputError(
                "n_after",
                got=f"{n_after} beside n_before={n_before}",
                allowed=f"two periods of {n_files} files",
                cure=cure,
            )
        before = _add_tallies(self.files[:n_before]).confusion()
        after = _add_tallies(self.files[n_files - n_after :]).confusion()
        groups = []
        for group in before.groups:
            if group in after.groups:
                groups.append(group)
        cells = []
        for table in (before, after):
            cells.append(np.array([table.totals[table.groups.index(group)] for group in groups]))
        split = split_change(*(_without_few_cases(table) for table in cells))
        rows = []
        reference = self.settings.reference
        for position, group in enumerate(groups):
            rows += self._drift_rows(
                group, "", split.estimates[:, position], split.variances[:, position]
            )
        for position, group in enumerate(groups):
            if reference not in groups or group == reference:
                continue
            other = groups.index(reference)
            rows += self._drift_rows(
                group,
                reference,
                split.estimates[:, position] - split.estimates[:, other],
                split.variances[:, position] + split.variances[:, other],
            )
        return pd.DataFrame(rows)

    def drift_sentences(self, n_before: int = 1, n_after: int = 1) -> list[str]:
        """What `drift` found, one sentence for each difference (of groups alone without a reference).

        Parameters
        ----------
        n_before, n_after : int, default 1
            As in `drift`.

        Raises
        ------
        InputError
            As `drift`.
        """
        drift = self.drift(n_before, n_after)
        between = drift[drift["reference"] != ""]
        shown = between if len(between) else drift
        sentences = []
        for (group, reference), rows in shown.groupby(["group", "reference"], sort=False):
            parts = dict(zip(rows["quantity"], rows["estimate"], strict=True))
            if math.isnan(parts["change"]):
                sentences.append(f"{group}: too few cases to split the change.")
                continue
            quantity = f"difference of {group} and {reference}" if reference else f"rate of {group}"
            words = {name: f"{value:+.3f}".replace("-", "−") for name, value in parts.items()}
            sentences.append(
                f"From {self.files[0].name} to {self.files[-1].name} the {quantity} changed by"
                f" {words['change']}: {words['case mix']} by other cases, {words['treatment']} by another"
                " treatment of like cases."
            )
        return sentences

    def _drift_rows(
        self,
        group: str,
        reference: str,
        estimates: Floats,
        variances: Floats,
    ) -> list[dict[str, Any]]:
        """Three rows with limits and p-values by the normal law."""
        critical = normal_quantile((1 + self.settings.confidence_level) / 2)
        rows = []
        for quantity, estimate, variance in zip(
            ("change", "case mix", "treatment"), estimates.tolist(), variances.tolist(), strict=True
        ):
            std_error = math.sqrt(variance) if variance >= 0 else math.nan
            if std_error > 0:
                pvalue = two_sided_pvalue(estimate / std_error)
            else:
                pvalue = math.nan
            rows.append(
                {
                    "group": group,
                    "reference": reference,
                    "quantity": quantity,
                    "estimate": estimate,
                    "std_error": std_error,
                    "ci_low": estimate - critical * std_error,
                    "ci_high": estimate + critical * std_error,
                    "pvalue": pvalue,
                }
            )
        return rows

    def changes(self, n_before: int) -> list[str]:
        """What the files after the first `n_before` changed, one sentence per comparison.

        Parameters
        ----------
        n_before : int
            Number of files that had been counted before.
        """
        check_whole("n_before", n_before, low=0, high=len(self.files), cure="n_before=0")
        if not self.files:
            return ["No file yet."]
        verdicts_before: dict[tuple[str, str, str], str] = {}
        if n_before:
            verdicts_before = {}
            for comparison in self.looks[n_before - 1].comparisons:
                verdicts_before[_key_of(comparison)] = comparison.verdict
        sentences = []
        for comparison in self.comparisons:
            before = verdicts_before.get(_key_of(comparison), "")
            words = comparison.verdict
            if before and before != comparison.verdict:
                words = f"{comparison.verdict}, {before} before"
            name = f"{comparison.group} against {comparison.reference}"
            if math.isnan(comparison.pvalue):
                sentences.append(f"{name}: {words}. {comparison.note}")
                continue
            low, high = comparison.confidence_interval
            sentences.append(
                f"{name}: {words}; {self.looks[-1].scale} {comparison.estimate:.3f}, limits"
                f" {low:.3f} to {high:.3f} at every look."
            )
        return sentences

    def sentences(self) -> list[str]:
        """The verdicts of the last look, and since when a violation has been shown."""
        if not self.files:
            return []
        sentences = self.looks[-1].sentences()
        if self.alarm:
            sentences.append(f"A violation was first shown after {self.alarm}.")
        return sentences

    def notes(self) -> list[str]:
        """Sentences below the table."""
        if not self.files:
            return []
        return [
            *self.looks[-1].notes(),
            "Estimates are of all rows so far; where rates change over time, of their average.",
        ]

    def _make_picture(self) -> Picture:
        """The path of the limits: estimate and limits of every comparison by rows so far."""
        if not self.files:
            raise InputError(
                "files",
                got="none",
                allowed="a monitor that has counted a file",
                cure="add one first",
            )
        return Picture(
            title=f"{self.looks[-1].title}: limits at every look",
            xlabel="rows so far",
            ylabel=self.looks[-1].scale,
            xlim=self._span_of_rows(),
            ylim=self._span_of_values(),
            marks=tuple(self._draw_marks()),
        )

    def _draw_marks(self) -> Iterator[Mark]:
        fair_low, fair_high = self.looks[-1].settings._fair_range(self.looks[-1].scale)
        yield mark("rule", (), fair_low, LIMIT, f"fair: {fair_low:.3g} to {fair_high:.3g}")
        yield mark("rule", (), fair_high, LIMIT)
        yield mark("rule", (), 1.0 if self.looks[-1].scale == "ratio" else 0.0, NEUTRAL)
        path = self.path()
        top = self._span_of_values()[1]
        bottom = self._span_of_values()[0]
        names = path[["metric", "group", "reference"]].drop_duplicates()
        for series, (metric, group, reference) in enumerate(names.itertuples(index=False)):
            is_one = (path["metric"] == metric) & (path["group"] == group)
            one = path[is_one & (path["reference"] == reference) & path["pvalue"].notna()]
            rows = one["n_rows"].to_numpy(dtype=np.float64)
            low = np.clip(one["ci_low"].to_numpy(dtype=np.float64), bottom, top)
            high = np.clip(one["ci_high"].to_numpy(dtype=np.float64), bottom, top)
            label = f"{group} against {reference}"
            yield mark("band", rows, high, series, low=low)
            yield mark("line", rows, one["estimate"], series, label)
            yield mark("dots", rows, one["estimate"], series)

    def _span_of_rows(self) -> tuple[float, float]:
        rows = self.path()["n_rows"]
        return 0.0, 1.04 * float(max(rows.max(), self.settings.planned or 0))

    def _span_of_values(self) -> tuple[float, float]:
        """Of the estimates and of the limits from the second look on, which the first would dwarf."""
        path = self.path()
        fair_range = self.looks[-1].settings._fair_range(self.looks[-1].scale)
        later = path[path["look"] > 1] if len(self.files) > 1 else path
        values = [*fair_range, *path["estimate"], *later["ci_low"], *later["ci_high"]]
        finite = [value for value in values if math.isfinite(value)]
        margin = 0.05 * (max(finite) - min(finite))
        return min(finite) - margin, max(finite) + margin

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the path of the limits over the files.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        """
        return draw(self._make_picture(), ax)


def _add_tallies(files: Sequence[WatchedFile]) -> Tally:
    """The tally of several files."""
    total = files[0].tally
    for watched_file in files[1:]:
        # clusters were seen to arrive whole when their file was added
        total = total.add(watched_file.tally, disjoint_clusters=True)
    return total


def _check_clusters(clusters: Any, counts: Tally) -> None:
    """Refuse what are no names of clusters, and names beside counts without clusters."""
    if clusters is None:
        return
    is_several = isinstance(clusters, Iterable) and not isinstance(clusters, (str, bytes, Mapping))
    if not is_several or counts.cells is None or not counts.cells.clustered:
        raise InputError(
            "clusters",
            got=type(clusters).__name__
            if not is_several
            else "names beside a tally without clusters",
            allowed="the names of the clusters of a clustered tally, a sequence",
            cure='fs.tally(…, cluster="person"), and clusters=frame["person"]',
        )


def _digests_of(clusters: Iterable[Any], salt: str) -> NDArray[np.uint64]:
    """Salted digests of the distinct clusters, ascending: eight bytes each."""
    digests = set()
    for cluster in clusters:
        text = label_text(cluster).encode("utf-8")
        hashed = hashlib.blake2b(text, digest_size=8, key=bytes.fromhex(salt))
        digests.add(int.from_bytes(hashed.digest(), "little"))
    return np.array(sorted(digests), dtype="<u8")


def _without_few_cases(cells: Floats) -> Floats:
    """NaN for groups with fewer than `LEAST_CASES` cases of an outcome; cells (tp, fp, fn, tn)."""
    positive = cells[:, 0] + cells[:, 2]
    negative = cells[:, 1] + cells[:, 3]
    too_few = np.minimum(positive, negative) < LEAST_CASES
    return np.where(too_few[:, None], np.nan, cells)


def _key_of(comparison: Comparison) -> tuple[str, str, str]:
    return comparison.metric, comparison.group, comparison.reference
