"""Whatever a command line spells, does or loads: what cannot be followed is bound to every file."""

import os
from pathlib import Path

import pytest

from settings.ground import Ground
from settings.made_data import sqlite
from support.requirements import attack
from support.sources import command_tools
from switchboard.children.schema import ServerEntry
from switchboard.settings.consent.sealed_files import why_whole
from switchboard.settings.trust import still_trusted, trust

# Each with the file that it runs.
SHELLS = [
    (["bash", "-c", "sh run$OPTERR.sh"], "run1.sh"),
    (["bash", "-c", "let x=1+1; sh run$x.sh"], "run2.sh"),
    (["bash", "-c", "(( x = 2 )); sh run$x.sh"], "run2.sh"),
    (["bash", "-c", "i=1; ((i++)); sh run$i.sh"], "run2.sh"),
    (["bash", "-c", "for ((i=1;i<3;i++)); do sh run$i.sh; done"], "run2.sh"),
    (["bash", "-c", "declare -u x=a; sh run$x.sh"], "runA.sh"),
    (["bash", "-c", "x[0]=2; sh run$x.sh"], "run2.sh"),
    (["bash", "-c", "exec {x}</dev/null; sh run$x.sh"], "run10.sh"),
    (["sh", "-c", "echo \"sh r'u'n.sh\" | sh"], "run.sh"),
    (["sh", "-c", "printf 'sh %s%s' ru n.sh | sh"], "run.sh"),
    (["sh", "-c", "trap \"sh r'u'n.sh\" EXIT"], "run.sh"),
    (["sh", "-c", "trap 'sh ru*.sh' EXIT"], "run.sh"),
    (["sh", "-c", ">/dev/null eval \"sh r'u'n.sh\""], "run.sh"),
    (["bash", "-c", "coproc eval \"sh r'u'n.sh\"; wait"], "run.sh"),
    (["sh", "-c", "sh [[:lower:]]un.sh"], "run.sh"),
    (["bash", "-c", "sh [^x]un.sh"], "run.sh"),
    (["bash", "-O", "nocaseglob", "-c", "sh RU[N].sh"], "run.sh"),
    (["bash", "-O", "extglob", "-c", "sh @(run).sh"], "run.sh"),
    (["bash", "-c", 'sh r{un.sh,"a b"}'], "run.sh"),
    (["bash", "-c", 'sh r$"u"n.sh'], "run.sh"),
    (["npx", "-c", "sh [[:lower:]]un.sh"], "run.sh"),
    (["flock", "lock", "--command", "sh [[:lower:]]un.sh"], "run.sh"),
    (["script", "-q", "--command=sh [[:lower:]]un.sh", "/dev/null"], "run.sh"),
    (["env", "-S", "sh\\_run.sh"], "run.sh"),
]
OPTIONS = [
    (["ssh", "-o", "ProxyCommand=sh $PWD/run.sh", "host"], "run.sh"),
    (["make", "--eval=x:;sh $(CURDIR)/run.sh", "x"], "run.sh"),
    (["gdb", "-batch", "-ex", "shell sh $PWD/run.sh"], "run.sh"),
    (["git", "-c", "protocol.ext.allow=always", "ls-remote", "ext::sh run%S.sh"], "rungit.sh"),
    (["tar", "-cf", "/dev/null", "--checkpoint-action=exec=sh $PWD/run.sh", "."], "run.sh"),
    (["awk", 'BEGIN{system("sh $PWD/run.sh")}'], "run.sh"),
    (["perl", "-e", "system q(sh $PWD/run.sh)"], "run.sh"),
]
NAMES = [
    (["perl", "-I.", "-MServer", "-e", "1"], "Server.pm"),
    (["env", "PERL5OPT=-MServer", "PERL5LIB=.", "perl", "-e", "1"], "Server.pm"),
    (["java", "-cp", ".", "Server"], "Server.class"),
    (["node", "./server"], "server.node"),
    (["uvicorn", "server:app"], "server.py"),
    (["python3", "-tm", "pkg.server"], "pkg/server.py"),
    (["python3", "-m", "unittest", "pkg.server"], "pkg/server.py"),
    (["python3", "-c", "import os as o, pkg.server"], "pkg/server.py"),
    (["python3", "-c", "import\fpkg.server"], "pkg/server.py"),
    (["python3", "-c", "__import__('pkg.server')"], "pkg/server.py"),
]
# Thought of when the grammar was there.
FURTHER = [
    (["uvx", "uvicorn", "server:app"], "server.py"),
    (["npx", "-y", "mcp-proxy", "pkg.server.app"], "pkg/server.py"),
    (["uvx", "mcp-proxy", "--", "make"], "Makefile"),
    ([".venv/bin/uvicorn", "server:app"], "server.py"),
    (["python3", "-P", "-m", "pkg"], "pkg/server.py"),
    (["sh", "-c", "cd sub; sh run.sh"], "run.sh"),
    (["sh", "-c", "cd sub && sh x.sh || sh run.sh"], "run.sh"),
    (["docker", "run", "-v", ".:/app", "python", "python", "/app/server.py"], "server.py"),
    (["uv", "run", "--with", "./pkg", "x.py"], "pkg/server.py"),
    (["sh", "-c", "python3 .git/objects/pack/*.pack"], ".git/objects/pack/1.pack"),
    (["npx", "-y", "mcp-x", "--config", "sub"], "sub/conf.js"),
    (["sh", "-c", "sh a.sh && cd sub && sh a.sh"], "a.sh"),
    (["sh", "-c", "sh a.sh && cd sub && sh a.sh"], "sub/a.sh"),
    (["npx", "-y", "mcp-x"], "node_modules/mcp-x/index.js"),
    (["uv", "run", "serve"], "src/app/main.py"),
]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _trusted(ground: Ground, words: list[str], env: dict[str, str] | None = None) -> ServerEntry:
    entry = {"command": words[0], "args": words[1:], "env": env or {}}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    return trusted


