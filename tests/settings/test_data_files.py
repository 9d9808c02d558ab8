"""What a server works on is not what it is; whatever is doubtful counts as code."""

import io
import os
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, switchboard, trust_shown
from settings.ground import Ground
from settings.made_data import duckdb, sqlite
from support.requirements import attack
from support.workspace import Workspace, child_command, server
from switchboard.settings.trust import still_trusted, trust

SQLITE, OTHER = sqlite(), sqlite("1")
DUCK = duckdb()
CODE = b"print('a program')\n"


def _stays_trusted(
    ground: Ground, words: str, name: str, change: tuple[bytes | None, bytes], mode: int = 0o644
) -> bool:
    """Whether an entry is trusted on when the file holds something else, or is another."""
    for script in ("server.py", "dist/index.js", "run.sh"):
        ground.put(ground.workspace / script, "pass")
    path = ground.workspace / name
    before, after = change
    if before is not None:
        ground.put(path, before).chmod(mode)
    command, *args = words.split()
    entry = {"command": command, "args": args}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    ground.put(path, after).chmod(mode)
    return still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize(
    ("words", "name", "before", "after"),
    [
        ("uvx mcp-server-sqlite --db-path ./test.db", "test.db", None, SQLITE),
        ("uvx mcp-server-sqlite --db-path ./test.db", "test.db", b"", SQLITE),
        ("uvx mcp-server-sqlite --db-path ./test.db", "test.db", SQLITE, OTHER),
        ("uvx mcp-server-sqlite --db-path=test.db", "test.db", SQLITE, OTHER),
        ("npx -y mcp-sqlite --database data/mine.sqlite3", "data/mine.sqlite3", SQLITE, OTHER),
        ("duck-server --duckdb my.duckdb", "my.duckdb", DUCK, duckdb("1")),
        ("python3 server.py --db test.db", "test.db", SQLITE, OTHER),
        ("python3 -u server.py --db test.db", "test.db", SQLITE, OTHER),
        ("node dist/index --sqlite test.db", "test.db", SQLITE, OTHER),
        ("sh run.sh --sqlite-path test.db", "test.db", SQLITE, OTHER),
        ("env A=1 uvx mcp-server-sqlite --db-path test.db", "test.db", SQLITE, OTHER),
        ("uv run server.py --log-file server.log", "server.log", b"1\n", b"1\n2\n"),
        ("mcp-memory --memory-path notes.jsonl", "notes.jsonl", b"{}", b'{"a":1}'),
        ("mcp-table --csv-file ./rows.csv", "rows.csv", b"a\n", b"a\nb\n"),
    ],
)
def test_trust_is_not_bound_to_what_a_server_works_on(
    ground: Ground, words: str, name: str, before: bytes | None, after: bytes
) -> None:
    assert _stays_trusted(ground, words, name, (before, after))


@pytest.mark.parametrize(
    ("words", "name", "before", "after"),
    [
        # In the place of a script, whatever it is called and begins with.
        ("python3 test.db", "test.db", SQLITE, sqlite(CODE.decode())),
        ("python3 test.db ./test.db", "test.db", SQLITE, sqlite(CODE.decode())),
        ("php test.db", "test.db", SQLITE, sqlite(CODE.decode())),
        ("java -jar test.db", "test.db", SQLITE, sqlite(CODE.decode())),
        ("sh test.db", "test.db", SQLITE, sqlite(CODE.decode())),
        ("uvx python3 test.db", "test.db", SQLITE, sqlite(CODE.decode())),
        ("env A=1 sh test.db", "test.db", SQLITE, sqlite(CODE.decode())),
        # By an option that loads.
        ("node --require ./x.db dist/index.js", "x.db", SQLITE, sqlite(CODE.decode())),
        ("node dist/index.js --require ./x.log", "x.log", CODE, CODE + CODE),
        ("npx mocha --require ./x.log", "x.log", CODE, CODE + CODE),
        ("npx mocha --require=./x.log", "x.log", CODE, CODE + CODE),
        ("npx mocha -r ./x.db", "x.db", SQLITE, sqlite(CODE.decode())),
        ("sqlite3 --load-extension x.db", "x.db", SQLITE, sqlite(CODE.decode())),
        ("tool -r./x.log --log ./x.log", "x.log", CODE, CODE + CODE),
        ("make -f x.log", "x.log", CODE, CODE + CODE),
        # It was a database, or nothing, and is something else now.
        ("uvx tool ./x.db", "x.db", None, CODE),
        ("uvx tool ./x.db", "x.db", SQLITE, CODE),
        ("uvx tool --db-path ./x", "x", None, CODE),
        ("uvx tool --db-path ./x.db", "x.db", SQLITE, b"#!/bin/sh\n"),
        # Nothing says what it is.
        ("npx -y mcp-sqlite ./test.db", "test.db", SQLITE, OTHER),
        ("python3 server.py test.db", "test.db", SQLITE, OTHER),
        ("uvx mcp-server-sqlite --db-path ./test", "test", SQLITE, OTHER),
        ("mcp-memory --memory-path notes.json", "notes.json", b"{}", b'{"a":1}'),
        ("tool ./x.log", "x.log", CODE, CODE + CODE),
        ("tool --config ./x.json", "x.json", b"{}", b'{"run":"x"}'),
        ("tool --data ./x.py", "x.py", CODE, CODE + CODE),
    ],
)
@attack("B11")
def test_trust_is_bound_to_what_may_be_run(
    ground: Ground, words: str, name: str, before: bytes | None, after: bytes
) -> None:
    assert not _stays_trusted(ground, words, name, (before, after))


