"""Somebody with an empty home, a clone of this checkout, and no network.

What they would download is linked from the environment of the tests. `uv` and `uvx` are stand-ins:
the one installs the package into an environment of its own with pip and puts its programs onto the
`PATH`, as `uv tool install` does; the other starts a server that is installed here. `claude` and
`codex` are the real ones, alone in a network of their own.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from support.empty_venv import BUILDER, install, let_see, link_declared, make_empty_venv
from support.hosts import claude_program, codex_program
from support.terminal import answered
from support.workspace import CHECKOUT, SCRIPTS

_HOSTS = {"claude": claude_program, "codex": codex_program}
_ALONE = "unshare --user --map-root-user --net"
_PATIENCE_S = 100.0
_TOOL = ".local/share/uv/tools/switchboard-mcp"
_PROGRAMS = ("switchboard", "switchyard", "sy")
_UNINSTALL = "tool uninstall switchboard-mcp"
# No host looks for a newer version of itself, or tells anybody that it runs.
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


class Newcomer:
    """Their home, their clone beside it, and what they type."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.clone = folder / "switchboard"
        self.declared = folder / "declared"
        self._builder = folder / "builder"
        bin_ = folder / "bin"
        for made in (self.home, bin_):
            made.mkdir()
        self.env: dict[str, str] = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(self.home / ".local/bin"), str(bin_), "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **_QUIET,
        }
        link_declared(_declared(), self.declared)
        link_declared(BUILDER, self._builder)
        _write_program(bin_ / "uv", self._installer())
        _write_program(bin_ / "uvx", f'program=$1; shift; exec "{SCRIPTS}/$program" "$@"')
        for name, program in _HOSTS.items():
            _write_program(bin_ / name, f'exec {_ALONE} "{program()}" "$@"')

    def _installer(self) -> str:
        words = (self.home, self._builder, self.declared)
        given = " ".join(f'"{each}"' for each in words)
        return (
            f'exec env PYTHONPATH="{CHECKOUT / "tests"}" "{sys.executable}"'
            f' -m support.newcomer {given} "$*"'
        )

    def copy_checkout(self) -> None:
        """Have a clone, with what is not committed yet."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            if (CHECKOUT / name).is_file():
                (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(CHECKOUT / name, self.clone / name)

    def download_nothing(self) -> None:
        """Make the `.venv` of the clone without pip's part of `make`, and say that it is there."""
        python = make_empty_venv(self.clone / ".venv")
        install(self.clone, python, self._builder)
        let_see(python, self.declared)
        for stamp in (".package", ".runtime"):
            (self.clone / ".venv" / stamp).touch()

    def types(self, block: str, cwd: Path) -> str:
        """Run what they type, line for line, and say yes to whatever is asked; what is shown."""
        code, shown = answered(
            ["bash", "-e", "-c", block],
            cwd=cwd,
            env=self.env,
            answer=lambda: "y",
            patience_s=_PATIENCE_S,
        )
        assert code == 0, shown
        return shown

    def runs(self, *command: str, cwd: Path | None = None) -> str:
        """Run a program without a terminal; what it prints."""
        done = subprocess.run(
            command,
            cwd=cwd or self.home,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _declared() -> list[str]:
    with (CHECKOUT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["dependencies"]


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


def remove_tool(home: Path) -> None:
    """Remove what was installed, as `uv tool uninstall` does."""
    for name in _PROGRAMS:
        (home / ".local" / "bin" / name).unlink(missing_ok=True)
    shutil.rmtree(home / _TOOL, ignore_errors=True)


def install_tool(home: Path, builder: Path, declared: Path, sources: Path) -> None:
    """Install sources as `uv tool install` does: their programs alone are on the `PATH`."""
    python = make_empty_venv(home / _TOOL)
    install(sources, python, builder)
    let_see(python, declared)
    programs = home / ".local" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name in _PROGRAMS:
        (programs / name).symlink_to(python.parent / name)


def main(home: Path, builder: Path, declared: Path, asked: str) -> int:
    """The stand-in for `uv`, which knows no more than what is written in our pages."""
    if asked not in {"tool install .", "tool install --reinstall .", _UNINSTALL}:
        return 2
    remove_tool(home)
    if asked != _UNINSTALL:
        install_tool(home, builder, declared, Path.cwd())
    return 0


if __name__ == "__main__":
    _home, _builder, _linked, _asked = sys.argv[1:]
    sys.exit(main(Path(_home), Path(_builder), Path(_linked), _asked))
