"""The one writer: inputs are safe by every name, files are whole or not there, whatever interrupts
the writing.

The witness of each law is the file system itself: bytes, inodes, modes and names before and after.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairstats.ground import drafts
from fairstats.ground.errors import InputError, WriteError
from fairstats.ground.outputs import Outputs
from fairstats.ground.writing import CSV, DOCUMENTS, HTML, JSON, Inputs, write_file

POSIX = os.name == "posix"
OLD = "old" * 10
NEW = "new" * 100_000

pytestmark = pytest.mark.skipif(not POSIX, reason="signals, links and devices of POSIX")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(params=["unnamed", "hidden"])
def draft(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both kinds of drafts: files without a name (Linux), and hidden ones (every other system)."""
    kind = str(request.param)
    if kind == "hidden":
        monkeypatch.setattr(os, "O_TMPFILE", 0, raising=False)
    return kind


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """An input."""
    path = tmp_path / "people.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    return path


# ---------------------------------------------------------------- inputs


def by_symbolic_link(people: Path) -> str:
    (people.parent / "link.csv").symlink_to(people)
    return str(people.parent / "link.csv")


def by_chain_of_links(people: Path) -> str:
    (people.parent / "first.csv").symlink_to(people.name)
    (people.parent / "second.csv").symlink_to("first.csv")
    return str(people.parent / "second.csv")


def by_hard_link(people: Path) -> str:
    os.link(people, people.parent / "hard.csv")
    return str(people.parent / "hard.csv")


def by_linked_folder(people: Path) -> str:
    other = people.parent.with_name(people.parent.name + "-link")
    other.symlink_to(people.parent)
    return str(other / people.name)


def by_another_spelling(people: Path) -> str:
    return f"{people.parent}/../{people.parent.name}/./{people.name}"


def by_relative_path(people: Path) -> str:
    return os.path.relpath(people)


ALIASES = (
    by_symbolic_link,
    by_chain_of_links,
    by_hard_link,
    by_linked_folder,
    by_another_spelling,
    by_relative_path,
)


@pytest.mark.parametrize("alias", ALIASES)
def test_an_input_is_written_by_no_name(people: Path, alias: Callable[[Path], str]) -> None:
    other = alias(people)
    before = contents(people.parent)
    for read, target in ((str(people), other), (other, str(people))):
        with pytest.raises(InputError, match="which is read here"):
            write_file(target, NEW, CSV, inputs=Inputs([read]))
    assert contents(people.parent) == before


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_an_input_is_not_written_by_a_descriptor(people: Path, name: str) -> None:
    with people.open("ab") as opened:
        target = name.format(opened.fileno())
        with pytest.raises(InputError, match="which is read here"):
            write_file(target, NEW, inputs=Inputs([people]))
    assert people.read_bytes() == b"a,b\n1,2\n"


@pytest.mark.parametrize("read", ["FOLDER", "FOLDER/*.csv", "FOLDER/pe?ple.csv"])
def test_members_of_folders_and_patterns_are_inputs(people: Path, read: str) -> None:
    inputs = Inputs([read.replace("FOLDER", str(people.parent))])
    assert inputs.hold(people)
    assert not inputs.hold(people.parent / "new.csv")


def test_a_path_that_exists_is_that_file_and_no_pattern(people: Path) -> None:
    literal = people.with_name("people[1].csv")
    literal.write_text("x", encoding="utf-8")
    neighbour = people.with_name("people1.csv")
    neighbour.write_text("y", encoding="utf-8")
    inputs = Inputs([literal])
    assert inputs.hold(literal)
    assert not inputs.hold(neighbour)


def test_names_that_differ_in_case_are_one_file_where_the_system_says_so(people: Path) -> None:
    other = people.with_name("PEOPLE.CSV")
    one_file = other.exists()
    assert Inputs([people]).hold(other) is one_file


def test_a_terminal_or_null_device_may_be_read_and_written() -> None:
    assert not Inputs(["/dev/null"]).hold("/dev/null")
    outputs = Outputs(["/dev/null"])
    outputs.plan("--out", Path("/dev/null"), HTML)
    outputs.plan("--json", Path("/dev/null"), JSON)
    outputs.write({"--out": lambda: NEW, "--json": lambda: NEW})
    assert outputs.failures == []


# ---------------------------------------------------------------- endings


@pytest.mark.parametrize("name", ["r.xls", "r.txt", "r", "r.html.bak", "html", ".json"])
def test_an_ending_that_is_not_made_is_refused(tmp_path: Path, name: str) -> None:
    endings = (*HTML, *DOCUMENTS)
    with pytest.raises(InputError, match=r"\.html, \.htm, \.docx or \.pdf"):
        write_file(tmp_path / name, NEW, endings)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["r.html", "r.HTM", "r.2026.docx", "r.PDF"])
