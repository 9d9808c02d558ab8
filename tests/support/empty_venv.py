"""Virtual environments with nothing in them but what a distribution declares to need.

Nothing is downloaded: what is declared lies in the environment of the tests, and is linked from
there, package by package. What is not declared is not there, as for whoever installs it.
"""

import subprocess
import sys
import venv
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BUILDER = ("hatchling",)
PATIENCE_S = 60


def make_empty_venv(folder: Path) -> Path:
    """Make an environment that has not even pip; gives its Python."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    return folder / "bin" / "python"


def link_declared(requirements: Iterable[str], folder: Path) -> Path:
    """Fill a folder with these distributions and all that they need."""
    folder.mkdir()
    for name in _closure(requirements):
        tops = {path.parts[0] for path in distribution(name).files or ()}
        # Beside packages there are programs, which lie elsewhere.
        for top in tops - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(str(distribution(name).locate_file(top)))
    return folder


def let_see(python: Path, folder: Path) -> None:
    """Have an environment find what lies in a folder, behind what is its own."""
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    (packages / "declared.pth").write_text(f"{folder}\n", "utf-8")


def build(checkout: Path, into: Path) -> list[Path]:
    """Build a wheel and an sdist of a checkout."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(into)],
        cwd=checkout,
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return sorted(into.iterdir())


def install(what: Path, python: Path, builder: Path) -> None:
    """Install a wheel, an sdist or a checkout with pip, from what is here alone."""
    words = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet", str(what)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", *words],
        # What `--no-build-isolation` expects to find.
        env={"PYTHONPATH": str(builder), "PATH": "/usr/bin:/bin"},
        cwd=builder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr


def _closure(requirements: Iterable[str]) -> set[str]:
    found: set[str] = set()
    wanted = [*requirements]
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        needs = distribution(name).requires or ()
        extras = [*requirement.extras, ""]
        for each in needs:
            marker = Requirement(each).marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                # It is judged: its extra is not asked for a second time.
                wanted.append(each.partition(";")[0])
    return found
