"""Every example of our pages is what it says: files are read, commands are typed, words are ours.

A block that is new fails here until it says what it is: `<!-- file: PLACE -->` above a file, `sh`
for what is typed, or a line in a table below for anything else.
"""

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli.commands import report_of
from docs.pages import KNOWN, LEAN, Block, blocks_of, every_block, pages
from docs.story import Story
from hosts.real import ALONE, ENV
from support.hosts import codex_program
from support.workspace import CHECKOUT, child_command, server
from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS, loaded
from switchkit.cli.usage import read_arguments, split_verb

# Pages whose commands are typed by a test of their own, which names the page.
_ELSEWHERE = {
    "README.md": "tests/installed/test_readme.py",
    "docs/upgrade.md": "tests/installed/test_readme.py",
    "docs/vault.md": "tests/vault/test_cli.py",
    "docs/accounts.md": "tests/docs/test_logging_in.py",
    "docs/login.md": "tests/docs/test_logging_in.py",
    "docs/agents.md": "tests/docs/test_first_agent.py",
    "docs/team.md": "tests/docs/test_team.py",
    **{
        page.relative_to(CHECKOUT).as_posix(): "tests/switchyard/test_pages.py"
        for page in (CHECKOUT / "docs" / "switchyard.md", *CHECKOUT.glob("docs/switchyard/*.md"))
        if page.name not in {"agents.md", "state.md"}
    },
}
# What is neither a file nor typed, by how it begins: which test has it, or why none can.
_OTHER = {
    ("docs/agents.md", "Agent reviewer wants"): "test_words",
    ("docs/agents.md", "run r-7k3m9xw2qd of reviewer"): "test_first_agent",
    ("docs/approvals.md", "DESTROYS"): "test_words",
    ("docs/cli.md", "switchboard COMMAND"): "the form of all commands, not one of them",
    ("docs/commands.md", '"_meta": '): "test_requests",
    ("docs/daemon.md", '{"action": '): "test_requests",
    ("docs/find.md", KNOWN): "test_words",
    ("docs/find.md", LEAN): "test_words",
    ("docs/find.md", "github.create_issue"): "test_words",
    ("docs/find.md", "Not searched"): "test_words",
    ("docs/login.md", "$ switchboard mcp auth login notes"): "test_logging_in",
    ("docs/login.md", '{\n  "client_id"'): "test_requests",
    ("docs/natural-language.md", '{ "action"'): "test_requests",
    ("docs/natural-language.md", '{ "natural_language"'): "test_requests",
    ("docs/natural-language.md", ".switchboard/mcps/memory/"): "test_words",
    ("docs/results.md", "From earlier results:"): "test_words",
    ("docs/results.md", "[Switchboard keeps"): "test_words",
    ("docs/results.md", '{"tool": "wiki.save"'): "test_requests",
    ("docs/runs.md", '{"id"'): "test_requests",
    ("docs/runs.md", "switchboard runs"): "test_words",
    ("docs/skills.md", "~/.switchboard/skills"): "test_words",
    ("docs/switchyard/state.md", "state.json"): "test_words",
    ("docs/team.md", "switchboard worker"): "workers of tests/team are started with these words",
    ("docs/team.md", "upstream gateways"): "nginx runs with it in tests/team",
    ("docs/team.md", "switchboard daemon stop"): "tests/team/test_state_move.py types it",
    ("docs/vault.md", "$ switchboard trust"): "test_words",
    ("docs/vault.md", "$ switchboard vault unlock"): "test_words",
}
# What cannot be typed here, and why.
_UNTYPED = {
    'uv tool install "switchboard-mcp[otel]"': "it downloads; the extra is of the lock of tests",
    "switchboard approvals serve --listen 192.168.1.20": "it goes on until it is ended",
    "export OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318": "it is for the shell alone",
}
# What a command answers here that is about something which is not there, and what it then says.
_ABOUT_NOTHING = {
    "switchboard approvals approve k3f9x2mq": "nothing with the id `k3f9x2mq` waits",
    "switchboard approvals approve k3f9x2mq --always": "nothing with the id `k3f9x2mq` waits",
    "switchboard approvals deny k3f9x2mq --always": "nothing with the id `k3f9x2mq` waits",
    "switchboard approvals devices k3f9x2mq --remove": "no device has the id `k3f9x2mq`",
    "switchboard trust switchyard.toml": "this workspace brings nothing along",
}