def test_endings_are_those_of_any_case(tmp_path: Path, name: str) -> None:
    assert write_file(tmp_path / name, NEW, (*HTML, *DOCUMENTS)).read_text(encoding="utf-8") == NEW


# ---------------------------------------------------------------- what a replaced file keeps


def test_a_file_is_replaced_whole_and_alone(tmp_path: Path, draft: str) -> None:
    target = tmp_path / "r.json"
    target.write_text(OLD, encoding="utf-8")
    write_file(target, NEW, JSON)
    write_file(tmp_path / "new.json", NEW, JSON)
    assert contents(tmp_path) == {"r.json": NEW.encode(), "new.json": NEW.encode()}


def test_modes_are_kept_and_new_files_follow_the_mask(tmp_path: Path, draft: str) -> None:
    target = tmp_path / "r.json"
    target.write_text(OLD, encoding="utf-8")
    target.chmod(0o640)
    mask = os.umask(0o027)
    try:
        write_file(target, NEW, JSON)
        write_file(tmp_path / "new.json", NEW, JSON)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away"
)
def test_the_owner_is_kept(tmp_path: Path, draft: str) -> None:
    target = tmp_path / "r.json"
    target.write_text(OLD, encoding="utf-8")
    os.chown(target, 12345, 54321)
    write_file(target, NEW, JSON)
    assert (target.stat().st_uid, target.stat().st_gid) == (12345, 54321)


def test_a_link_stays_a_link(tmp_path: Path, draft: str) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "r.json").write_text(OLD, encoding="utf-8")
    link = tmp_path / "r.json"
    link.symlink_to(there / "r.json")
    nowhere_yet = tmp_path / "later.json"
    nowhere_yet.symlink_to(there / "later.json")
    write_file(link, NEW, JSON)
    write_file(nowhere_yet, NEW, JSON)
    assert link.is_symlink()
    assert nowhere_yet.is_symlink()
    assert contents(there) == {"r.json": NEW.encode(), "later.json": NEW.encode()}


def test_a_file_that_is_there_is_left_unless_it_may_be_replaced(tmp_path: Path, draft: str) -> None:
    target = tmp_path / "r.json"
    target.write_text(OLD, encoding="utf-8")
    with pytest.raises(InputError, match="is there already"):
        write_file(target, NEW, JSON, replace=False)
    write_file(tmp_path / "new.json", NEW, JSON, replace=False)
    assert contents(tmp_path) == {"r.json": OLD.encode(), "new.json": NEW.encode()}


def test_a_file_that_came_meanwhile_is_left(
    tmp_path: Path, draft: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "r.json"

    def another_writes(handle: int) -> None:
        target.write_text(OLD, encoding="utf-8")

    monkeypatch.setattr(os, "fsync", another_writes)
    with pytest.raises(InputError, match="is there already"):
        write_file(target, NEW, JSON, replace=False)
    assert contents(tmp_path) == {"r.json": OLD.encode()}
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    write_file(target, NEW, JSON)
    assert contents(tmp_path) == {"r.json": NEW.encode()}


def test_file_systems_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*paths: object, **options: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "O_TMPFILE", 0, raising=False)
    monkeypatch.setattr(os, "link", no_links)
    write_file(tmp_path / "r.json", NEW, JSON, replace=False)
    assert contents(tmp_path) == {"r.json": NEW.encode()}
    with pytest.raises(FileExistsError):
        drafts._rename_to_new(tmp_path / "r.json", tmp_path / "r.json")


# ---------------------------------------------------------------- pipes and devices


