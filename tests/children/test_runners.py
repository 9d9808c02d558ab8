"""What interpreters and package runners take from the folder that they start in."""

import os
from pathlib import Path

import pytest

from switchboard.children.environment import child_environment
from switchboard.children.schema import ServerEntry
from switchboard.children.starting.runners import Taken, program_file, taken_from_folder
from switchboard.children.starting.start_folder import command_line
from switchkit.commands import resolved_command, search_path


@pytest.mark.parametrize(
    ("line", "taken", "file"),
    [
        ("python3 -m server", "modules", ""),
        ("python3 -Em server", "modules", ""),
        ("python3 -X dev -c import_server", "modules", ""),
        ("python3 -", "modules", ""),
        ("python3", "modules", ""),
        ("python3 -I -m server", "nothing", ""),
        ("python3 -P -m server", "nothing", ""),
        ("/opt/bin/python3.13 -u /opt/server.py -m other", "nothing", "/opt/server.py"),
        ("python3 -Wignore server.py", "nothing", "server.py"),
        ("python3 -W ignore server.py", "nothing", "server.py"),
        ("pypy3 -m server", "modules", ""),
        ("node /opt/server.js", "nothing", "/opt/server.js"),
        ("node --max-old-space-size=512 /opt/server.js", "nothing", "/opt/server.js"),
        ("node --import tsx /opt/server.ts", "settings", "/opt/server.ts"),
        ("node --env-file=.env /opt/server.js", "settings", "/opt/server.js"),
        ("node -e require(1)", "settings", ""),
        ("bash /opt/server.sh -c x", "nothing", "/opt/server.sh"),
        ("bash -lc server", "settings", ""),
        ("zsh", "settings", ""),
        ("NPX -y package", "settings", ""),
        ("/usr/local/bin/uvx package", "settings", "/usr/local/bin/uvx"),
        ("some-server --python -m", "nothing", ""),
        ("./npx-like", "nothing", "./npx-like"),
    ],
)
def test_a_command_line_is_judged_by_its_words(line: str, taken: Taken, file: str) -> None:
    command, *args = line.split()
    assert taken_from_folder(command, args) == taken
    assert program_file(command, args) == file


def _entry(**fields: object) -> ServerEntry:
    return ServerEntry(
        **{"name": "x", "transport": "stdio", "command": "python3", "args": ("-m", "y"), **fields}  # type: ignore[arg-type]
    )


def test_python_is_told_to_leave_the_modules_of_a_workspace_that_is_not_its_own() -> None:
    entry = _entry(cwd="/w/s", apart_from="/w/s")
    assert command_line(entry) == ("python3", "-P", "-m", "y")
    plain = ("python3", "-m", "y")
    assert command_line(_entry(cwd="/w/s")) == plain
    assert command_line(_entry(cwd="/w/s", apart_from="/w/s", neutral=True)) == plain
    assert command_line(_entry(cwd="/elsewhere", apart_from="/w/s")) == plain


def test_only_absolute_folders_of_a_search_path_count(tmp_path: Path) -> None:
    """Attempted: '.', an empty entry, a relative one, and a link that leads into the workspace."""
    workspace, link = tmp_path / "workspace", tmp_path / "link"
    (workspace / "bin").mkdir(parents=True)
    link.symlink_to(workspace / "bin")
    folders = [".", "", "bin", str(workspace / "bin"), str(link), "/usr/bin"]
    path = os.pathsep.join(folders)
    assert search_path(path).split(os.pathsep) == folders[3:]
    assert search_path(path, str(workspace)) == "/usr/bin"
    entry = _entry(apart_from=str(workspace), inherit_env=True)
    inherited = {"PATH": path, "NODE_PATH": f"lib:{workspace}/lib", "PYTHONPATH": "/opt:."}
    env = child_environment(entry, inherited, {})
    assert env == {"PATH": "/usr/bin", "PYTHONPATH": "/opt"}
    # What is left empty must not mean the folder that the program starts in.
    assert child_environment(entry, {"PATH": ".:"}, {})["PATH"] == os.defpath


def test_a_command_is_never_found_in_the_folder_that_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "some-program"
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", "", ":/usr/bin", "./"):
        with pytest.raises(FileNotFoundError):
            resolved_command("some-program", cwd=str(tmp_path), path=path)
    assert resolved_command("./some-program", cwd=str(tmp_path), path="") == str(program)


def test_a_runner_without_network_is_told_so() -> None:
    confined = {"sandbox_profile": "default", "command": "npx", "args": ("-y", "package")}
    env = child_environment(_entry(**confined), {}, {})
    assert env == {"npm_config_offline": "true", "UV_OFFLINE": "1"}
    assert child_environment(_entry(**confined, allow_network=True), {}, {}) == {}
    assert child_environment(_entry(sandbox_profile="default"), {}, {}) == {}
