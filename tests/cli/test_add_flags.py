"""`add`: everything that a server takes can be typed, and no secret is written down unsaid."""

import json
import shlex

import pytest

from cli.commands import UNTRUSTING, Finished, switchboard, typed
from support.workspace import Json, Workspace

KEY = "ghp_" + "canary0of0a0typed0key0000"


def added(workspace: Workspace, name: str = "x") -> Json:
    tree = json.loads((workspace.settings / "mcp.json").read_text("utf-8"))
    return tree["mcpServers"][name]


def test_what_a_server_takes_can_be_typed(workspace: Workspace) -> None:
    sandbox = ("--sandbox", "default", "--allow-network")
    words = (*sandbox, "--expose", "tools", "--scope", "session", "--timeout", "90s")
    done = typed(workspace, "add", "x", *words, "--", "sh")
    assert done.code == 0, done.err
    assert added(workspace) == {
        "command": "sh",
        "sandbox_profile": "default",
        "allow_network": True,
        "expose": "tools",
        "scope": "session",
        "rpc_timeout_ms": 90_000,
    }
    (listed,) = switchboard(workspace, "list", "--json", env=UNTRUSTING).report["servers"]
    assert (listed["trust"], listed["sandbox"]) == ("trusted", "default, network")


@pytest.mark.parametrize(
    ("given", "milliseconds"), [("30", 30_000), ("500ms", 500), ("2m", 120_000)]
)
def test_a_time_is_written_as_people_write_it(
    workspace: Workspace, given: str, milliseconds: int
) -> None:
    assert switchboard(workspace, "add", "x", "--timeout", given, "--", "sh").code == 0
    assert added(workspace)["rpc_timeout_ms"] == milliseconds


@pytest.mark.parametrize(
    "words",
    [
        ("--timeout", "soon", "--", "sh"),
        ("--timeout", "0", "--", "sh"),
        ("--sandbox", "tight", "--", "sh"),
        ("--scope", "all", "--", "sh"),
        ("--allow-network", "--", "sh"),
        ("--expose", "none", "--", "sh"),
        ("--header", "X-A=1", "--", "sh"),
        ("--header", "novalue", "--url", "https://x.example/mcp"),
    ],
)
def test_what_makes_no_sense_is_refused(workspace: Workspace, words: tuple[str, ...]) -> None:
    done = switchboard(workspace, "add", "x", *words)
    assert (done.code, done.out) == (2, "")
    assert not (workspace.settings / "mcp.json").exists()


@pytest.mark.parametrize(
    ("words", "corrected"),
    [
        (("x", "npx", "-y", "foo"), "switchboard add x -- npx -y foo"),
        (("x", "my prog"), "switchboard add x -- 'my prog'"),
        (("x", "sh", "-c", "it's"), "switchboard add x -- sh -c 'it'\\''s'"),
        (
            ("x", "--scope", "user", "docker", "run", "--env", "A=b", "image"),
            "switchboard add x --scope user -- docker run --env A=b image",
        ),
        (
            ("x", "uvx", "foo", "--timeout", "5m", "--expose=tools"),
            "switchboard add x --timeout 5m --expose=tools -- uvx foo",
        ),
    ],
)
def test_a_command_without_dashes_is_answered_with_the_line_to_type(
    workspace: Workspace, words: tuple[str, ...], corrected: str
) -> None:
    done = switchboard(workspace, "add", *words)
    assert (done.code, done.out) == (2, "")
    assert "a command stands after `--`" in done.err
    assert done.err.endswith(f"\n\nhint: {corrected}\n")
    again = switchboard(workspace, *shlex.split(corrected)[1:])
    assert again.code == 0, again.err
    assert added(workspace)["command"] == shlex.split(corrected.partition(" -- ")[2])[0]


