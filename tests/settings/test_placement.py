"""Where servers start, decided from the files alone."""

import os
from typing import Any

import pytest

from settings.ground import Ground
from switchboard.children.schema import ServerEntry
from switchboard.settings.sections import Settings
from switchboard.settings.trust import trust, trust_folder

Json = dict[str, Any]


def loaded(ground: Ground, *, trusted: bool, **more: Any) -> Settings:
    """Load with the record of trust alone, as a person would have it."""
    if trusted:
        trust_folder(str(ground.home), str(ground.workspace))
    return ground.load(trusted=False, **more)


def home(ground: Ground, **fields: Any) -> None:
    ground.put(ground.home / "mcp.json", {"mcpServers": {"x": fields}})


def only(settings: Settings) -> ServerEntry:
    (entry,) = settings.servers
    assert settings.omitted == ()
    return entry


def test_in_a_folder_that_nobody_trusts_own_servers_start_elsewhere(ground: Ground) -> None:
    home(ground, command="some-server", args=["--quiet"])
    entry = only(loaded(ground, trusted=False))
    assert (entry.neutral, entry.apart_from) == (True, str(ground.workspace))
    # As it is written, it stays: once trusted, the entry is the same.
    assert entry.cwd == str(ground.workspace)
    entry = only(loaded(ground, trusted=True))
    assert (entry.neutral, entry.apart_from) == (False, str(ground.workspace))


def test_one_that_needs_the_workspace_waits_until_the_folder_is_trusted(ground: Ground) -> None:
    home(ground, command="some-server", start_in="workspace")
    settings = loaded(ground, trusted=False)
    assert settings.servers == ()
    (left_out,) = settings.omitted
    assert left_out.entry.name == "x"
    assert "not trusted" in left_out.reason
    assert left_out.hint == "switchboard trust --folder"
    # `config check`, `list` and `doctor` tell what is warned of.
    (warning,) = settings.warnings
    assert warning.path == str(ground.home / "mcp.json")
    assert warning.hint == "switchboard trust --folder"
    entry = only(loaded(ground, trusted=True))
    assert (entry.neutral, entry.apart_from) == (False, "")


def test_servers_of_the_workspace_start_in_it_once_they_are_trusted(ground: Ground) -> None:
    """One by one: for that, nobody has to trust the folder."""
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"command": "npx", "args": ["y"]}}})
    trust(ground.load(trusted=False))
    entry = only(loaded(ground, trusted=False))
    assert (entry.neutral, entry.apart_from) == (False, "")


def test_it_can_be_kept_out_of_every_workspace(ground: Ground) -> None:
    home(ground, command="some-server", start_in="neutral")
    assert only(loaded(ground, trusted=True)).neutral


@pytest.mark.parametrize(
    "words",
    [
        ["./server"],
        ["bin/server"],
        ["python3", "server.py"],
        ["python3.12", "-u", "-W", "ignore", "tools/server.py"],
        ["node", "--no-warnings", "server.js"],
        ["bash", "server.sh"],
    ],
    ids=" ".join,
)
def test_a_program_of_ones_own_is_never_looked_for_in_the_workspace(
    ground: Ground, words: list[str]
) -> None:
    command, *args = words
    home(ground, command=command, args=args)
    for trusted in (False, True):
        settings = loaded(ground, trusted=trusted)
        assert settings.servers == ()
        (left_out,) = settings.omitted
        assert "start_in" in left_out.hint
    home(ground, command=command, args=args, start_in="workspace")
    assert only(loaded(ground, trusted=True)).apart_from == ""


def test_a_full_path_into_the_workspace_waits_for_its_folder(ground: Ground) -> None:
    home(ground, command="python3", args=[str(ground.workspace / "server.py")])
    assert loaded(ground, trusted=False).servers == ()
    assert not only(loaded(ground, trusted=True)).neutral


def test_a_link_does_not_hide_that_a_program_lies_in_the_workspace(ground: Ground) -> None:
    """Attempted: the way to the program leads through a link outside."""
    target = ground.put(ground.workspace / "server", "#!/bin/sh\n")
    link = ground.user_home / "server"
    link.symlink_to(target)
    home(ground, command=str(link))
    assert loaded(ground, trusted=False).servers == ()


