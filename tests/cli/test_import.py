"""`init --import`: what other clients keep in a project comes over, or a line says why not."""

import json
import tomllib

import pytest

from cli.commands import UNTRUSTING, Finished, switchboard
from support.workspace import Json, Workspace

NOT_YET = "  its secret is not in the vault yet: switchboard vault put"
# A file as VS Code writes it: with comments, and a comma after the last item.
VSCODE = """\
{
  // What the editor asks its user for.
  "inputs": [{"id": "key", "type": "promptString", "password": true}],
  "servers": {
    /* of the team */
    "search": {
      "type": "http",
      "url": "https://search.example/${env:REGION}/mcp", // by region
      "headers": {"X-Api-Key": "${input:key}", "X-Url": "http://a//b"},
    },
    "files": {
      "command": "npx",
      "args": ["-y", "files-mcp", "${workspaceFolder}", "--notes=${workspaceFolder}/notes"],
      "cwd": "${workspaceFolder}",
      "env": {"HOME_DIR": "${userHome}/x"},
      "envFile": ".env",
    },
  },
}
"""
CLAUDE: Json = {
    "mcpServers": {
        "db": {
            "command": "db-mcp",
            "args": ["--url", "${DB_URL:-sqlite:///x.db}"],
            "env": {"DB_PASSWORD": "${DB_PASSWORD}", "LEVEL": "${LEVEL:-1}"},
        },
        "remote": {
            "type": "http",
            "url": "https://docs.example/mcp",
            "headers": {"Authorization": "${DOCS_AUTH}", "X-Plain": "1"},
        },
        "bearer": {
            "type": "http",
            "url": "https://b.example/mcp",
            "headers": {"Authorization": "Bearer ${REGION}"},
        },
        "unset": {"command": "x", "args": ["${NOT_SET_ANYWHERE}"]},
        "mounted": {"command": "docker", "args": ["run", "-v", "${workspaceFolder}:/w", "x"]},
        "odd": {"command": "x", "args": ["${command:pick}"]},
        "sleeping": {"command": "x", "disabled": True},
        "wrong": {"command": 7},
        "leaky": {"command": "x", "env": {"API_KEY": "0123456789-plain"}},
    }
}


@pytest.fixture
def project(workspace: Workspace) -> Workspace:
    workspace.settings.rmdir()
    workspace.env |= {"REGION": "eu", "DOCS_AUTH": "canary-auth", "HOME": str(workspace.user_home)}
    workspace.write(".vscode/mcp.json", VSCODE)
    workspace.write(".mcp.json", json.dumps(CLAUDE))
    return workspace


def imported(workspace: Workspace, *words: str) -> Finished:
    return switchboard(workspace, "init", "--import", *words, env=UNTRUSTING)


def written(workspace: Workspace) -> tuple[Json, Json]:
    plain = json.loads((workspace.settings / "mcp.json").read_text("utf-8"))["mcpServers"]
    toml = tomllib.loads((workspace.settings / "config.toml").read_text("utf-8"))
    return plain, toml["mcp_servers"]


def test_usual_entries_come_over_in_our_own_words(project: Workspace) -> None:
    done = imported(project)
    assert done.code == 0, done.err
    plain, filled = written(project)
    assert plain == {
        "remote": {
            "transport": "http",
            "url": "https://docs.example/mcp",
            "headers": {"Authorization": "env:DOCS_AUTH", "X-Plain": "1"},
        },
        "leaky": {"command": "x", "env": {"API_KEY": "0123456789-plain"}},
    }
    assert filled == {
        "db": {
            "command": "db-mcp",
            "args": ["--url", "${DB_URL:-sqlite:///x.db}"],
            "env": {"LEVEL": "${LEVEL:-1}"},
            "secret_env": {"DB_PASSWORD": "env:DB_PASSWORD"},
        },
        "bearer": {
            "transport": "http",
            "url": "https://b.example/mcp",
            "headers": {"Authorization": "Bearer ${REGION}"},
        },
        "search": {
            "transport": "http",
            "url": "https://search.example/${REGION}/mcp",
            "headers": {
                "X-Api-Key": "vault:mcp/search/header/X-Api-Key",
                "X-Url": "http://a//b",
            },
        },
        "files": {
            "command": "npx",
            "args": ["-y", "files-mcp", ".", "--notes=./notes"],
            "env": {"HOME_DIR": "${HOME}/x"},
            "start_in": "workspace",
        },
    }
    # What was written is understood, and waits for trust like all of a repository.
    assert switchboard(project, "config", "check", env=UNTRUSTING).code == 0
    servers = switchboard(project, "list", "--json", env=UNTRUSTING).report["servers"]
    assert {each["name"] for each in servers} == {*plain, *filled}


