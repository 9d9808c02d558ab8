"""A wheel and an sdist, each installed alone, are the whole of Switchboard."""

import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.empty_venv import BUILDER, build, install, let_see, link_declared, make_empty_venv
from support.mcp_stdio import talking_to
from support.workspace import CHECKOUT, child_command
from switchboard import __version__

PATIENCE_S = 60
# They share what is installed once.
pytestmark = pytest.mark.xdist_group("installed")
# Everything is loaded; what an extra brings is named by whoever wants it.
LOADS_ALL = """
import importlib, json, pkgutil
missing = {}
for top in ("switchboard", "switchyard", "switchkit"):
    package = importlib.import_module(top)
    for module in pkgutil.walk_packages(package.__path__, top + "."):
        if module.name.rpartition(".")[2] == "__main__":
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as lacking:
            missing.setdefault(lacking.name.partition(".")[0], []).append(module.name)
print(json.dumps({"at": package.__file__, "missing": missing}))
"""
OF_EXTRAS = {"opentelemetry", "hvac"}
# Nobody has to have what the sources of a distribution do not need.
IN_SDIST = {
    "CHANGELOG.md",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "docs",
    "examples",
    "man",
    "pyproject.toml",
    "schemas",
    "src",
    ".gitignore",
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Give the wheel and the sdist of this checkout."""
    return build(CHECKOUT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give what builds from sources."""
    return link_declared(BUILDER, tmp_path_factory.mktemp("building") / "builder")


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(
    request: pytest.FixtureRequest, packages: list[Path], builder: Path
) -> Iterator[Path]:
    """Give the folder of an environment that has one of them."""
    (package,) = (
        each for each in packages if (each.suffix == ".whl") == (request.param == "wheel")
    )
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        python = make_empty_venv(Path(folder) / "venv")
        install(package, python, builder)
        let_see(python, link_declared(_declared(packages), Path(folder) / "declared"))
        yield python.parents[1]


def test_each_is_the_whole_of_switchboard_in_an_empty_environment(installed: Path) -> None:
    done = _run(installed, "python", "-c", LOADS_ALL)
    report = json.loads(done)
    assert report["missing"].keys() <= OF_EXTRAS
    assert Path(report["at"]).is_relative_to(installed)
    manuals = [*(CHECKOUT / "man").iterdir()]
    assert {each.name for each in manuals} == {"switchboard.1", "switchyard.1", "sy.1"}
    for manual in manuals:
        there = installed / "share" / "man" / "man1" / manual.name
        assert there.read_bytes() == manual.read_bytes()
    assert _run(installed, "switchboard", "--version").split()[-1] == __version__
    assert _run(installed, "switchyard", "--help") == _run(installed, "sy", "--help")


async def test_each_serves_a_client_and_calls_a_tool_through_its_daemon(installed: Path) -> None:
    project = installed.parent / "project"
    project.mkdir()
    server = child_command("echo_child", "echo")
    _run(installed, "switchboard", "add", "echo", "--global", "--", *server, cwd=project)
    try:
        said = _run(installed, "switchboard", "call", "echo", "add", "a=19", "b=23", cwd=project)
        assert said == "42\n"
        program = str(installed / "bin" / "switchboard")
        async with talking_to([program, "mcp"], cwd=project, env=_env(installed)) as client:
            await client.initialize()
            assert await client.tools()
        status = json.loads(_run(installed, "switchboard", "status", "--json", cwd=project))
        assert status["daemon"]["version"] == __version__
    finally:
        _run(installed, "switchboard", "daemon", "stop", cwd=project)


def test_a_distribution_holds_what_is_published_and_nothing_that_lies_about(
    packages: list[Path],
) -> None:
    sdist, wheel = sorted(packages, key=lambda each: each.suffix)
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert tops == IN_SDIST
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {
        "switchboard",
        "switchyard",
        "switchkit",
        "switchboard_mcp",
    }
    sources = {str(path.relative_to(CHECKOUT / "src")) for path in _sources()}
    assert sources <= {*names}


def _sources() -> Iterator[Path]:
    for path in (CHECKOUT / "src").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _declared(packages: list[Path]) -> list[str]:
    """What pip would download for whoever installs it, without an extra."""
    _, wheel = sorted(packages, key=lambda each: each.suffix)
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        told = message_from_bytes(archive.read(metadata))
    return [each for each in told.get_all("Requires-Dist", []) if "extra ==" not in each]


def _env(installed: Path) -> dict[str, str]:
    home = installed.parent / "home"
    home.mkdir(exist_ok=True)
    path = os.pathsep.join([str(installed / "bin"), "/usr/bin", "/bin"])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}


def _run(installed: Path, program: str, *words: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(installed / "bin" / program), *words],
        cwd=cwd or installed.parent,
        env=_env(installed),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