def test_a_url_after_the_name_is_a_remote_server(workspace: Workspace) -> None:
    assert switchboard(workspace, "add", "x", "https://x.example/mcp").code == 0
    assert added(workspace) == {"transport": "http", "url": "https://x.example/mcp"}
    nameless = switchboard(workspace, "add", "https://x.example/mcp")
    assert nameless.code == 2
    assert nameless.err.endswith("hint: switchboard add docs https://x.example/mcp\n")
    both = switchboard(workspace, "add", "y", "https://x.example/mcp", "--", "sh")
    assert (both.code, both.out) == (2, "")


def test_headers_are_written_both_ways(workspace: Workspace) -> None:
    words = ("--header", "X-Team=a=b", "--header", "X-Version: 2", "--header", "X-Auth=env:TEAM")
    done = switchboard(workspace, "add", "x", "--url", "https://x.example/mcp", *words)
    assert done.code == 0, done.err
    assert added(workspace)["headers"] == {
        "X-Team": "a=b",
        "X-Version": "2",
        "X-Auth": "env:TEAM",
    }


def test_a_reference_is_looked_up_wherever_it_is_typed(workspace: Workspace) -> None:
    words = ("--env", "A_TOKEN=env:MINE", "--env", "B_TOKEN=vault:mcp/x/env/B_TOKEN")
    assert switchboard(workspace, "add", "x", *words, "--", "sh").code == 0
    assert added(workspace) == {
        "command": "sh",
        "secret_env": {"A_TOKEN": "env:MINE", "B_TOKEN": "vault:mcp/x/env/B_TOKEN"},
    }


@pytest.mark.parametrize("variable", ["API_TOKEN", "OF_ANOTHER_NAME"])
def test_a_secret_of_the_shell_is_referred_to_and_not_written_down(
    workspace: Workspace, variable: str
) -> None:
    done = switchboard(
        workspace, "add", "x", "--env", f"API_TOKEN={KEY}", "--", "sh", env={variable: KEY}
    )
    assert done.code == 0, done.err
    assert added(workspace) == {"command": "sh", "secret_env": {"API_TOKEN": f"env:{variable}"}}
    assert f"looked up as `env:{variable}`" in done.err
    assert KEY not in done.out + done.err


def warned(done: Finished) -> list[str]:
    assert done.code == 0, done.err
    # It is not repeated, not even in the warning.
    assert "hunter2" not in done.out + done.err
    return [line for line in done.err.splitlines() if line.startswith("warning: ")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--env", "API_TOKEN=hunter2", "--", "sh"), "switchboard vault put mcp/x/env/API_TOKEN"),
        (("--env", "URL=https://me:hunter2@x.example", "--", "sh"), "--env URL=env:NAME"),
        (
            ("--url", "https://x.example/mcp", "--header", "Authorization: Bearer hunter2hunter2"),
            "--header Authorization=vault:mcp/x/header/Authorization",
        ),
        (("--", "sh", "--token", "hunter2"), "hand it over with `--env` instead"),
    ],
)
def test_a_secret_is_written_in_plain_only_with_a_warning(
    workspace: Workspace, words: tuple[str, ...], says: str
) -> None:
    told = warned(switchboard(workspace, "add", "x", *words))
    (line,) = [each for each in told if "looks like a secret" in each]
    assert says in line


@pytest.mark.parametrize("before", [None, {"mcpServers": {"old": {"command": "one"}}}])
def test_nothing_is_left_behind_where_the_home_cannot_be_written(
    workspace: Workspace, before: Json | None
) -> None:
    path = workspace.settings / "mcp.json"
    if before is not None:
        path.write_text(json.dumps(before), "utf-8")
        path.chmod(0o640)
    else:
        workspace.settings.rmdir()
    # A file in its place: nobody can write below that, not even root.
    workspace.home.rmdir()
    workspace.home.write_text("", "utf-8")
    done = typed(workspace, "add", "x", "--", "sh")
    assert done.code != 0
    assert "is no folder" in done.err
    if before is None:
        assert not workspace.settings.exists()
    else:
        assert json.loads(path.read_text("utf-8")) == before
        assert path.stat().st_mode & 0o777 == 0o640