@attack("B11")
def test_a_file_that_can_be_run_is_code(ground: Ground) -> None:
    change = (SQLITE, sqlite(CODE.decode()))
    assert not _stays_trusted(ground, "uvx tool --db-path ./x.db", "x.db", change, 0o755)


def _archive(before: bytes) -> bytes:
    made = io.BytesIO(before)
    made.seek(0, os.SEEK_END)
    with zipfile.ZipFile(made, "a") as file:
        file.writestr("__main__.py", CODE)
    return made.getvalue()


ZIP = _archive(SQLITE)
HASH_DUCK = b"#       DUCK\n" + CODE
SLASH_DUCK = duckdb(before=b"/*      ")
TABLE = b"PAR1=1\n" + CODE


@pytest.mark.parametrize(
    ("words", "name", "before", "after"),
    [
        # The value of an option passes for the script.
        ("python3 -W run.sh x.db", "x.db", SQLITE, OTHER),
        ("python3 -W run.sh --db x.db", "x.db", SQLITE, OTHER),
        ("python3 -W --log-file x.log", "x.log", CODE, CODE + CODE),
        ("tool -W --log-file x.log", "x.log", CODE, CODE + CODE),
        ("node --title ./run.sh --log-file x.log", "x.log", CODE, CODE + CODE),
        ("bash --rcfile run.sh --log-file x.log", "x.log", CODE, CODE + CODE),
        # A switch of theirs, or an option that they overlook.
        ("fish --log x.log", "x.log", CODE, CODE + CODE),
        ("node --log x.log", "x.log", CODE, CODE + CODE),
        ("Rscript --log-file x.log", "x.log", CODE, CODE + CODE),
        ("bun run --log-file x.log", "x.log", CODE, CODE + CODE),
        ("busybox ash --log-file x.log", "x.log", CODE, CODE + CODE),
        # A text or a module that may take any word for code.
        ("sh -c $2 --db x.db", "x.db", SQLITE, OTHER),
        ("bash -lc $2 --db x.db", "x.db", SQLITE, OTHER),
        ("python3 -m trace --db x.db", "x.db", SQLITE, OTHER),
        ("node -e 0 --log-file x.log", "x.log", CODE, CODE + CODE),
        ("node --eval=0 --log-file x.log", "x.log", CODE, CODE + CODE),
        ("tool -- --db x.db", "x.db", SQLITE, OTHER),
        # It begins like a database.
        ("tool --db x.db", "x.db", ZIP, ZIP + b"\0"),
        ("tool --log-file x.log", "x.log", _archive(b"1\n"), _archive(b"2\n")),
        ("tool --db x.db", "x.db", SQLITE[:16] + CODE, SQLITE[:16] + CODE + CODE),
        ("tool --duckdb x.duckdb", "x.duckdb", HASH_DUCK, HASH_DUCK + CODE),
        ("tool --duckdb x.duckdb", "x.duckdb", SLASH_DUCK, SLASH_DUCK + CODE),
        ("tool --data-file x.parquet", "x.parquet", TABLE, TABLE + CODE),
        ("tool --log-file x.log", "x.log", b"1\n", b"#!/bin/sh\n"),
    ],
)
@attack("T18")
def test_what_passes_for_data_and_may_be_run_is_code(
    ground: Ground, words: str, name: str, before: bytes, after: bytes
) -> None:
    ground.put(ground.workspace / "run", "")
    assert not _stays_trusted(ground, words, name, (before, after))