def _asks_again(
    ground: Ground, words: list[str], runs: str, env: dict[str, str] | None = None
) -> bool:
    for name in (
        "sub/x.sh",
        "x.py",
        ".venv/bin/uvicorn",
        ".venv/pyvenv.cfg",
        "src/app/__init__.py",
    ):
        _write(ground.workspace / name, "")
    _write(ground.workspace / "pyproject.toml", '[project.scripts]\nserve = "app.main:run"\n')
    _write(ground.workspace / runs, "good")
    trusted = _trusted(ground, words, env)
    assert still_trusted(trusted, str(ground.workspace))
    _write(ground.workspace / runs, "evil")
    return not still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize(("words", "runs"), SHELLS)
@attack("T50")
def test_a_text_for_a_shell_that_cannot_be_followed_is_bound(
    ground: Ground, words: list[str], runs: str
) -> None:
    assert _asks_again(ground, words, runs)


@pytest.mark.parametrize(("words", "runs"), OPTIONS)
@attack("T51")
def test_a_text_behind_an_option_of_any_program_is_bound(
    ground: Ground, words: list[str], runs: str
) -> None:
    assert _asks_again(ground, words, runs)


@pytest.mark.parametrize(("words", "runs"), NAMES)
@attack("T52")
def test_code_that_is_named_without_its_ending_is_bound(
    ground: Ground, words: list[str], runs: str
) -> None:
    assert _asks_again(ground, words, runs)


@pytest.mark.parametrize(
    ("words", "env", "runs"),
    [
        (["curl", "file:///dev/null"], {"CURL_HOME": "sub"}, "sub/.curlrc"),
        (["npx", "-y", "mcp-x"], {"ANY_HOME": "sub"}, "sub/.anyrc"),
        (["npx", "-y", "mcp-x"], {"APP_MODULE": "pkg.server"}, "pkg/server.py"),
        (["npx", "-y", "mcp-x"], {"APP_START": "sh ru?.sh"}, "run.sh"),
        (["python3", "-c", "import os"], {"APP_MODULE": "pkg.server"}, "pkg/server.py"),
    ],
)
@attack("T53")
def test_code_that_a_variable_leads_to_is_bound(
    ground: Ground, words: list[str], env: dict[str, str], runs: str
) -> None:
    assert _asks_again(ground, words, runs, env)


@pytest.mark.parametrize(("words", "runs"), FURTHER)
@attack("T54")
def test_what_nobody_has_thought_of_is_bound(ground: Ground, words: list[str], runs: str) -> None:
    assert _asks_again(ground, words, runs)


