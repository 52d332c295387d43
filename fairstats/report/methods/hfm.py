"""The page of HFM: distances between groups as sets of rows."""

from __future__ import annotations

from collections.abc import Iterator

from fairstats.ground.checks import check_given
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.parts import RowCounts
from fairstats.ground.results import Result
from fairstats.methods.hfm.experiment import HfmExperiment
from fairstats.methods.hfm.metric import hfm
from fairstats.methods.hfm.result import HfmResult
from fairstats.methods.hfm.risk import DiscriminativeRiskResult
from fairstats.methods.hfm.selection import RankingResult
from fairstats.methods.hfm.set_distance import SetDistance
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.crosscheck import distances, pairs
from fairstats.report.format import number, printable
from fairstats.report.inputs import AuditInput
from fairstats.report.methods.page import Answer, Exhibit, Page, Words, show_plain_part
from fairstats.report.view import Part, SetView, Table, table_of


def run_hfm(inputs: AuditInput) -> list[Result]:
    """D, D_f and HFM of the groups, without weights.

    Nothing without features, labels and predictions.

    Rows are named by position: a report holds no one's label. Draws take them in the order of a
    tally's distinct rows.
    """
    if not inputs.columns.features or not inputs.has("y_true", "y_pred"):
        return []
    try:
        return [_compute_hfm(inputs)]
    except InputError as problem:  # of features that cannot be used: an audit has no argument X
        if not problem.argument.startswith("X"):
            raise
        argument = problem.argument.replace("X", "features", 1)
        raise InputError(
            argument,
            got=problem.got,
            allowed=problem.allowed,
            cure=problem.cure,
        ) from problem


def _compute_hfm(inputs: AuditInput) -> HfmResult:
    """HFM of an audit, from its tally or its rows in the tally's order."""
    if inputs.tally is not None:
        return hfm(counts=inputs.tally.crossed(), rng=inputs.settings.seed)
    outcomes = inputs.rows
    features = check_given("features", inputs.features)
    codes = outcomes.groups.codes
    y_true = check_given("y_true", outcomes.y_true)
    y_pred = check_given("y_pred", outcomes.y_pred)
    order = RowCounts._order(features, codes, y_true, y_pred)
    attribute = INTERSECTION.join(inputs.attributes)
    groups = {attribute: [outcomes.groups.labels[code] for code in codes[order]]}
    return hfm(
        features.iloc[order],
        y_true[order],
        y_pred[order],
        sensitive_features=groups,
        rng=inputs.settings.seed,
    )


# ---------------------------------------------------------------- parts


def _show_hfm(section: Section, view: SetView) -> Iterator[Part]:
    for result in section.results:
        if isinstance(result, HfmResult):
            yield _show_distances(section, result)
        else:
            yield show_plain_part(section, result)


def _show_distances(section: Section, result: HfmResult) -> Part:
    overall = result.overall
    if overall.hfm > 0:
        distance = "further apart than"
    elif overall.hfm == 0:
        distance = "as far apart as"
    else:
        distance = "less far apart than"
    lead = (
        f"Seen as sets of people, the predictions set the groups {distance} the recorded outcomes"
        " do."
    )
    if overall.hfm != 0 and overall.tests and overall.tests[2].pvalue > 0.05:
        lead += " Chance alone could have made that difference."
    tables = (*_tables_of_witnesses(result), table_of(result))
    return Part(section.key, "Distances between groups as sets", lead, tables=tables)


def _tables_of_witnesses(result: HfmResult) -> tuple[Table, ...]:
    """The rows that decide the distances, where these are known."""
    witnesses = result.witnesses()
    names = ("group", "quantity", "direction", "row", "nearest")
    rows = []
    for witness in witnesses[witnesses["attains"].astype(bool)].to_dict("records"):
        texts = [printable(witness[name]) for name in names]
        rows.append((*texts, number(witness["distance"])))
    if not rows:
        return ()
    heads = ("group", "distance", "direction", "row", "nearest row", "size")
    about = (
        "Rows by position: one row decides a distance, with the row nearest to it on the other"
        " side."
    )
    return (
        Table(
            title="Rows that decide the distances", heads=heads, rows=tuple(rows), notes=(about,)
        ),
    )


# ---------------------------------------------------------------- words

_WORDS = {
    "hfm_distance_labels": Words(
        title="D: distance between groups as sets, with their labels",
        text=(
            "Symmetric Hausdorff distance between the rows of a group and all others "
            "(features scaled to [0, 1], categories one-hot, label), computed "
            "exactly. Its test permutes the groups. It has no confidence interval: "
            "the stability range, quantiles over subsamples of 80% of the rows, "
            "claims none."
        ),
        cites=("bian",),
    ),
    "hfm_distance_predictions": Words(
        title="D_f: the same with predictions in place of labels",
        text=("The symmetric Hausdorff distance with the predicted label in place of the label."),
        cites=("bian",),
    ),
    "hfm": Words(
        title="HFM: what the classifier adds to the distance",
        text=(
            "D_f/D − 1: above 0 where the predictions set the groups further apart "
            "than the labels do. Its test exchanges label and prediction row by row."
        ),
        cites=("bian",),
    ),
}
_CHOICE = "a choice among classifiers by means of HFM"

PAGE = Page(
    method="hfm",
    run=run_hfm,
    answers=(Answer(questions.SETS, parts=_show_hfm, words=_WORDS),),
    exhibits=(
        Exhibit(HfmResult, questions.SETS, twin=distances.hfm),
        Exhibit(SetDistance, twin=distances.set_distance),
        Exhibit(DiscriminativeRiskResult, twin=pairs.risk),
        Exhibit(RankingResult, no_twin=_CHOICE),
        Exhibit(HfmExperiment, no_twin=_CHOICE),
    ),
)