def _servers(*names: str) -> str:
    return json.dumps({"mcpServers": {name: {"command": f"{name}-mcp"} for name in names}})


# By which one sees that another program got what it asked for.
_SHOWN = {"curl": '"version"'}


def _is_this(block: Block, page: str, begins: str) -> bool:
    is_other = not block.place and block.language != "sh"
    return is_other and block.page == page and block.text.startswith(begins)


def _typed_here(block: Block) -> bool:
    return block.language == "sh" and block.page not in _ELSEWHERE


_FILES = sorted(
    {
        block.page
        for block in every_block()
        if block.place and not _ELSEWHERE.get(block.page, "").endswith("test_pages.py")
    }
)
_TYPED = sorted({block.page for block in every_block() if _typed_here(block)})


def test_every_example_says_what_it_is_and_has_a_test() -> None:
    unknown = [
        f"{block.page}:{block.line}"
        for block in every_block()
        if not (
            block.place
            or block.language == "sh"
            or any(_is_this(block, *key) for key in _OTHER)
            or (
                block.language == "toml"
                and _ELSEWHERE.get(block.page, "").endswith("test_pages.py")
            )
        )
    ]
    assert unknown == []


def test_the_tables_have_nothing_that_no_page_has() -> None:
    unmet = [key for key in _OTHER if sum(_is_this(block, *key) for block in every_block()) != 1]
    assert unmet == []
    typed = {_plain(line) for block in every_block() for line in block.commands}
    assert [line for line in (*_UNTYPED, *_ABOUT_NOTHING) if line not in typed] == []
    for page, test in _ELSEWHERE.items():
        said = (CHECKOUT / test).read_text("utf-8")
        assert (Path(page).name in said) or "switchyard" in page, (page, test)
    for test in {each for each in _OTHER.values() if each.startswith("test_")}:
        assert (CHECKOUT / "tests" / "docs" / f"{test}.py").is_file()


@pytest.mark.parametrize("page", _FILES)
def test_the_files_of_a_page_are_read_as_they_stand_there(page: str, tmp_path: Path) -> None:
    story = Story(tmp_path)
    for place, text in _BESIDE.get(page, {}).items():
        story.path_of(place).parent.mkdir(parents=True, exist_ok=True)
        story.path_of(place).write_text(text)
    for block in blocks_of(page):
        if not block.place:
            continue
        path = story.put(block)
        if path.name == "config.toml" and path.parent.name == ".codex":
            _codex_reads(story, block)
        elif path.parent.name == ".claude":
            # The rules of a host, which a test with the real one follows.
            assert Path(page).name in (CHECKOUT / "tests/switchyard/test_hosts.py").read_text(
                "utf-8"
            )
        elif path.parent.name == ".agents":
            code, shown = story.types("switchboard agents check")
            assert (code, "error" in shown) == (0, False), f"{page}:{block.line}\n{shown}"
        else:
            told = [each for each in story.warnings() if not each.endswith(_UNTRUSTED)]
            assert told == [], f"{page}:{block.line}"
            assert any(name in str(path) for name in _READ), f"{page}:{block.line}"


# Files that settings are read from: one elsewhere would be read by nobody.
_READ = (".switchboard/", "switchboard.config.json")
# Nobody has trusted the folder of this test.
_UNTRUSTED = "this folder is not trusted"
_SKILL = "~/.switchboard/skills/docs-search"
# What the files of a page refer to, and other files have.
_BESIDE = {
    "docs/configuration.md": {".switchboard/mcp.json": _servers("memory")},
    "docs/daemon.md": {"~/.switchboard/mcp.json": _servers("playwright")},
    "docs/relay.md": {"~/.switchboard/mcp.json": _servers("github")},
    "docs/skills.md": {
        f"{_SKILL}/SKILL.md": "---\nname: docs-search\n---\n",
        f"{_SKILL}/mcp.json": _servers("docs"),
    },
}


