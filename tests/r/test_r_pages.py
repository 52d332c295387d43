"""The pages and the NAMESPACE of the R package are those that the comments beside its functions
make, and each usage is that of its function.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.r
PACKAGE = Path(__file__).resolve().parents[2] / "r"
ROXYGEN = 'cat(requireNamespace("roxygen2", quietly = TRUE))'


def run_rscript(*arguments: str) -> str:
    done = subprocess.run(
        ["Rscript", "--vanilla", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package whose pages are made anew."""
    if shutil.which("Rscript") is None or run_rscript("-e", ROXYGEN) != "TRUE":
        pytest.skip("the R package roxygen2 is not installed")
    folder = tmp_path_factory.mktemp("pages") / "fairstats"
    folder.mkdir()
    for name in ("DESCRIPTION", "NAMESPACE"):
        shutil.copy(PACKAGE / name, folder / name)
    for name in ("R", "inst"):
        shutil.copytree(PACKAGE / name, folder / name)
    run_rscript(str(PACKAGE / "document.R"), str(folder))
    return folder


def test_pages_and_namespace_are_made_from_the_comments(made: Path) -> None:
    """Where this fails: Rscript r/document.R."""
    names = sorted(page.name for page in (made / "man").glob("*.Rd"))
    assert names == sorted(page.name for page in (PACKAGE / "man").glob("*.Rd"))
    for name in ("NAMESPACE", "DESCRIPTION", *(f"man/{name}" for name in names)):
        assert (made / name).read_text() == (PACKAGE / name).read_text(), name


def test_every_exported_function_has_a_page(made: Path) -> None:
    lines = (made / "NAMESPACE").read_text().splitlines()
    exported = {line[7:-1] for line in lines if line.startswith("export(")}
    pages = "".join(page.read_text() for page in (made / "man").glob("*.Rd"))
    assert len(exported) > 40
    assert {name for name in exported if f"\\alias{{{name}}}" not in pages} == set()
