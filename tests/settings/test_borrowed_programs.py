"""Code of a clone that is reached through programs which are not its own."""

import os
from pathlib import Path

import pytest

from settings.ground import Ground
from support.requirements import attack
from switchboard.children.schema import ServerEntry
from switchboard.settings.consent.sealed_files import why_whole
from switchboard.settings.trust import still_trusted, trust


def _put(path: Path, text: str = "good") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _trusted(ground: Ground, words: list[str], env: dict[str, str] | None = None) -> ServerEntry:
    entry = {"command": words[0], "args": words[1:], "env": env or {}}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    programs = str(ground.user_home / "bin")
    trust(ground.load(trusted=False, PATH=programs))
    (trusted,) = ground.load(trusted=False, PATH=programs).servers
    return trusted


def _asks_again(
    ground: Ground, words: list[str], runs: str, env: dict[str, str] | None = None
) -> bool:
    installed = _put(ground.user_home / "bin" / "builder", "#!/bin/sh\n")
    installed.chmod(0o755)
    code = _put(ground.workspace / runs)
    trusted = _trusted(ground, words, env)
    assert still_trusted(trusted, str(ground.workspace))
    code.write_text("evil", "utf-8")
    return not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["uvx", "--from", "mcp-server-time", "make"], "Makefile"),
        (["uvx", "--from", "mcp-server-time", "python", "-umserver"], "server.py"),
        (["uvx", "--from", "mcp-x", "--with", "builder", "builder"], "build.cfg"),
        (["npx", "-y", "-p", "mcp-x", "builder"], "build.cfg"),
        (["npx", "-y", "--package=mcp-x", "pytest"], "conftest.py"),
    ],
)
@attack("T80")
def test_a_program_that_a_runner_starts_beside_its_package_is_bound(
    ground: Ground, words: list[str], runs: str
) -> None:
    """Attempted: what is started is no server, and a file that it obeys changes after trust."""
    assert _asks_again(ground, words, runs)


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["uvx", "mcp-proxy", "builder"], "build.cfg"),
        (["mcp-proxy", "--command", "builder"], "build.cfg"),
        (["mcp-proxy", "--command=builder"], "build.cfg"),
        (["mcp-proxy", "--command:builder"], "build.cfg"),
        (["mcp-proxy", "-vcbuilder"], "build.cfg"),
        (["mcp-proxy", "git", "status"], ".git/config"),
        (["mcp-proxy", "/usr/bin/env"], "build.cfg"),
        (["npx", "-y", "mcp-proxy", "local"], "node_modules/.bin/local"),
        (["npx", "-y", "mcp-x", "-vvrserver"], "server.js"),
        (["npx", "-y", "mcp-x", "-csub"], "sub/x.js"),
        (["npx", "-y", "mcp-x", "--load:server"], "server.js"),
        (["npx", "-y", "mcp-x", "%2e/server"], "server.js"),
    ],
)
@attack("T81")
def test_another_program_among_the_words_of_a_server_is_bound(
    ground: Ground, words: list[str], runs: str
) -> None:
    """Attempted: no list has the program, or the option that a module is joined to."""
    assert _asks_again(ground, words, runs)


@attack("T81")
def test_another_program_in_a_variable_of_a_server_is_bound(ground: Ground) -> None:
    assert _asks_again(ground, ["uvx", "mcp-proxy"], "build.cfg", {"PROXY_STARTS": "builder"})


@attack("T81")
def test_a_program_that_is_installed_later_asks_again(ground: Ground) -> None:
    trusted = _trusted(ground, ["mcp-proxy", "builder"])
    assert trusted.seal is not None
    assert why_whole(trusted.seal, str(ground.workspace)) == ""
    _put(ground.user_home / "bin" / "builder")
    assert not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["npx", "-y", "mcp-x"], "bin/node"),
        (["github-mcp-server", "stdio"], "bin/git"),
        (["node", "server.js"], "bin/sh"),
        (["./run.sh"], "bin/sh"),
    ],
)
@attack("T82")
def test_programs_that_the_search_path_of_an_entry_leads_to_are_bound(
    ground: Ground, words: list[str], runs: str
) -> None:
    """Attempted: the program is the user's, and what it starts by a name is the clone's."""
    for name in ("server.js", "run.sh"):
        _put(ground.workspace / name)
    (ground.workspace / "bin").mkdir()
    trusted = _trusted(ground, words, {"PATH": f"bin{os.pathsep}/usr/bin{os.pathsep}/bin"})
    _put(ground.workspace / runs)
    assert not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize("words", [["python3", "-m", "mcp_x"], ["python3", "-m", "mcp_x.serve"]])
@attack("T83")
def test_a_folder_without_a_first_file_is_bound_as_the_module_of_its_name(
    ground: Ground, words: list[str]
) -> None:
    """Attempted: nothing of that name is installed, so that Python takes the clone's."""
    runs = "mcp_x/serve.py" if "." in words[2] else "mcp_x/__main__.py"
    assert _asks_again(ground, words, runs)


@pytest.mark.parametrize(
    "words",
    [
        ["uvx", "--from", "mcp-server-time==1.0", "mcp-server-time"],
        ["npx", "-y", "-p", "@modelcontextprotocol/server-memory", "server-memory"],
        ["npx", "-y", "@playwright/mcp@latest", "--browser", "firefox", "--headless"],
        ["npx", "-y", "@modelcontextprotocol/server-filesystem", ".", "./docs"],
        ["github-mcp-server", "stdio", "--toolsets", "repos,issues"],
    ],
    ids=" ".join,
)
def test_words_that_servers_are_given_can_be_followed(ground: Ground, words: list[str]) -> None:
    _put(ground.workspace / "docs" / "a.md")
    seal = _trusted(ground, words).seal
    assert seal is not None
    assert why_whole(seal, str(ground.workspace)) == ""
