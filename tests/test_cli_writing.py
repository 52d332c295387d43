"""The command line and what it writes.

No input by any option, every output that can be, exit codes, odd streams.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairstats as fs

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("jinja2")

from typer.testing import CliRunner

from fairstats.cli import exits
from fairstats.cli.app import app
from fairstats.report.report import AuditReport

COLUMNS = ("--y-true", "y", "--y-pred", "hat", "--group", "sex")
ROOT = Path(fs.__file__).parents[1]


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def process(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own; `more` goes to `subprocess.run`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("variables", {})}
    command = [sys.executable, "-m", "fairstats", *map(str, arguments)]
    return subprocess.run(
        command, env=environment, text=True, check=False, **{"capture_output": True} | more
    )


def light(code: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """The program's `main` with other work than a command, in a process of its own."""
    head = "import sys\nfrom fairstats import __main__ as program\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("variables", {})}
    command = [sys.executable, "-c", f"{head}{code}\nprogram._run = work\nprogram.main()"]
    return subprocess.run(command, env=environment, check=False, **{"capture_output": True} | more)


def checksums(folder: Path) -> dict[str, str]:
    """Every file below a folder, by its checksum."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A file of 40 people."""
    path = tmp_path / "people.csv"
    table = {"sex": ["f", "m"] * 20, "y": [0, 1, 1, 0] * 10, "hat": [0, 0, 1, 1, 1] * 8}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


# ---------------------------------------------------------------- inputs


@pytest.mark.parametrize("option", ["--json", "--out"])
def test_the_mitigation_is_an_input(people: Path, option: str) -> None:
    effect = people.with_name("eff.json" if option == "--json" else "eff.html")
    effect.write_text("{}", encoding="utf-8")
    before = checksums(people.parent)
    done = run("audit", people, *COLUMNS, "--mitigation", effect, option, effect)
    assert done.exit_code == 2
    assert "which is read here" in done.stderr
    assert checksums(people.parent) == before


def test_a_name_with_brackets_is_the_file_of_that_name(people: Path) -> None:
    literal = people.with_name("people[1].csv")
    literal.write_bytes(people.read_bytes())
    people.with_name("people1.csv").write_bytes(people.read_bytes())
    before = checksums(people.parent)
    for option in ("--json", "--out"):
        done = run("audit", literal, *COLUMNS, option, literal)
        assert done.exit_code == 2
    assert checksums(people.parent) == before


def test_a_file_at_standard_input_is_an_input(people: Path) -> None:
    link = people.with_name("copy.json")
    link.symlink_to(people)
    before = people.read_bytes()
    with people.open("rb") as opened:
        done = process("audit", "-", *COLUMNS, "--json", link, stdin=opened)
    assert done.returncode == 2
    assert "which is read here" in done.stderr
    assert people.read_bytes() == before


LOCAL_LAW = ("adverse-impact", "FILE", "--selected", "hat", "--sex", "sex", "--template", "ll144")


@pytest.mark.parametrize(
    ("arguments", "endings"),
    [
        (("audit", "FILE", *COLUMNS, "--out", "HERE/report.xls"), ".html, .htm, .docx or .pdf"),
        (("audit", "FILE", *COLUMNS, "--json", "HERE/report.txt"), ".json"),
        (("tally", "FILE", *COLUMNS, "--out", "HERE/tally.csv"), ".json"),
        (("demo", "--out", "HERE/report.odt"), ".html, .htm, .docx or .pdf"),
        (("crosscheck", "HERE/r.json", "--out", "HERE/page.xml"), ".html, .htm, .docx or .pdf"),
        (("vignettes", "new", "HERE/a.md", "--data", "FILE", *COLUMNS), ".Rmd or .qmd"),
        ((*LOCAL_LAW, "--csv", "HERE/t.xls"), ".csv"),
    ],
)
def test_endings_that_are_not_made_are_refused_with_those_that_are(
    people: Path, arguments: tuple[str, ...], endings: str
) -> None:
    before = checksums(people.parent)
    places = {"FILE": str(people), "HERE": str(people.parent)}
    for mark, place in places.items():
        arguments = tuple(argument.replace(mark, place) for argument in arguments)
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert f"ends in {endings}" in done.stderr
    assert checksums(people.parent) == before