@attack("T54")
def test_what_is_put_back_with_its_times_is_noticed(ground: Ground) -> None:
    script = ground.put(ground.workspace / "run1.sh", "good")
    trusted = _trusted(ground, ["bash", "-c", "sh run$OPTERR.sh"])
    about = script.stat()
    script.write_text("evil", "utf-8")
    os.utime(script, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert not still_trusted(trusted, str(ground.workspace))


@attack("T54")
def test_what_lies_behind_a_link_is_noticed(ground: Ground) -> None:
    out = ground.put(ground.user_home / "out" / "run1.sh", "good")
    (ground.workspace / "sub").symlink_to(out.parent)
    trusted = _trusted(ground, ["bash", "-c", "sh sub/run$OPTERR.sh"])
    out.write_text("evil", "utf-8")
    assert not still_trusted(trusted, str(ground.workspace))


EXACT = [
    ["node", "server.js", "--options", '{"a": 1}'],
    ["python3", "-u", "server.py", "--name", "two words"],
    ["python3", "-m", "pkg", "serve"],
    ["uvx", "mcp-server-time", "--local-timezone", "Europe/Berlin"],
    ["npx", "-y", "@modelcontextprotocol/server-filesystem", ".", "./docs"],
    ["npx", "-y", "mcp-remote", "https://a.example/sse?x=1"],
    ["uv", "run", "server.py"],
    ["uv", "--directory", "pkg", "run", "server.py"],
    ["uv", "run", "serve", "--stdio"],
    ["docker", "run", "-i", "--rm", "-e", "TOKEN", "mcp/image", "stdio"],
    ["bash", "-c", "cd sub && node y.js"],
    ["sh", "-c", 'cd "$PWD/sub" && MODE=x exec node y.js'],
    ["sh", "run.sh"],
    ["./run.sh", "serve"],
    ["github-mcp-server", "stdio"],
]


@pytest.mark.parametrize("words", EXACT, ids=" ".join)
def test_usual_lines_do_not_ask_again_for_a_change_of_other_files(
    ground: Ground, words: list[str]
) -> None:
    own = ("server.js", "server.py", "run.sh", "sub/y.js", "docs/a.md", "pkg/server.py")
    for name in (*own, "pkg/__init__.py", "src/app/__init__.py"):
        _write(ground.workspace / name, "good")
    _write(ground.workspace / "pyproject.toml", '[project.scripts]\nserve = "app:run"\n')
    trusted = _trusted(ground, words)
    assert trusted.seal is not None
    assert why_whole(trusted.seal, str(ground.workspace)) == ""
    _write(ground.workspace / "docs" / "a.md", "other")
    _write(ground.workspace / "new.txt", "new")
    assert still_trusted(trusted, str(ground.workspace))


def test_a_database_that_an_unknown_program_writes_may_change(ground: Ground) -> None:
    trusted = _trusted(ground, ["some-tool", "--db-path", "x.db"])
    ground.put(ground.workspace / "x.db", sqlite())
    ground.put(ground.workspace / "x.db-wal", b"1")
    assert still_trusted(trusted, str(ground.workspace))


@attack("T54")
def test_a_database_that_a_text_may_run_may_not(ground: Ground) -> None:
    trusted = _trusted(ground, ["awk", 'BEGIN{system("sh x.log")}', "--log-file", "x.log"])
    ground.put(ground.workspace / "x.log", b"touch evil\n")
    assert not still_trusted(trusted, str(ground.workspace))


def _fill(folder: Path) -> None:
    for number in range(21):
        (folder / str(number)).mkdir(parents=True)
        for file in range(1_000):
            os.mknod(folder / str(number) / str(file))


@attack("T55")
def test_a_folder_that_is_too_large_is_trusted_only_as_ones_own(ground: Ground) -> None:
    _fill(ground.workspace / "large")
    entry = {"command": "bash", "args": ["-c", "sh run$OPTERR.sh"]}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry, "y": entry}})
    assert trust(ground.load(trusted=False)) == []
    (done,) = trust(ground.load(trusted=False), ["x"], is_dev=True)
    settings = ground.load(trusted=False)
    assert [each.name for each in settings.servers] == ["x"]
    assert still_trusted(settings.servers[0], str(ground.workspace))
    entry["args"] = ["-c", "sh other.sh"]
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    assert ground.load(trusted=False).servers == ()
    assert done.name == "x"


def test_a_command_tool_is_trusted_as_ones_own_too(ground: Ground) -> None:
    ground.put(ground.own / "config.toml", '[mcp.tool]\ncommand = "make"\nargs = ["lint"]\n')
    trust(ground.load(trusted=False), ["tool"])
    assert [*command_tools(ground.load(trusted=False)).usable] == ["tool"]
    ground.put(ground.workspace / "Makefile", "lint:")
    assert [*command_tools(ground.load(trusted=False)).usable] == []
    trust(ground.load(trusted=False), ["tool"], is_dev=True)
    ground.put(ground.workspace / "Makefile", "lint: all")
    assert [*command_tools(ground.load(trusted=False)).usable] == ["tool"]