@pytest.mark.parametrize(
    "words",
    [
        ["npx", "-y", "some-package"],
        ["uvx", "some-package"],
        ["/usr/bin/npm", "exec", "some-package"],
        ["sh", "-c", "exec some-server"],
        ["make", "serve"],
        ["env", "A=1", "some-server"],
        ["node", "-r", "some-module", "/opt/server.js"],
        ["node", "-"],
        # Attempted: behind another program, whatever that is.
        ["flock", "/tmp/lock", "npx", "-y", "some-package"],
        ["prlimit", "--nofile=64", "/usr/bin/npx", "some-package"],
        ["prlimit", "python3", "-m", "module"],
        ["unshare", "-r", "bash", "/opt/start.sh"],
        ["node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "some-package"],
        ["node", "/opt/x/node_modules/tsx/dist/cli.mjs", "/opt/server.ts"],
        ["script", "-qc", "npx -y some-package", "/dev/null"],
        ["script", "-qc", "cd /opt && make serve", "/dev/null"],
        ["python3", "-c", "import subprocess; subprocess.run(['npx', 'some-package'])"],
        ["python3", "/opt/wrapper.py", "uvx", "some-package"],
        ["op", "run", "--", "python3.12", "-m", "server"],
        ["some-wrapper", "make"],
        # Interpreters of which nobody knows what they take.
        ["perl", "-e", "exec @ARGV", "some-server"],
        ["lua", "/opt/server.lua"],
    ],
    ids=" ".join,
)
def test_runners_start_elsewhere_also_where_the_folder_is_trusted(
    ground: Ground, words: list[str]
) -> None:
    command, *args = words
    home(ground, command=command, args=args)
    assert only(loaded(ground, trusted=True)).neutral
    home(ground, command=command, args=args, start_in="workspace")
    assert not only(loaded(ground, trusted=True)).neutral


@pytest.mark.parametrize(
    "words",
    [
        ["some-server"],
        ["/opt/bin/some-server", "--transport", "stdio"],
        ["mcp-server-git", "--repository", "."],
        ["mcp-server-time", "--local-timezone", "Europe/Berlin"],
        ["some-server", "--about", "It is time to make notes"],
        ["python3", "/opt/server.py", "--name", "x"],
        ["python3", "-I", "-m", "server"],
        ["node", "--no-warnings", "/opt/server.js", "/srv"],
        ["node", "/opt/x/node_modules/some-server/dist/index.js"],
        ["bash", "/opt/start.sh"],
    ],
    ids=" ".join,
)
def test_in_a_trusted_folder_other_programs_start_there(ground: Ground, words: list[str]) -> None:
    """The working directory stays the workspace where nothing is taken from it unasked."""
    command, *args = words
    home(ground, command=command, args=args)
    assert not only(loaded(ground, trusted=True)).neutral


def test_a_folder_that_is_worked_on_may_have_any_name(ground: Ground) -> None:
    (ground.user_home / "go").mkdir()
    home(ground, command="some-server", args=[str(ground.user_home / "go")])
    assert not only(loaded(ground, trusted=True)).neutral


def test_a_folder_that_a_named_file_asks_for_is_no_way_around(ground: Ground) -> None:
    """Attempted: a runner gets the settings of a workspace by way of `cwd`."""
    given = ground.put(
        ground.user_home / "given.json",
        {"mcpServers": {"x": {"command": "npx", "args": ["y"], "cwd": "sub"}}},
    )
    assert only(loaded(ground, trusted=False, config=given)).neutral
    settings = loaded(ground, trusted=True, config=given)
    assert settings.servers == ()
    assert "`cwd`" in settings.omitted[0].reason
    # Elsewhere it is what its user says.
    elsewhere = ground.put(
        ground.user_home / "given.json",
        {"mcpServers": {"x": {"command": "npx", "args": ["y"], "cwd": str(ground.user_home)}}},
    )
    entry = only(loaded(ground, trusted=True, config=elsewhere))
    assert (entry.neutral, entry.cwd) == (False, str(ground.user_home))


def test_the_home_of_the_user_is_no_strange_folder(ground: Ground) -> None:
    """Who works there keeps the programs of its `bin` folders, and servers beside their files."""
    ground.workspace = ground.user_home
    home(ground, command=str(ground.user_home / "bin" / "server"))
    ground.put(
        ground.home / "mcps" / "y" / ".mcp.json", {"name": "y", "command": {"cmd": "y-server"}}
    )
    entries = {each.name: each for each in loaded(ground, trusted=False).servers}
    assert entries["x"].apart_from == ""
    assert entries["x"].neutral
    assert set(entries) == {"x", "y"}
    assert not entries["y"].neutral


def test_a_workspace_cannot_say_it_of_a_server_of_its_user(ground: Ground) -> None:
    """Attempted: the workspace opens itself to a server of the home, in TOML, field by field."""
    ground.put(ground.home / "config.toml", '[mcp_servers.x]\ncommand = "some-server"\n')
    ground.put(ground.own / "config.toml", '[mcp_servers.x]\nstart_in = "workspace"\n')
    settings = loaded(ground, trusted=True)
    # Until then the user's own stays as it is.
    assert only(settings).start_in != "workspace"
    assert [each.name for each in settings.untrusted] == ["x"]


def test_where_a_server_starts_is_a_part_of_what_is_trusted(ground: Ground) -> None:
    entry: Json = {"command": "some-server"}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {**entry, "start_in": "neutral"}}})
    assert [each.name for each in ground.load(trusted=False).untrusted] == ["x"]


def test_folders_that_only_look_alike_are_not_the_workspace(ground: Ground) -> None:
    beside = f"{ground.workspace}-other{os.sep}server"
    home(ground, command=beside)
    assert only(loaded(ground, trusted=False)).neutral