def test_what_is_left_behind_has_a_line_with_the_reason(project: Workspace) -> None:
    done = imported(project)
    left = dict(
        line.removeprefix("left ").split(" in .mcp.json: ", 1)
        for line in done.out.splitlines()
        if line.startswith("left ")
    )
    assert set(left) == {"unset", "mounted", "odd", "sleeping", "wrong"}
    assert left["unset"] == "`NOT_SET_ANYWHERE` is not set here; set it and import again"
    assert "whole path" in left["mounted"]
    assert "`${command:pick}`" in left["odd"]
    assert left["sleeping"] == "it is switched off there"
    assert left["wrong"]


def test_what_is_different_afterwards_is_said(project: Workspace) -> None:
    lines = imported(project).out.splitlines()
    for name, words in (
        (
            "search",
            "  its secret is not in the vault yet: switchboard vault put mcp/search/header/",
        ),
        ("files", "  without `envFile`: "),
        ("leaky", "  `API_KEY` looks like a secret, and both files keep it in plain text: "),
        ("db", "  into .switchboard/config.toml, which fills in its variables"),
    ):
        file = ".vscode/mcp.json" if name in {"search", "files"} else ".mcp.json"
        begins = lines.index(f"copied {name} from {file}")
        after = [line for line in lines[begins + 1 : begins + 5] if line.startswith("  ")]
        assert any(line.startswith(words) for line in after), (name, after)
    assert "0123456789-plain" not in "\n".join(lines)


def test_nothing_is_said_to_be_left_out_that_came_over(project: Workspace) -> None:
    lines = imported(project).out.splitlines()
    # A file with environment variables is the one thing here that has no place with us.
    assert [line for line in lines if line.startswith("  without ")] == [
        next(line for line in lines if "`envFile`" in line)
    ]
    assert not any("is not expanded" in line for line in lines)
    begins = lines.index("copied search from .vscode/mcp.json")
    assert [line for line in lines[begins + 1 : begins + 4] if line.startswith("  ")] == [
        "  into .switchboard/config.toml, which fills in its variables",
        "  its secret is not in the vault yet: switchboard vault put mcp/search/header/X-Api-Key",
    ]


def test_a_file_that_is_no_json_keeps_no_other_back(project: Workspace) -> None:
    project.write(".cursor/mcp.json", '{"mcpServers": {"a": }}')
    done = imported(project)
    assert done.code == 1
    assert "left .cursor/mcp.json as a whole: line 1, column 22: " in done.out
    plain, filled = written(project)
    assert len(plain) + len(filled) == 6
    # Who imports nothing need not know.
    assert switchboard(project, "init").code == 0


def test_a_configuration_that_is_there_keeps_every_letter(project: Workspace) -> None:
    project.settings.mkdir()
    mine = '# mine\n[mcp_servers.own]\ncommand = "y"  # as it was'
    (project.settings / "config.toml").write_text(mine, "utf-8")
    assert imported(project).code == 0
    assert (project.settings / "config.toml").read_text("utf-8").startswith(mine + "\n\n[")
    assert set(written(project)[1]) == {"own", "db", "bearer", "search", "files"}


def test_a_rehearsal_says_the_same_and_writes_nothing(project: Workspace) -> None:
    rehearsed = imported(project, "--dry-run", "--json").report["imported"]
    assert not project.settings.exists()
    assert imported(project, "--json").report["imported"] == rehearsed