def test_pipes_are_written_as_they_are(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    copy = tmp_path / "copy"
    with copy.open("wb") as out, subprocess.Popen(["cat", str(pipe)], stdout=out) as reader:
        write_file(pipe, NEW, JSON)
        assert reader.wait(timeout=30) == 0
    assert copy.read_bytes() == NEW.encode()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_reader_that_has_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        write_file(f"/dev/fd/{writing}", NEW)
    finally:
        os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_without_room_is_a_failure_and_not_a_fault_of_the_path() -> None:
    with pytest.raises(WriteError, match="No space left"):
        write_file("/dev/full", NEW, HTML)


@pytest.mark.parametrize(
    "name", ["no/r.json", "people.csv/r.json", "x" * 300 + ".json", "folder.json", "\0.json"]
)
def test_a_path_that_cannot_be_written_is_an_input_error(people: Path, name: str) -> None:
    (people.parent / "folder.json").mkdir()
    with pytest.raises(InputError):
        write_file(f"{people.parent}/{name}", NEW, JSON)


# ---------------------------------------------------------------- full disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory with room for 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_the_old_file(small_disk: Path, draft: str) -> None:
    target = small_disk / "r.json"
    target.write_text(OLD, encoding="utf-8")
    with pytest.raises(WriteError, match="No space left"):
        write_file(target, NEW, JSON)
    with pytest.raises(WriteError, match="No space left"):
        write_file(small_disk / "new.json", NEW, JSON)
    assert contents(small_disk) == {"r.json": OLD.encode()}


def child(code: str, *arguments: object, hidden: bool = False) -> list[str]:
    """A command that runs `code` in another process, where drafts may be hidden files."""
    kind = "os.O_TMPFILE = 0\n" if hidden else ""
    return [
        sys.executable,
        "-c",
        f"import os, sys, signal, time\n{kind}{code}",
        *map(str, arguments),
    ]


TOO_LARGE = """
import resource
from fairstats.ground.writing import write_file
from fairstats.ground.errors import WriteError
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    write_file(sys.argv[1], "new" * 100_000)
except WriteError as problem:
    print(problem.cause)
"""


@pytest.mark.parametrize("hidden", [False, True])
def test_a_limit_of_sizes_leaves_the_old_file(tmp_path: Path, hidden: bool) -> None:
    target = tmp_path / "r.json"
    target.write_text(OLD, encoding="utf-8")
    done = subprocess.run(
        child(TOO_LARGE, target, hidden=hidden), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == os.strerror(errno.EFBIG)
    assert contents(tmp_path) == {"r.json": OLD.encode()}


# ---------------------------------------------------------------- signals

#: The command line, whose work is to write one file; it stops before the file takes its place until
#: it is killed.
STOPPED = """
# a run in the background of a shell, or under nohup, would inherit that these are ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

from fairstats import __main__ as program
from fairstats.ground.writing import write_file

def stop(handle):
    print("half", flush=True)
    time.sleep(60)

def work():
    write_file(sys.argv[1], "new" * 100_000)
    return 0

os.fsync = stop
program._run = work
program.main()
"""


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_a_process_that_is_killed_leaves_the_old_file(
    tmp_path: Path, number: signal.Signals, code: int, hidden: bool
) -> None:
    target = tmp_path / "r.json"
    target.write_text(OLD, encoding="utf-8")
    command = child(STOPPED, target, hidden=hidden)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in said
    left = contents(tmp_path)
    assert left.pop("r.json") == OLD.encode()
    # SIGKILL gives nobody a chance to tidy up: a draft that has a name stays, hidden, under a name
    # nobody chose.
    killed_with_a_name = hidden and number == signal.SIGKILL
    assert len(left) == int(killed_with_a_name)
    assert all(name.startswith(".fairstats-") for name in left)


def test_a_draft_goes_with_any_exception(
    tmp_path: Path, draft: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    target = tmp_path / "r.json"
    target.write_text(OLD, encoding="utf-8")
    monkeypatch.setattr(os, "fsync", interrupted)
    open_before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    with pytest.raises(KeyboardInterrupt):
        write_file(target, NEW, JSON)
    open_after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    assert contents(tmp_path) == {"r.json": OLD.encode()}
    assert open_after == open_before


# ---------------------------------------------------------------- several outputs


def test_each_output_is_tried_and_every_failure_is_kept(tmp_path: Path) -> None:
    def broken() -> str:
        raise ZeroDivisionError("a fault of ours")

    outputs = Outputs()
    outputs.plan("--out", tmp_path / "r.html", HTML)
    outputs.plan("--csv", tmp_path / "r.csv", CSV)
    outputs.plan("--json", tmp_path / "r.json", JSON)
    (tmp_path / "r.csv").mkdir()  # in the way since it was looked at
    outputs.write({"--out": broken, "--csv": lambda: NEW, "--json": lambda: NEW})
    assert [type(problem) for problem in outputs.failures] == [ZeroDivisionError, InputError]
    assert outputs.written == [tmp_path / "r.json"]
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == NEW


def test_no_two_outputs_go_to_one_place(tmp_path: Path) -> None:
    outputs = Outputs()
    outputs.plan("--out", tmp_path / "r.html", HTML)
    (tmp_path / "link.html").symlink_to(tmp_path / "r.html")
    with pytest.raises(InputError, match="where --out writes, too"):
        outputs.plan("--second", tmp_path / "link.html", HTML)
    with pytest.raises(InputError, match="where --out writes, too"):
        outputs.plan("--second", Path(f"{tmp_path}/./r.html"), HTML)


def test_two_names_that_became_one_file_are_found_when_it_is_written(tmp_path: Path) -> None:
    outputs = Outputs()
    outputs.plan("--out", tmp_path / "r.html", HTML)
    outputs.plan("--second", tmp_path / "s.html", HTML)

    def link_appears() -> str:
        (tmp_path / "s.html").symlink_to(tmp_path / "r.html")
        return OLD

    outputs.write({"--out": lambda: NEW, "--second": link_appears})
    assert [str(problem) for problem in outputs.failures if "just before" in str(problem)]
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == NEW