@pytest.mark.parametrize(
    "more", [("--template", "ugesp", "--csv", "t.csv"), ("--template", "ll144", "--json", "r.json")]
)
def test_an_output_that_a_template_does_not_make_is_refused(
    people: Path, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(people.parent)
    done = run("adverse-impact", people, "--selected", "hat", "--sex", "sex", *more)
    assert done.exit_code == 2
    assert more[2] in done.stderr
    assert sorted(checksums(people.parent)) == ["people.csv"]


def test_a_name_that_nobody_wrote_replaces_only_what_an_earlier_run_wrote(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(people.parent)
    mine = Path("tally.json")
    mine.write_text('{"mine": 1}', encoding="utf-8")
    done = run("tally", people, *COLUMNS)
    assert done.exit_code == 2
    assert "did not write" in done.stderr
    assert mine.read_text(encoding="utf-8") == '{"mine": 1}'
    mine.unlink()
    assert run("tally", people, *COLUMNS).exit_code == 0
    assert run("tally", people, *COLUMNS).exit_code == 0


# ---------------------------------------------------------------- all that can be written is


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_the_second_output_is_written_where_the_first_has_no_room(people: Path) -> None:
    target = people.with_name("r.json")
    done = run("audit", people, *COLUMNS, "--out", "/dev/full", "--json", target)
    assert done.exit_code == exits.FAILURE
    assert "'/dev/full' could not be written (No space left on device)" in done.stderr
    assert "Fairness of hat by sex" in done.stdout
    assert AuditReport.from_json(target).tables[0].n == 40


def test_a_page_that_cannot_be_made_holds_nothing_up(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> str:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("fairstats.cli.delivery.page_of", broken)
    target = people.with_name("r.json")
    done = run("audit", people, *COLUMNS, "--out", people.with_name("r.html"), "--json", target)
    assert done.exit_code == exits.FAILURE
    assert "an error within fairstats (ZeroDivisionError: a fault)" in done.stderr
    assert "FAIRSTATS_TRACEBACK=1" in done.stderr
    assert sorted(checksums(people.parent)) == ["people.csv", "r.json"]


def test_files_are_written_before_the_text(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def show(*arguments: object, **options: object) -> None:
        seen.append(sorted(checksums(people.parent)))

    monkeypatch.setattr("fairstats.cli.delivery.show", show)
    run(
        "audit",
        people,
        *COLUMNS,
        "--out",
        people.with_name("r.html"),
        "--json",
        people.with_name("r.json"),
    )
    assert seen == [["people.csv", "r.html", "r.json"]]


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (fs.InputError("a", got="b", allowed="c"), 2),
        (MemoryError(), 3),
        (KeyError("x"), 3),
        (OSError(28, "No space left on device"), 3),
        (KeyboardInterrupt(), 130),
        (exits.Terminated(15), 143),
    ],
)
def test_codes(problem: BaseException, code: int) -> None:
    assert exits.code_of(problem) == code
    assert exits.line_of(problem).startswith("fairstats: ")
    assert "\n" not in exits.line_of(problem)


BROKEN = "def work():\n    raise KeyError('no such key')"


def test_an_error_of_ours_is_one_line_and_its_place_is_shown_on_request() -> None:
    done = light(BROKEN)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    shown = light(BROKEN, variables={"FAIRSTATS_TRACEBACK": "1"})
    assert shown.returncode == 3
    assert b"Traceback" in shown.stderr


def test_what_fails_before_the_commands_has_its_code_too() -> None:
    done = light("def work():\n    raise KeyboardInterrupt")
    assert (done.returncode, done.stderr) == (130, b"fairstats: interrupted\n")


# ---------------------------------------------------------------- streams

WORDS = "def work():\n    print('−0.5 ∞ ✗ Zoë 猫')\n    return {}"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", b"-0.5 inf x Zo? ?\n"),
        ("cp1252", "-0.5 inf x Zoë ?\n".encode("cp1252")),
        ("utf-8", "−0.5 ∞ ✗ Zoë 猫\n".encode()),
    ],
)
def test_signs_that_a_stream_lacks_are_replaced(encoding: str, shown: bytes) -> None:
    done = light(WORDS.format(0), variables={"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stdout.replace(b"\r\n", b"\n"), done.stderr) == (0, shown, b"")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("code", [0, 1])
def test_a_reader_that_has_gone_changes_no_exit_code(code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    work = "def work():\n    print('x' * 1_000_000)\n    print('y')\n    return {}"
    done = light(work.format(code), stdout=writing, capture_output=False, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_terminal_without_room_is_a_failure() -> None:
    with Path("/dev/full").open("wb") as full:
        done = light(WORDS.format(1), stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 3
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="shells of POSIX")
def test_a_stream_that_is_closed_is_no_error() -> None:
    code = (
        f"from fairstats import __main__ as program\n{WORDS.format(0)}\nprogram._run ="
        " work\nprogram.main()"
    )
    command = ["sh", "-c", 'exec "$0" -c "$1" >&-', sys.executable, code]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_json_is_the_same_bytes_whatever_the_terminal(people: Path) -> None:
    """And a violation is still exit code 1 where the terminal knows no sign for it."""
    variables = {"PYTHONIOENCODING": "ascii"}
    done = process("audit", people, *COLUMNS, "--title", "Zoë", "--json", "-", variables=variables)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["title"] == "Zoë"
    target = people.with_name("r.json")
    strict = ("--threshold", "0.999", "--margin", "0.001", "--fail-on", "violated")
    uneven = people.with_name("uneven.csv")
    table = {"sex": ["f"] * 100 + ["m"] * 100, "y": [0, 1] * 100, "hat": [0] * 100 + [1] * 100}
    pd.DataFrame(table).to_csv(uneven, index=False)
    done = process("audit", uneven, *COLUMNS, *strict, "--json", target, variables=variables)
    assert done.returncode == 1, done.stderr
    assert AuditReport.from_json(target).violated


# ---------------------------------------------------------------- vignettes

#: Names that 0.1 made up beside a vignette audit.Rmd, and those that renderers choose.
BESIDE = (
    "audit-people.csv",
    "audit-report.json",
    "audit.report.json",
    "mine.report.json",
    "people.csv",
    "report.json",
    "recorded/audit.json",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a user who chose all these names before; `audit-people.csv` holds the rows.

    So many that no exact test is needed, which takes R longer than everything else.
    """
    table = {"sex": ["f", "m"] * 1_000, "y": [0, 1, 1, 0] * 500, "hat": [0, 0, 1, 1, 1] * 400}
    for name in BESIDE:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"mine: {name}", encoding="utf-8")
    pd.DataFrame(table).to_csv(tmp_path / "audit-people.csv", index=False)
    return tmp_path


def new(folder: Path, *more: object) -> Any:
    return run(
        "vignettes",
        "new",
        folder / "audit.Rmd",
        "--data",
        folder / "audit-people.csv",
        *COLUMNS,
        *more,
    )


def test_a_new_vignette_is_the_only_file(folder: Path) -> None:
    before = checksums(folder)
    assert new(folder).exit_code == 0
    after = checksums(folder)
    written = after.pop("audit.Rmd")
    assert after == before
    again = new(folder)
    assert again.exit_code == 2
    assert "--overwrite" in again.stderr
    assert checksums(folder)["audit.Rmd"] == written
    assert new(folder, "--title", "Another", "--overwrite").exit_code == 0
    assert checksums(folder)["audit.Rmd"] != written


def test_a_vignette_never_replaces_its_rows(folder: Path) -> None:
    rows = folder / "rows.Rmd"
    (folder / "link.Rmd").symlink_to(rows)
    rows.write_bytes((folder / "audit-people.csv").read_bytes())
    before = checksums(folder)
    for path in (rows, folder / "link.Rmd"):
        done = run("vignettes", "new", path, "--data", rows, *COLUMNS, "--overwrite")
        assert done.exit_code == 2
    assert checksums(folder) == before


def test_a_vignette_of_a_report_carries_it(folder: Path) -> None:
    report = fs.audit(
        pd.read_csv(folder / "audit-people.csv"), y_true="y", y_pred="hat", sensitive_features="sex"
    )
    before = checksums(folder)
    path = report.to_vignette(folder / "mine.Rmd")
    with pytest.raises(fs.InputError, match="overwrite=True"):
        report.to_vignette(path)
    assert report.to_vignette(path, overwrite=True) == path
    assert report.to_vignette(folder / "second.Rmd").read_bytes() == path.read_bytes()
    after = checksums(folder)
    del after["mine.Rmd"], after["second.Rmd"]
    assert after == before


#: By every route that the help of the command and the guide name.
ROUTES = {
    "rmarkdown": 'rmarkdown::render("audit.Rmd", quiet = TRUE)',
    "rmarkdown from another folder": (
        'dir.create("out"); setwd("out"); rmarkdown::render("../audit.Rmd", output_dir = ".", quiet'
        " = TRUE)"
    ),
    "rmarkdown in another working directory": (
        'dir.create("out"); rmarkdown::render("audit.Rmd", knit_root_dir = file.path(getwd(),'
        ' "out"), quiet = TRUE)'
    ),
    "knitr": 'knitr::knit("audit.Rmd", quiet = TRUE)',
    "with other rows in one session": (
        'for (data in c("audit-people.csv", "july.csv"))'
        ' rmarkdown::render("audit.Rmd", params = list(data = data), quiet = TRUE)'
    ),
}


@pytest.fixture(scope="module")
def r_variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which R finds both packages."""
    from fairstats.report.vignettes.by_r import lacking_for_r

    if why := lacking_for_r():
        pytest.skip(why)
    library = tmp_path_factory.mktemp("library")
    command = [
        "R",
        "CMD",
        "INSTALL",
        "--no-docs",
        "--no-byte-compile",
        f"--library={library}",
        str(ROOT / "r"),
    ]
    subprocess.run(command, capture_output=True, check=True)
    return {
        **os.environ,
        "R_LIBS": str(library),
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "FAIRSTATS_BACKEND": "scipy",
        "MPLBACKEND": "Agg",
        "TMPDIR": str(tmp_path_factory.mktemp("temporary")),
    }


@pytest.mark.r("rmarkdown", "knitr", "reticulate")
@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_rendering_leaves_the_folder_as_it_was(
    folder: Path, route: str, r_variables: dict[str, str]
) -> None:
    rows = pd.read_csv(folder / "audit-people.csv")
    rows.assign(sex=rows["sex"].replace("f", "x")).to_csv(folder / "july.csv", index=False)
    new(folder)
    before = checksums(folder)
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", ROUTES[route]],
        cwd=folder,
        env=r_variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    after = checksums(folder)
    products = {name: after.pop(name) for name in set(after) - set(before)}
    assert after == before
    assert {Path(name).name for name in products} <= {"audit.html", "audit.md"}
    (page,) = (folder / name for name in products)
    text = page.read_text(encoding="utf-8")
    assert "agree" in text
    if "july" in ROUTES[route]:
        assert ">x<" in text
    assert not list(Path(r_variables["TMPDIR"]).glob("fairstats-*"))


@pytest.mark.r("rmarkdown", "knitr", "reticulate")
@pytest.mark.slow
def test_what_r_markdown_would_remove_ends_the_rendering(
    folder: Path, r_variables: dict[str, str]
) -> None:
    new(folder)
    (folder / "audit_files").mkdir()
    (folder / "audit_files" / "mine.txt").write_text("mine", encoding="utf-8")
    before = checksums(folder)
    command = ["Rscript", "--vanilla", "-e", ROUTES["rmarkdown"]]
    done = subprocess.run(
        command, cwd=folder, env=r_variables, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "R Markdown would remove the files in audit_files" in done.stderr
    assert checksums(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("renderer", ["python", "r"])
def test_building_writes_the_page_alone(
    folder: Path, renderer: str, request: pytest.FixtureRequest
) -> None:
    for package in ("jupytext", "bs4", "nbconvert", "nbclient", "ipykernel", "latex2mathml"):
        pytest.importorskip(package)
    if renderer == "r":
        request.getfixturevalue("r_variables")
    else:
        (folder / "recorded" / "audit.json").unlink()
    new(folder)
    before = checksums(folder)
    done = run(
        "vignettes",
        "build",
        folder / "audit.Rmd",
        "--out",
        folder / "pages",
        "--renderer",
        renderer,
    )
    assert done.exit_code == 0, done.output
    after = checksums(folder)
    assert after.pop("pages/audit.html")
    assert after == before


def test_a_record_of_r_never_replaces_another_file(folder: Path) -> None:
    new(folder)
    before = checksums(folder)
    done = run("vignettes", "record", folder / "audit.Rmd")
    assert done.exit_code == exits.FAILURE
    assert "no record of what R printed" in done.stderr
    assert checksums(folder) == before


def test_a_page_is_written_over_no_input(folder: Path) -> None:
    new(folder)
    page = folder / "audit.html"
    page.hardlink_to(folder / "audit-people.csv")
    before = checksums(folder)
    done = run(
        "vignettes", "build", folder / "audit.Rmd", "--out", folder, "--param", f"data={page}"
    )
    assert done.exit_code == 2
    assert "which is read here" in done.stderr
    assert checksums(folder) == before


@pytest.mark.parametrize(
    "story", sorted((ROOT / "vignettes").glob("*.Rmd")), ids=lambda path: path.stem
)
def test_stories_write_into_a_folder_of_their_own(story: Path) -> None:
    """Every call that writes a file names the temporary folder, and every file that R reads lies
    there.
    """
    text = story.read_text(encoding="utf-8")
    code = "\n".join(
        re.findall(r"^```\{(?:python|r)[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    )
    writes = re.findall(r"\.to_(?:csv|json|html|document|vignette)\(([^)]*)", code)
    assert writes
    assert all(argument.startswith('f"{exchange.name}/') or not argument for argument in writes)
    reads = re.findall(r"(?:read\.csv|fs_read_report)\(([^,]*)", code)
    assert reads
    assert all(argument.startswith("file.path(exchange") for argument in reads)
    assert not re.search(
        r"savefig|open\(|write_text|writeLines|write\.csv|unlink|file\.remove", code
    )