def _codex_reads(story: Story, block: Block) -> None:
    """The real Codex lists the server that its file names."""
    [name] = re.findall(r"\[mcp_servers\.(\w+)\]", block.text)
    ran = subprocess.run(
        [*ALONE, str(codex_program()), "mcp", "list", "--json"],
        env={**ENV, "HOME": str(story.workspace.user_home)},
        cwd=story.workspace.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert [each["name"] for each in json.loads(ran.stdout)] == [name]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("page", _TYPED)
def test_what_a_page_types_can_be_typed(page: str, story: Story) -> None:
    with _GIVEN.get(page, nullcontext)(story):
        for block in blocks_of(page):
            if block.place:
                story.put(block)
            for line in block.commands if block.language == "sh" else ():
                _is_known(line)
                if _plain(line) not in _UNTYPED:
                    _typed(story, f"{page}:{block.line}", line)


def _typed(story: Story, place: str, line: str) -> None:
    code, shown = story.types(line.replace(":8081/", f":{story.port}/"))
    about_nothing = _ABOUT_NOTHING.get(_plain(line))
    assert code == int(about_nothing is not None), f"{place}: {line}\n{shown}"
    wanted = about_nothing or _SHOWN.get(line.split(maxsplit=1)[0], "")
    assert wanted in shown, f"{place}: {line}\n{shown}"
    assert "Traceback" not in shown


@pytest.fixture
def story() -> Generator[Story]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        told = Story(Path(folder), daemon=True)
        yield told
        told.workspace.stop_daemon()


def _plain(line: str) -> str:
    return line.partition("  #")[0].partition("   # ")[0].strip()


def _is_known(line: str) -> None:
    """Its verb and its options are those of the command line."""
    words = shlex.split(line, comments=True)
    if words[0] == "switchboard":
        verb, rest = split_verb(PROGRAM, words[1:])
        read_arguments(PROGRAM, loaded(VERBS[verb].module).USAGE, rest)


@contextmanager
def _with_server(story: Story) -> Generator[None]:
    """Somebody who has installed the server that the page is about."""
    folder = story.workspace.user_home / "bin"
    folder.mkdir()
    (folder / "github-mcp-server").symlink_to("/bin/true")
    story.env["PATH"] = f"{folder}:{story.env['PATH']}"
    yield


@contextmanager
def _with_port(story: Story) -> Generator[None]:
    """Somebody in whose other window `switchboard serve --http` runs, on a port that is free."""
    with subprocess.Popen(
        story.workspace.command("serve", "--http", "--port", "0", "--json"),
        cwd=story.workspace.root,
        env=story.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if line == "}\n":
                break
        try:
            story.port = report_of(text)["url"].rpartition(":")[2].partition("/")[0]
            yield
        finally:
            process.send_signal(signal.SIGINT)


@contextmanager
def _with_hosts(story: Story) -> Generator[None]:
    """Somebody who has a server in Codex and in Cursor."""
    echo = server(child_command("echo_child", "echo"))
    story.env["PATH"] = f"{story.env['PATH'].partition(':')[0]}:/usr/bin:/bin"
    for place, text in (
        ("~/.cursor/mcp.json", json.dumps({"mcpServers": {"echo": echo}})),
        ("~/.codex/config.toml", '[mcp_servers.other]\ncommand = "true"\n'),
    ):
        path = story.path_of(place)
        path.parent.mkdir()
        path.write_text(text)
    yield


_GIVEN: dict[str, Callable[[Story], AbstractContextManager[None]]] = {
    "docs/daemon.md": _with_port,
    "docs/egress.md": _with_server,
    "docs/setup.md": _with_hosts,
}


def test_every_page_with_examples_is_looked_at() -> None:
    looked = {*_FILES, *_TYPED, *_ELSEWHERE, *(page for page, _ in _OTHER)}
    have = {block.page for block in every_block()}
    assert have - looked == set()
    assert len(pages()) > len(have)
