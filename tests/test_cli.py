"""The command line: what it prints and writes, and its exit codes."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairstats
from fairstats.report.report import AuditReport

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from fairstats.cli.app import app
from fairstats.cli.options import TABLES

ROOT = Path(fairstats.__file__).parents[1]


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 200 people: women are hired half as often."""
    path = tmp_path_factory.mktemp("cli") / "people.csv"
    pd.DataFrame(
        {
            "sex": ["m"] * 100 + ["f"] * 100,
            "age": ["old", "young"] * 100,
            "hired": (["yes"] * 60 + ["no"] * 40) + (["yes"] * 30 + ["no"] * 70),
            "fit": [1, 0] * 100,
            "score": [i / 200 for i in range(200)],
            "percent": [i / 2 for i in range(200)],
            "weight": [1.0, 2.0] * 100,
            "site": list(range(20)) * 10,
            "income": [None, 1.0] * 100,
        }
    ).to_csv(path, index=False)
    return path


BASE = ("--y-pred", "hired", "--pos-label", "yes", "--group", "sex")


def test_audit_prints_and_writes(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    json = tmp_path / "r.json"
    done = run("audit", people, *BASE, "--reference", "m", "--out", out, "--json", json)
    assert done.exit_code == 0, done.output
    assert "fares worse" in done.stdout
    assert "Disparate impact" in run("audit", people, *BASE, "--full").stdout
    assert "violated" in done.stdout
    assert f"Written: {out}" in done.stdout.replace("\n", "")
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    report = AuditReport.from_json(json)
    assert report.results[0].estimate == pytest.approx(0.5)  # type: ignore[attr-defined]
    assert report.settings.seed == 1


def test_audit_writes_nothing_unasked(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("audit", people, *BASE).exit_code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("violated", "code"), [(True, 1), (False, 0)])
def test_fail_on_violated(people: Path, violated: bool, code: int) -> None:
    strict = (
        ("--threshold", 0.8, "--margin", 0.1) if violated else ("--threshold", 0.2, "--margin", 0.9)
    )
    assert run("audit", people, *BASE, "--fail-on", "violated", *strict).exit_code == code
    assert run("audit", people, *BASE, *strict).exit_code == 0


def test_every_option(people: Path, tmp_path: Path) -> None:
    json = tmp_path / "r.json"
    done = run(
        "audit",
        people,
        "--y-true",
        "fit",
        "--y-pred",
        "hired",
        "--score",
        "score",
        "--group",
        "sex",
        "--group",
        "age",
        "--reference",
        "sex=m",
        "--reference",
        "age=old",
        "--pos-label",
        "1",
        "--pos-label-pred",
        "yes",
        "--missing",
        "drop",
        "--confidence-level",
        "0.9",
        "--threshold",
        "0.7",
        "--margin",
        "0.2",
        "--method",
        "score",
        "--simultaneous",
        "max-z",
        "--family",
        "audit",
        "--no-intersections",
        "--evaluated-on",
        "held-out",
        "--title",
        "A title",
        "--seed",
        "3",
        "--comparisons",
        "all",
        "--adjust",
        "none",
        "--n-resamples",
        "299",
        "--risks",
        "--full",
        "--json",
        json,
    )
    assert done.exit_code == 0, done.output
    report = AuditReport.from_json(json)
    s = report.settings
    assert (s.comparisons, s.adjust) == ("all", "none")
    assert "risks" in {section.key for section in report.sections}
    assert (s.confidence_level, s.threshold, s.margin, s.method) == (0.9, 0.7, 0.2, "score")
    assert (s.simultaneous, s.family, s.missing, s.evaluated_on, s.seed) == (
        "max-z",
        "audit",
        "drop",
        "held-out",
        3,
    )
    assert s.references == {"sex": "m", "age": "old"}
    assert report.title == "A title"
    assert (report.columns.pos_label_true, report.columns.pos_label_pred) == ("1", "yes")
    assert "abroca" in set(report.to_frame()["metric"])


def test_weights_and_clusters(people: Path, tmp_path: Path) -> None:
    json = tmp_path / "r.json"
    done = run("audit", people, *BASE, "--weight", "weight", "--cluster", "site", "--json", json)
    assert done.exit_code == 0, done.output
    assert AuditReport.from_json(json).tables[0].n_units == 20


def test_parquet_and_gzip(people: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(people)
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_csv(tmp_path / "p.csv.gz", index=False)
    shown = {
        run("audit", path, *BASE).stdout
        for path in (people, tmp_path / "p.parquet", tmp_path / "p.csv.gz")
    }
    assert len(shown) == 1


BAD = {
    "no such column": (("audit", "FILE", "--y-pred", "hird", "--group", "sex"), "no column 'hird'"),
    "no such file": (("audit", "none.csv", *BASE), "not there"),
    "no outcome": (("audit", "FILE", "--group", "sex"), "y_pred"),
    "no group": (("audit", "FILE", "--y-pred", "hired"), "--group"),
    "unknown reference": (("audit", "FILE", *BASE, "--reference", "x"), "one of 'f', 'm'"),
    "unknown favourable value": (
        ("audit", "FILE", "--y-pred", "hired", "--pos-label", "oui", "--group", "sex"),
        "oui",
    ),
    "labels without a favourable value": (
        ("audit", "FILE", "--y-pred", "hired", "--group", "sex"),
        "pass --pos-label (one of 'yes', 'no')",
    ),
    "score outside [0, 1]": (
        ("audit", "FILE", "--y-true", "fit", "--score", "percent", "--group", "sex"),
        "scores in [0, 1]",
    ),
    "missing values": (("audit", "FILE", "--y-pred", "fit", "--group", "income"), "--missing drop"),
    "several references without columns": (
        ("audit", "FILE", *BASE, "--reference", "m", "--reference", "f"),
        "COLUMN=GROUP",
    ),
    "unknown choice": (("audit", "FILE", *BASE, "--fail-on", "undecided"), "violated"),
    "level": (("audit", "FILE", *BASE, "--confidence-level", "95"), "between 0 and 1"),
    "unwritable": (("audit", "FILE", *BASE, "--out", "no/such/folder/r.html"), "cannot be written"),
    "unknown command": (("adit",), "adit"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_message_and_code_2(people: Path, tmp_path: Path, case: str) -> None:
    arguments, said = BAD[case]
    done = run(*(people if a == "FILE" else a for a in arguments))
    assert done.exit_code == 2
    assert said in done.stderr.replace("\n", " ").replace("│ ", "")
    assert "Traceback" not in done.output


def test_files_without_rows_or_with_noise(tmp_path: Path) -> None:
    for name, content, said in (
        ("a.csv", b"hired,sex\n", "0 rows"),
        ("b.parquet", b"noise", "cannot be read"),
    ):
        (tmp_path / name).write_bytes(content)
        done = run("audit", tmp_path / name, *BASE)
        assert done.exit_code == 2
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_demo_writes_into_the_current_folder_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("demo", "--json", "r.json")
    assert done.exit_code == 0, done.output
    assert "Written: fairstats-report.html" in done.stdout
    assert "African-American" in done.stdout
    report = AuditReport.from_json("r.json")
    assert report.tables[0].n == 6172
    frame = report.to_frame()
    ratio = frame[frame["metric"].eq("disparate_impact") & frame["group"].eq("African-American")]
    assert list(ratio["verdict"]) == ["violated"]
    assert "abroca" in set(frame["metric"])


def test_version() -> None:
    done = run("--version")
    assert (done.exit_code, done.stdout.strip()) == (0, f"fairstats {fairstats.__version__}")


def test_doctor() -> None:
    done = run("doctor")
    assert done.exit_code == 0, done.output
    assert "numpy" in done.stdout


def test_help_names_every_command() -> None:
    done = run("--help")
    assert done.exit_code == 0
    for command in ("audit", "demo", "doctor"):
        assert command in done.stdout


# ---------------------------------------------------------------- as a process


def process(*arguments: Any, code: str | None = None) -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "fairstats"]
    return subprocess.run(
        [sys.executable, *start, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )


def test_python_m_fairstats(people: Path) -> None:
    assert process("--version").stdout.strip() == f"fairstats {fairstats.__version__}"
    done = process("audit", people, *BASE, "--fail-on", "violated")
    assert done.returncode == 1
    assert "violated" in done.stdout
    assert done.stderr == ""
    bad = process("audit", people, "--y-pred", "hird", "--group", "sex")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("fairstats: `file`: got no column 'hird'")


def test_without_the_extra_it_says_which_one() -> None:
    done = process(
        code="import sys; sys.modules['typer'] = None; from fairstats.__main__ import main; main()"
    )
    assert done.returncode == 3
    assert 'pip install "fairstats[cli]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_several_models_are_named(tmp_path: Path) -> None:
    file = tmp_path / "models.csv"
    rows = [
        f"{g},{(k + (g == 'a')) % 3 > 0:d},{k % 2},{k % 3 > 0:d}" for k in range(60) for g in "ab"
    ]
    file.write_text("\n".join(["g,y,first,second", *rows]), encoding="utf-8")
    options = ("audit", file, "--group", "g", "--y-true", "y")
    found = run(*options, "--y-pred", "one=first", "--y-pred", "two=second", "--full")
    assert found.exit_code == 0, found.output
    assert "Models on the same people" in found.output
    unnamed = run(*options, "--y-pred", "first", "--y-pred", "second")
    assert unnamed.exit_code == 2
    assert "NAME=COLUMN" in unnamed.output


def test_every_argument_of_an_audit_is_an_option() -> None:
    """What `fairstats.audit` takes, the command line takes: under its name, or one that is said
    here.
    """
    names = set()
    tables = (
        "rows",
        "numbers",
        "audit",
        "comparing",
        "inferred",
        "mitigation",
        "engine",
    )
    for table in tables:
        names |= set(TABLES[table])
    arguments = set(inspect.signature(fairstats.audit).parameters)
    assert arguments - names == {"frame", "sensitive_features"}  # FILE, --group
    # of DuckDB alone, which a table in memory does without
    assert names - arguments == {"group", "pos_label_pred", "memory"}


def test_short_help_and_completion() -> None:
    """`-h` is `--help`, also of a command; a shell can ask for completions."""
    for arguments in ((), ("audit",), ("vignettes",)):
        short, long = run(*arguments, "-h"), run(*arguments, "--help")
        assert short.exit_code == long.exit_code == 0
        assert short.output == long.output
    assert "--show-completion" in run("--help").output


def test_the_rows_needed_for_a_ratio_of_ones_own(tmp_path: Path) -> None:
    """401 of 1,000 against 500: at the limit no number of rows would do, at 0.7 some would."""
    file = tmp_path / "near.csv"
    rows = [f"a,{k < 500:d}" for k in range(1000)] + [f"b,{k < 401:d}" for k in range(1000)]
    file.write_text("\n".join(["g,hat", *rows]), encoding="utf-8")
    options = ("audit", file, "--group", "g", "--y-pred", "hat")
    plain, asked = (
        " ".join(run(*options, *more).stdout.split()) for more in ((), ("--assume-ratio", "0.7"))
    )
    assert "None would do for the ratio" in plain
    assert "To settle the ratio if the true ratio is 0.7" in asked
    assert run(*options, "--assume-ratio", "-1").exit_code == 2


def test_a_cure_on_the_command_line_is_an_option(tmp_path: Path) -> None:
    """Python's mapping of labels, and its `missing=`, are options here."""
    path = tmp_path / "rows.csv"
    rows = "".join(f"{g},{t},{p}\n" for g in "ab" for t in ("paid", "late") for p in (0, 1))
    path.write_text("group,outcome,loan\n" + rows, encoding="utf-8")
    given = ["audit", path, "--y-true", "outcome", "--y-pred", "loan", "--group", "group"]
    refused = run(*given, "--pos-label", "paid")
    assert refused.exit_code == 2
    assert "--pos-label-pred" in refused.stderr
    assert "mapping" not in refused.stderr
    given += ["--pos-label", "paid", "--pos-label-pred", "1"]
    assert run(*given).exit_code == 0
    path.write_text("group,outcome,loan\n" + rows + "a,,1\n", encoding="utf-8")
    refused = run(*given)
    assert "pass --missing drop" in refused.stderr
    assert "missing=" not in refused.stderr
    assert refused.stderr.startswith("fairstats: --y-true: got missing values")


def test_numbers_and_other_scales_of_scores(people: Path) -> None:
    """Income beside labels; a score from 0 to 100, and one of which small values are good."""
    given = ("audit", people, *BASE)
    means = " ".join(run(*given, "--outcome", "weight", "--predicted", "score").stdout.split())
    assert "Mean absolute errors (weight)" in means
    alone = run("audit", people, "--group", "sex", "--outcome", "weight")
    assert alone.exit_code == 0
    assert "Means (weight)" in " ".join(alone.stdout.split())
    refused = run(*given, "--score", "percent")
    assert "--score-range 1,10" in refused.stderr
    full = (*given, "--full", "--score")
    unit = run(*full, "score").stdout.split("Score distributions")[-1]
    assert run(*full, "percent", "--score-range", "0,100").exit_code == 0
    assert "MADD" in run(*full, "percent", "--score-range", "100,0").stdout
    assert "MADD" in unit
    assert run(*full, "percent", "--score-range", "much").exit_code == 2


def test_a_name_with_a_line_end_is_shown_as_a_shell_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('"sex of\nperson",hat\na,1\nb,0\n', encoding="utf-8")
    refused = run("audit", path, "--y-pred", "hat", "--group", "sex of person")
    assert r"A shell takes it as $'sex of\nperson'." in refused.stderr


def test_a_label_that_reads_as_missing_is_said(tmp_path: Path) -> None:
    """ "None" as a religion: not among the labels, with words that do not say why, before."""
    path = tmp_path / "rows.csv"
    rows = "".join(f"{g},{label}\n" for g in "ab" for label in ("None", "Catholic", "Other"))
    path.write_text("g,religion\n" + rows, encoding="utf-8")
    given = ("audit", path, "--y-pred", "religion", "--group", "g", "--pos-label", "None")
    refused = run(*given, "--missing", "drop")
    assert "'None' reads as missing in a text file" in refused.stderr
    assert "--na-values NA" in refused.stderr
    assert run(*given, "--na-values", "NA").exit_code == 0
