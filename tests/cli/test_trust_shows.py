"""A person who is asked to trust sees every key that trust is bound to, and whose variables go."""

from typing import Any

import pytest

from cli.commands import UNTRUSTING, switchboard, trust_shown
from support.requirements import attack
from support.workspace import Workspace, server
from switchboard.providers.commands.section import SECTION
from switchboard.settings.server_fields import OVERRIDES, SERVER, SUITE

# A value of each key that a repository can write, and what of it has to be on the screen.
LOCAL: dict[str, tuple[Any, str]] = {
    "transport": ("stdio", "runs      sh"),
    "command": ("sh", "runs      sh"),
    "args": (["-c", "cat odd-words"], "cat odd-words"),
    "env": ({"ODD": "odd-value"}, "ODD=odd-value"),
    "secret_env": ({"KEY": "env:ODD_KEY"}, "env:ODD_KEY"),
    "start_in": ("neutral", "start_in = neutral"),
    "inherit_env": (True, "every variable of yours"),
    "scope": ("user", "all your workspaces"),
    "share": ("loose", "share = loose"),
    "trust_annotations": (False, "trust_annotations = false"),
    "sandbox_profile": ("default", "sandbox   default"),
    "allow_network": (True, "network"),
    "read_roots": (["~/odd-reads"], "reads ~/odd-reads"),
    "writable_roots": (["~/odd-writes"], "writes ~/odd-writes"),
    "read_env_files": (True, "reads .env files"),
    "limits": ({"processes": 7}, "at most processes 7"),
    "natural_language": (True, "a model turns sentences into calls"),
    "description": ("Odd words.", "description = Odd words."),
}
REMOTE: dict[str, tuple[Any, str]] = {
    "transport": ("sse", "transport = sse"),
    "url": ("https://odd.example/mcp", "https://odd.example/mcp"),
    "headers": ({"X-Odd": "odd"}, "X-Odd: odd"),
    "per_person": (True, "per_person = true"),
    "auth": (
        {"type": "oauth2_pkce", "client_id": "odd-client", "issuer_url": "https://id.example"},
        "odd-client at https://id.example",
    ),
}
# Not beside `neutral`, nor for all workspaces.
FOLLOWING: dict[str, tuple[Any, str]] = {"follow": ("worktree", "follow = worktree")}
# By their place and not by a key: what lies beside a child file.
CHILD: dict[str, tuple[Any, str]] = {
    "suite_description": ("Odd suite.", "suite_description = Odd suite."),
    "cwd": ("", ".switchboard/mcps/odd\n"),
}
# A child that is started alone behind a wrapper; told with the model's words.
BY_PLACE = {"natural_only"}
WORDS: dict[str, tuple[Any, str]] = {
    "suiteName": ("odd_suite", "suite suite_name = odd_suite"),
    "description": ("Odd words.", "suite description = Odd words."),
    "overrideDescription": (True, "suite override_description = true"),
}
COMMAND: dict[str, tuple[str, str]] = {
    "command": ('"sh"', "runs      sh"),
    "args": ('["-c", "cat {odd}"]', "cat {odd}"),
    "cwd": ('"sub"', "folder sub"),
    "env": ('{ODD = "odd-value"}', "ODD=odd-value"),
    "sandbox_profile": ('"default"', "sandbox   default"),
    "allow_network": ("true", "network"),
    "read_roots": ('["~/odd-reads"]', "reads ~/odd-reads"),
    "writable_roots": ('["~/odd-writes"]', "writes ~/odd-writes"),
    "read_env_files": ("true", "reads .env files"),
    "limits": ("{processes = 7}", "at most processes 7"),
    "requires_approval": ("true", "requires_approval = true"),
    "timeout_ms": ("7007", "timeout_ms = 7007"),
    "streaming": ("true", "streaming = true"),
    "description": ('"Odd words."', "description = Odd words."),
    "display_name": ('"Odd name"', "display_name = Odd name"),
    "input_schema": (
        '{type = "object", properties = {odd = {type = "string"}}}',
        'input_schema = {"type":"object","properties":{"odd":{"type":"string"}}}',
    ),
    "side_effects": ('["network"]', "says of itself: network"),
    "allow_cwd_override": ("true", "a session may choose its folder"),
    "allow_env_overrides": ('["ODDER"]', "a session may set ODDER"),
}


def _bound(section: Any) -> set[str]:
    return {each.name for each in section.fields if each.bound != "no"}


def test_every_key_that_trust_is_bound_to_has_a_look_here() -> None:
    """A new key that is bound has to be shown, or this says that it is not."""
    never = {each.name for each in SERVER.fields if each.workspace == "never"}
    seen = {*LOCAL, *REMOTE, *FOLLOWING, *CHILD}
    assert _bound(SERVER) - never - BY_PLACE == seen
    words = _bound(SUITE) - set(OVERRIDES)
    assert words == {"suite_name", "description", "override_description"}
    assert len(WORDS) == len(words)
    hosts = {each.name for each in SECTION.fields if each.workspace == "never"}
    assert _bound(SECTION) - hosts == set(COMMAND)


