"""Vignettes about the user's own data.

R Markdown that audits, shows and cross-checks, to be edited.

One file is written. It names the file of the rows, or carries a report; what its chunks hand to
each other lies in a temporary folder of the run.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairstats.ground.errors import MissingDependencyError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.table import read_roles
from fairstats.ground.serialise import encode
from fairstats.ground.writing import VIGNETTES, Inputs, check_writable, write_file
from fairstats.report.contents import Contents
from fairstats.report.inputs import check_outcomes

#: Arguments of `audit` that name columns.
_COLUMNS = (
    "sensitive_features",
    "y_true",
    "y_pred",
    "score",
    "sample_weight",
    "cluster",
    "features",
    "counterfactual_score",
)
#: Those that are read as labels, and as numbers.
_LABELS = ("sensitive_features", "y_true", "y_pred", "cluster")
_NUMBERS = ("score", "sample_weight", "counterfactual_score")
#: Settings of a report that are arguments of `audit`.
_SETTINGS = (
    "confidence_level",
    "threshold",
    "margin",
    "method",
    "simultaneous",
    "comparisons",
    "adjust",
    "family",
    "missing",
    "evaluated_on",
    "n_resamples",
)
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#$|~^])")


def write_vignette(
    path: Path,
    data: str | os.PathLike[str],
    options: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> Path:
    """Write a vignette that audits the rows of a file; `options` are keyword arguments of `audit`.

    Raises InputError for another ending than .Rmd or .qmd, a file that is there already (unless
    `overwrite`), the file of the rows itself, rows that cannot be read or lack a column.
    """
    inputs = Inputs([data])
    check_writable("path", path, VIGNETTES, inputs=inputs, replace=overwrite)
    asked = {
        "rng": 1,
        **{
            name: value
            for name, value in options.items()
            if value is not None and value not in ((), [], {})
        },
    }
    check_outcomes(asked.get("y_true"), asked.get("y_pred"))
    named = {}
    for role in _COLUMNS:
        if role in asked:
            named[role] = _names_given(asked[role])
    roles = reading_roles(named)
    read_roles(Path(data), roles, ReadingOptions())
    sensitive = named["sensitive_features"]
    crossed = len(sensitive) > 1 and asked.get("intersections", True)
    sets = [*sensitive, *([INTERSECTION.join(sensitive)] if crossed else [])]
    both_sides = "y_true" in asked and "y_pred" in asked
    weighted = "sample_weight" in asked
    counted = not weighted and "cluster" not in asked
    present = {
        "power": counted,
        "models": isinstance(asked.get("y_pred"), Mapping),
        "madd": "score" in asked,
        "hfm": both_sides and "features" in asked,
        "um": both_sides and counted,
    }
    keys = [key for key, there in present.items() if there]
    changed = asked.get("counterfactual_score", {})
    if weighted:
        tails = []
    elif isinstance(changed, Mapping):
        tails = list(changed)
    else:
        tails = sensitive[:1]
    parts = {}
    for name in sets:
        parts[name] = [*keys, "ecd"] if name in tails else keys
    text = _fill_template(
        title=asked.get("title", f"Fairness audit of {Path(data).name}"),
        params={"data": _path_from(path.parent, data)},
        keys=parts,
        options=asked,
        columns=roles,
        stored=None,
        threshold=asked.get("threshold", 0.8),
        margin=asked.get("margin", 0.1),
    )
    return write_file(path, text, VIGNETTES, inputs=inputs, replace=overwrite)


def _path_from(folder: Path, data: str | os.PathLike[str]) -> str:
    """The path of a file as seen from a folder, links of folders followed.

    Absolute where there is none (Windows).
    """
    whole = os.path.join(os.path.realpath(os.path.dirname(data) or "."), os.path.basename(data))
    try:
        return Path(os.path.relpath(whole, os.path.realpath(folder))).as_posix()
    except ValueError:
        return Path(whole).as_posix()


def reading_roles(named: Mapping[str, Sequence[str]]) -> Roles:
    """What the columns of a file are read as; `named`: argument of `audit` → columns."""
    numbers = []
    for role in _NUMBERS:
        for name in named.get(role, ()):
            numbers.append(name)
    features = named.get("features", ())
    labels = []
    for role in _LABELS:
        for name in named.get(role, ()):
            labels.append(name)
    return Roles.of(labels, numbers, features)


def _names_given(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    return list(given.values() if isinstance(given, Mapping) else given)


def vignette_of_report(
    report: Contents,
    path: Path,
    data: str | os.PathLike[str] | None,
    keys: Mapping[str, Sequence[str]],
    *,
    overwrite: bool = False,
) -> Path:
    """Write a vignette about a report.

    It audits the file of its rows, or carries the report and shows it.

    `keys`: parts that are shown without rows, by set of sensitive columns.
    """
    s = report.settings
    audited_columns = report.columns
    if data is None:
        check_writable("path", path, VIGNETTES, replace=overwrite)
        text = _fill_template(
            title=report.title,
            params={},
            keys=keys,
            options=None,
            columns=None,
            stored=_pack_report(report),
            threshold=s.threshold,
            margin=s.margin,
        )
        return write_file(path, text, VIGNETTES, replace=overwrite)
    labels = {"y_true": audited_columns.pos_label_true, "y_pred": audited_columns.pos_label_pred}
    named = {}
    for key_name, value in s.references.items():
        if INTERSECTION not in key_name and value != "largest":
            named[key_name] = value
    of_vignette = {
        **audited_columns.roles,
        "sensitive_features": list(audited_columns.sensitive_features),
        "features": audited_columns.features,
        "rng": s.seed,
        "counterfactual_score": audited_columns.counterfactual_scores,
        "title": report.title,
        "reference": named,
        "pos_label": {
            key_name: int(value) if value.isdigit() else value
            for key_name, value in labels.items()
            if value is not None
        },
        "intersections": any(len(section.attributes) > 1 for section in report.sections),
        **{name: getattr(s, name) for name in _SETTINGS},
    }
    several = {"y_pred": audited_columns.models, "score": audited_columns.model_scores}
    roles = {}
    for role, models in several.items():
        if models:
            roles[role] = models
    return write_vignette(path, data, of_vignette | roles, overwrite=overwrite)


def _pack_report(report: Contents) -> str:
    """The report as lines of text within a chunk: its JSON, compressed, in base 64."""
    text = json.dumps(encode(report), ensure_ascii=False, allow_nan=False)
    # without the time, so that the same report is the same text
    packed = gzip.compress(text.encode("utf-8"), mtime=0)
    return "\n".join(textwrap.wrap(base64.b64encode(packed).decode("ascii"), width=100))


def _fill_template(*, title: str, params: dict[str, str], **parts: Any) -> str:
    """The text of a vignette; `parts`: what the template is told beside title and parameters."""
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as problem:
        raise MissingDependencyError(
            "jinja2",
            extra="report",
            purpose="Writing a vignette",
            alternative="to_html(path)",
        ) from problem
    environment = Environment(  # noqa: S701 - R Markdown, no HTML
        loader=PackageLoader("fairstats.report", "vignettes"),
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["python"] = repr
    environment.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.filters["text"] = lambda value: _MARKUP.sub(r"\\\1", " ".join(str(value).split()))
    template = environment.get_template("own.Rmd.j2")
    return template.render(title=title, params=params, **parts)