@pytest.mark.parametrize(
    ("words", "name", "before", "after"),
    [
        # A long option takes the next word for its value as a short one does.
        ("rbash --rcfile --db x.log", "x.log", CODE, CODE + CODE),
        ("tool --rcfile --db x.log", "x.log", CODE, CODE + CODE),
        ("tool +O --db x.log", "x.log", CODE, CODE + CODE),
        ("gdb --batch --directory --db x.log", "x.log", CODE, CODE + CODE),
        # What runs any file that it is given.
        ("/lib64/ld-linux-x86-64.so.2 --argv0 --db x.log", "x.log", CODE, CODE + CODE),
        ("/lib64/ld-linux-x86-64.so.2 ./run.sh --db x.log", "x.log", CODE, CODE + CODE),
        ("/lib/ld-musl-x86_64.so.1 ./run.sh --db x.log", "x.log", CODE, CODE + CODE),
        # Machine code has the ending of a text.
        ("tool --log-file x.log", "x.log", b"\x7fELF\2\1", b"\x7fELF\2\1\0\0"),
        ("tool --log-file x.log", "x.log", b"MZ\0\0", b"MZ\0\0\0"),
    ],
)
@attack("T29")
def test_data_that_an_option_or_a_loader_may_run_is_code(
    ground: Ground, words: str, name: str, before: bytes, after: bytes
) -> None:
    assert not _stays_trusted(ground, words, name, (before, after))


@attack("T29")
def test_a_program_of_the_path_that_leads_to_an_interpreter_is_one(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = ground.user_home / "programs"
    programs.mkdir()
    (programs / "notes").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    assert not _stays_trusted(ground, "notes --log-file x.log", "x.log", (CODE, CODE + CODE))


@pytest.mark.parametrize(
    "words", ["./notes --log-file x.log", "timeout 9 ./notes --log-file x.log"]
)
@attack("T18")
def test_a_link_to_an_interpreter_is_one(ground: Ground, words: str) -> None:
    (ground.workspace / "notes").symlink_to(sys.executable)
    assert not _stays_trusted(ground, words, "x.log", (CODE, CODE + CODE))


@attack("T18")
def test_a_link_and_a_file_with_two_names_are_code(ground: Ground) -> None:
    there = ground.put(ground.workspace / "there.db", SQLITE)
    (ground.workspace / "x.db").symlink_to(there)
    assert not _stays_trusted(ground, "uvx tool --db x.db", "x.db", (SQLITE, OTHER))
    (ground.workspace / "y.db").hardlink_to(there)
    assert not _stays_trusted(ground, "uvx tool --db y.db", "y.db", (SQLITE, OTHER))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, daemon=False)


@pytest.mark.parametrize("scope", ["workspace", "home"])
def test_a_server_that_writes_into_a_database_stays_trusted(
    workspace: Workspace, scope: str
) -> None:
    """From before its file is there, at every start and every call."""
    database = workspace.root / "test.db"
    entry = server(child_command("table_child", "--db-path", "./test.db"), start_in="workspace")
    if scope == "home":
        workspace.mcp_json({"table": entry}, scope="home")
        assert trust_shown(workspace, "--folder").code == 0
    else:
        workspace.mcp_json({"table": entry})
        assert trust_shown(workspace, "table").code == 0
    for number in (2, 4, 6):
        # A process of its own each time.
        done = switchboard(
            workspace, "call", "table", "add", "text=x", "--in-process", env=UNTRUSTING
        )
        assert (done.code, done.out.strip()) == (0, str(number)), done.err
    with sqlite3.connect(database) as found:
        assert found.execute("SELECT count(*) FROM rows").fetchone() == (6,)


def test_what_is_code_and_what_is_data_is_shown(workspace: Workspace) -> None:
    (workspace.root / "server.py").write_text("pass")
    (workspace.root / "test.db").write_bytes(SQLITE)
    workspace.mcp_json({"table": server(["python3", "server.py", "--db-path", "test.db"])})
    shown = switchboard(workspace, "trust", env=UNTRUSTING).out
    assert "code      server.py: a change asks again" in shown
    assert "data      test.db: may change, and does not ask again" in shown
    (item,) = switchboard(workspace, "trust", "--json", env=UNTRUSTING).report["entries"]
    assert (item["files"], item["data"]) == (["server.py"], ["test.db"])


@pytest.mark.parametrize("blank", [" ", "\u2800", "\u3164", "\u00a0"])
@attack("T40")
def test_trust_counts_blanks_that_would_hide_what_follows(workspace: Workspace, blank: str) -> None:
    text = f"print(1){blank * 3_000};import os;os.system(evil)"
    workspace.mcp_json({"notes": server(["python3", "-c", text])})
    shown = switchboard(workspace, "trust", env=UNTRUSTING).out
    (line,) = (line for line in shown.splitlines() if line.startswith("  runs "))
    assert "3,000" in line
    assert "os.system(evil)" in line
    assert len(line) < len(text) - 2_000


@attack("T18")
def test_trust_shows_where_a_program_that_is_a_link_leads(workspace: Workspace) -> None:
    program = Path(sys.executable).resolve()
    (workspace.root / "notes").symlink_to(program)
    workspace.mcp_json({"notes": server(["./notes", "--db", "x.db"], start_in="workspace")})
    assert f"leads to  {program}" in switchboard(workspace, "trust", env=UNTRUSTING).out
    (item,) = switchboard(workspace, "trust", "--json", env=UNTRUSTING).report["entries"]
    assert item["leads_to"] == str(program)