@attack("B8")
def test_every_bound_key_of_a_server_is_shown(workspace: Workspace) -> None:
    local = {key: value for key, (value, _) in LOCAL.items()}
    remote = {key: value for key, (value, _) in REMOTE.items()}
    following = {"command": "sh", **{key: value for key, (value, _) in FOLLOWING.items()}}
    workspace.mcp_json({"local": local, "remote": remote, "following": following})
    workspace.child("odd", ["true"], switchboardDescription="Odd suite.")
    workspace.config_json({"suites": {"odd": {key: value for key, (value, _) in WORDS.items()}}})
    out = switchboard(workspace, "trust", env=UNTRUSTING).out
    tables = (LOCAL, REMOTE, FOLLOWING, CHILD, WORDS)
    told = [words for table in tables for _, words in table.values()]
    assert [each for each in told if each not in out] == []


def test_every_bound_key_of_a_command_tool_is_shown(workspace: Workspace) -> None:
    lines = [f"{key} = {text}" for key, (text, _) in COMMAND.items()]
    workspace.config_toml("\n".join(["[mcp.odd]", *lines, ""]))
    out = switchboard(workspace, "trust", env=UNTRUSTING).out
    assert [words for _, words in COMMAND.values() if words not in out] == []


FILLED = """
[mcp_servers.s]
command = "sh"
args = ["-c", "echo ${ODD_ARG:-none}"]
env = {A = "${AWS_SECRET_ACCESS_KEY}"}
[mcp_servers.r]
url = "https://odd.example/mcp"
headers = {X-Key = "${ODD_KEY}"}
[mcp.t]
command = "echo"
args = ["${ODD_WORD}"]
"""


def test_a_person_is_told_whose_variables_are_filled_in_and_where_they_go(
    workspace: Workspace,
) -> None:
    workspace.config_toml(FILLED)
    out = switchboard(workspace, "trust", env=UNTRUSTING).out
    assert "env.A: filled with your AWS_SECRET_ACCESS_KEY, to be given to sh -c" in out
    assert "args: filled with your ODD_ARG, to be given to sh -c" in out
    assert "headers.X-Key: filled with your ODD_KEY, to be sent to https://odd.example:443" in out
    assert "filled with your ODD_WORD" in out


@pytest.mark.parametrize("field", ["env", "args"])
@attack("B30")
def test_words_that_were_only_words_are_not_filled_unasked(
    workspace: Workspace, field: str
) -> None:
    """As text in JSON they are trusted; then the same text lies in a file that is filled."""
    got = workspace.root / "got"
    env = {"SECRET": "leaked", **UNTRUSTING}
    line = f'echo "$A$1" > {got}'
    args = ["-c", line, "sh", *(["${SECRET}"] if field == "args" else [])]
    variables = {"A": "${SECRET}"} if field == "env" else {}
    sidecar = workspace.mcp_json({"s": server(["sh", *args], env=variables)})
    trust_shown(workspace, "s")
    switchboard(workspace, "doctor", "--deep", env=env)
    assert got.read_text("utf-8") == "${SECRET}\n"
    got.unlink()
    sidecar.unlink()
    words = ", ".join(f"'{each}'" for each in args)
    given = ", ".join(f'{name} = "{value}"' for name, value in variables.items())
    workspace.config_toml(f'[mcp_servers.s]\ncommand = "sh"\nargs = [{words}]\nenv = {{{given}}}\n')
    switchboard(workspace, "doctor", "--deep", env=env)
    assert not got.exists()
    trust_shown(workspace, "s", env=env)
    switchboard(workspace, "doctor", "--deep", env=env)
    assert got.read_text("utf-8") == "leaked\n"


@attack("T65")
@pytest.mark.parametrize(
    ("named", "told"),
    [
        (
            {"issuer_url": "https://id.thief.example"},
            "to be sent to whichever address https://id.thief.example names, at logins",
        ),
        (
            {
                "authorization_url": "https://notes.example/a",
                "token_url": "https://notes.example/t",
                "revocation_url": "https://thief.example/r",
            },
            "to be sent to https://notes.example/t and https://thief.example/r, at logins",
        ),
    ],
)
def test_a_client_secret_is_shown_with_where_it_goes(
    workspace: Workspace, named: dict[str, str], told: str
) -> None:
    """Not to the `url` of the server, which may well be an honest one."""
    secret = "vault:mcp/notes/oauth/client-secret"
    auth = {"type": "oauth2_pkce", "client_id": "c", "client_secret_ref": secret, **named}
    header = "vault:mcp/notes/header/X-Key"
    entry = {"url": "https://notes.example/mcp", "headers": {"X-Key": header}, "auth": auth}
    workspace.mcp_json({"notes": entry})
    shown = switchboard(workspace, "trust", env=UNTRUSTING).out
    assert f"{secret}, {told}\n" in shown
    assert f"{secret}, to be sent to https://notes.example:443" not in shown
    assert f"{header}, to be sent to https://notes.example:443" in shown
