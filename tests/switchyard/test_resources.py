"""A whole environment per branch: what is made with it, and dropped with it alone."""

import json
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, wait_for

from support.requirements import requirement

SHOW = '["/bin/sh", "-c", "echo at $DATABASE_URL; exec sleep 100"]'
APP = f'[services.app]\ncommand = {SHOW}\nready = {{ log = "at " }}\n'


def psql(port: int, database: str, sql: str) -> str:
    address = f"postgres://postgres@127.0.0.1:{port}/{database}"
    words = ["psql", "-X", "-q", "-A", "-t", "-d", address, "-c", sql]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    """Give the port of a real PostgreSQL that is nobody's service, with a template in it."""
    folder, port = tmp_path_factory.mktemp("postgres"), free_port()
    boot = "import sys; from switchyard.resources.postgres_server import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", boot, "127.0.0.1", str(port), str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        try:
            return psql(port, "postgres", "select 1") == "1"
        except subprocess.CalledProcessError:
            return False

    wait_for(answers)
    psql(port, "postgres", "create database app_dev")
    psql(port, "app_dev", "create table items (name text); insert into items values ('seeded')")
    yield port
    process.send_signal(2)
    process.wait(20)
    data = Path("/var/tmp") / f"switchyard-postgres-{folder.stat().st_ino}"
    shutil.rmtree(data, ignore_errors=True)


def databases(port: int) -> set[str]:
    sql = "select datname from pg_database where datname not like 'template%'"
    return set(psql(port, "postgres", sql).splitlines()) - {"postgres", "app_dev"}


def with_postgres(lab: Lab, port: int) -> None:
    lab.config(
        f'[resource.db]\nkind = "postgres"\nserver = "postgres://postgres@127.0.0.1:{port}"\n'
        f'from = "template:app_dev"\n{APP}'
    )
    lab.repository()


def address(lab: Lab, branch: str) -> str:
    (line,) = lab.json("logs", "app", "-b", branch)["logs"][0]["lines"][-1:]
    return line.removeprefix("at ")


def test_each_branch_gets_a_database_from_the_template(lab: Lab, server: int) -> None:
    with_postgres(lab, server)
    made = lab.json("create", "side")
    assert len(made["resources"]) == 1
    before = databases(server)
    assert len(before) == 1
    lab.json("up", "side")
    lab.json("up", "main")
    side, main = (address(lab, branch).rpartition("/")[2] for branch in ("side", "main"))
    assert {side, main} <= databases(server)
    psql(server, side, "insert into items values ('of side')")
    assert psql(server, side, "select count(*) from items") == "2"
    assert psql(server, main, "select count(*) from items") == "1"
    # Up again makes nothing anew.
    lab.json("down")
    lab.json("up", "side")
    assert psql(server, side, "select count(*) from items") == "2"
    shown = {one["branch_slug"]: one for one in lab.json("status")["resources"]}
    assert shown["side"]["address"].endswith(side)

    lab.json("down")
    assert "is new" in lab.sy("reset", "db", "side").out
    assert psql(server, side, "select count(*) from items") == "1"

    assert lab.json("rm", "side")["dropped"] == ["db"]
    assert side not in databases(server)
    assert main in databases(server)


def test_what_is_in_use_is_neither_reset_nor_dropped(lab: Lab, server: int) -> None:
    with_postgres(lab, server)
    tree = lab.json("create", "side")
    (name,) = (one["address"].rpartition("/")[2] for one in tree["resources"])
    at = f"postgres://postgres@127.0.0.1:{server}/{name}"
    held = subprocess.Popen(
        ["psql", "-X", "-q", "-d", at], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert held.stdin
    assert held.stdout
    held.stdin.write("\\echo connected\n")
    held.stdin.flush()
    assert held.stdout.readline() == "connected\n"
    assert lab.json("reset", "db", "side", code=4)["error"]["code"] == "in-use"
    refused = lab.json("rm", "side", code=4)["error"]
    assert "1 open connection" in refused["message"]
    assert Path(tree["path"]).is_dir()
    assert name in databases(server)
    held.communicate("\\q\n", timeout=10)
    wait_for(lambda: lab.json("rm", "side", code=None)["ok"])
    assert name not in databases(server)


def test_a_database_that_we_did_not_make_is_never_touched(lab: Lab, server: int) -> None:
    with_postgres(lab, server)
    tree = lab.json("create", "side")
    (name,) = (one["address"].rpartition("/")[2] for one in tree["resources"])
    psql(server, "postgres", f"comment on database {name} is 'mine'")
    assert lab.json("up", "side", code=4)["error"]["code"] == "not-ours"
    assert lab.json("reset", "db", "side", code=4)["error"]["code"] == "not-ours"
    lab.json("rm", "side", code=4)
    assert name in databases(server)
    assert Path(tree["path"]).is_dir(), "a refused removal removes nothing"
    psql(server, "postgres", f"drop database {name}")


def test_a_server_that_does_not_answer_is_told(lab: Lab) -> None:
    with_postgres(lab, free_port())
    made = lab.json("create", "side")
    assert any("db" in one for one in made["warnings"])
    error = lab.json("up", "side", code=1)["error"]
    assert error["code"] == "resource-failed"
    assert "psql" in error["message"]
    assert lab.ours() == []


def test_a_service_of_the_project_may_be_the_server(lab: Lab) -> None:
    lab.config(
        '[services.postgres]\npreset = "postgres"\nscope = "project"\n'
        f'[resource.db]\nkind = "postgres"\nserver = "service:postgres"\n{APP}'
    )
    lab.repository()
    lab.cleanup(lambda: _forget_data(lab))
    lab.json("create", "side")
    made = lab.json("up", "side")
    assert "app" in made["started"]
    lab.json("up", "main")
    port = lab.service("postgres")["port"]
    one, other = (address(lab, branch).rpartition("/")[2] for branch in ("side", "main"))
    assert databases(port) >= {one, other}
    lab.json("rm", "side")
    assert one not in databases(port)
    lab.json("down")


def _forget_data(lab: Lab) -> None:
    lab.sy("down", code=None)
    for folder in lab.home.glob("projects/*/data/*/postgres"):
        made = Path("/var/tmp") / f"switchyard-postgres-{folder.stat().st_ino}"
        shutil.rmtree(made, ignore_errors=True)


def test_a_sqlite_file_is_copied_reset_and_dropped(lab: Lab) -> None:
    with sqlite3.connect(lab.root / "dev.sqlite") as made:
        made.execute("create table items (name text)")
        made.execute("insert into items values ('seeded')")
    made.close()
    lab.config(f'[resource.db]\nkind = "sqlite"\nfrom = "file:dev.sqlite"\n{APP}')
    lab.repository()
    (row,) = lab.json("create", "side")["resources"]
    path = Path(row["address"].removeprefix("sqlite:///"))

    def count() -> int:
        own = sqlite3.connect(path)
        try:
            return own.execute("select count(*) from items").fetchone()[0]
        finally:
            own.close()

    own = sqlite3.connect(path)
    own.execute("insert into items values ('of side')")
    own.commit()
    assert lab.json("reset", "db", "side", code=4)["error"]["code"] == "in-use"
    own.close()
    assert count() == 2
    lab.json("reset", "db", "side")
    assert count() == 1
    lab.json("up", "side")
    assert address(lab, "side") == row["address"]
    lab.json("rm", "side")
    assert not path.exists()
    assert (lab.root / "dev.sqlite").exists()


def test_a_branch_has_keys_of_its_own_in_redis(lab: Lab) -> None:
    port = free_port()
    redis = subprocess.Popen(
        ["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
        cwd=lab.folder,
    )
    lab.cleanup(lambda: (redis.terminate(), redis.wait(10)))
    wait_for(lambda: connects(port))

    def ask(line: str) -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"{line}\r\n".encode())
            return client.recv(65536)

    lab.config(
        f'[resource.cache]\nkind = "redis"\nserver = "redis://127.0.0.1:{port}"\n'
        '[services.app]\ncommand = ["/bin/sh", "-c", "echo $REDIS_URL_PREFIX; exec sleep 100"]\n'
        'ready = { log = ":" }\n'
    )
    lab.repository()
    lab.json("create", "side")
    lab.json("up", "side")
    prefix = lab.json("logs", "app", "-b", "side")["logs"][0]["lines"][-1]
    assert lab.json("status")["resources"][0]["prefix"] == prefix
    assert f", keys begin with {prefix}\n" in lab.sy("status").out
    for number in range(5):
        ask(f"SET {prefix}{number} x")
    ask("SET other x")
    lab.json("reset", "cache", "side")
    assert ask("DBSIZE") == b":2\r\n", "the mark and the key of somebody else"
    lab.json("rm", "side")
    assert ask("KEYS *") == b"*1\r\n$5\r\nother\r\n"


def test_commands_of_the_project_make_and_drop_whatever_it_wants(lab: Lab) -> None:
    lab.config(
        '[resource.db]\nkind = "command"\n'
        'create = ["sh", "-c", "echo some words; mkdir made-{branch_slug}; echo neon://{name}"]\n'
        f'drop = ["rmdir", "made-{{branch_slug}}"]\n{APP}'
    )
    lab.repository()
    (row,) = lab.json("create", "side")["resources"]
    assert row["address"].startswith("neon://shop_side_db_")
    assert (lab.root / "made-side").is_dir()
    lab.json("up", "side")
    assert address(lab, "side") == row["address"]
    lab.json("rm", "side")
    assert not (lab.root / "made-side").exists()


FAKE_DOCKER = """#!{python}
import json, os, sys
state = {state!r}
calls = json.load(open(state)) if os.path.exists(state) else {{"log": [], "mark": ""}}
words = sys.argv[1:]
calls["log"].append(words)
if words[0] == "ps":
    if calls["mark"]: print(calls["mark"])
elif "up" in words:
    files = [words[n + 1] for n, one in enumerate(words) if one == "-f"]
    text = open(files[1]).read()
    calls["mark"] = text.partition("dev.switchyard.mark: ")[2].split()[0]
elif "port" in words:
    print("127.0.0.1:54999")
elif "down" in words:
    calls["mark"] = ""
json.dump(calls, open(state, "w"))
"""


def test_containers_of_a_branch_have_a_project_of_their_own(lab: Lab) -> None:
    state = lab.folder / "docker.json"
    tools = lab.folder / "tools"
    tools.mkdir()
    fake = tools / "docker"
    fake.write_text(FAKE_DOCKER.format(python=sys.executable, state=str(state)))
    fake.chmod(0o755)
    lab.env["PATH"] = f"{tools}:{lab.env['PATH']}"
    lab.config(
        '[resource.db]\nkind = "compose"\npublish = "db:5432"\n'
        f'url = "postgres://postgres@{{host}}:{{port}}/app"\n{APP}'
    )
    lab.repository()
    (row,) = lab.json("create", "side")["resources"]
    assert row["address"] == "postgres://postgres@127.0.0.1:54999/app"
    lab.json("up", "side")
    log = json.loads(state.read_text())["log"]
    ups = [words for words in log if "up" in words]
    assert len(ups) == 1, "made once"
    project = ups[0][ups[0].index("-p") + 1]
    assert project.startswith("shop-side-db-")
    lab.json("rm", "side")
    assert json.loads(state.read_text())["mark"] == ""
    assert "--volumes" in json.loads(state.read_text())["log"][-1]


@requirement("S1.68")
def test_an_agent_that_creates_a_worktree_makes_nothing_else(lab: Lab) -> None:
    """The tool makes a worktree with its env files; what is more comes with the first start."""
    lab.config(
        '[resource.db]\nkind = "command"\ncreate = ["sh", "-c", "mkdir made; echo x://y"]\n'
        f'drop = ["rmdir", "made"]\n{APP}'
    )
    lab.repository()
    calls = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "switchyard_create", "arguments": {"branch": "side"}},
        },
    ]
    answers = lab.sy("mcp", given="".join(f"{json.dumps(one)}\n" for one in calls)).out
    (done,) = (json.loads(one) for one in answers.splitlines() if json.loads(one).get("id") == 2)
    assert done["result"]["structuredContent"]["created"] is True
    assert not (lab.root / "made").exists()
    lab.json("up", "side")
    assert (lab.root / "made").is_dir()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('kind = "postgres"\nfrom = "copy:x"', "is made from"),
        ('kind = "postgres"\nfrom = "template:a b"', "is not the name of a template"),
        ('kind = "sqlite"\nfrom = "file:../x"', "inside the project"),
        ('kind = "oracle"', "is not a valid `kind`"),
        ('kind = "redis"\nserver = "service:nope"', "unknown service `nope`"),
        ('kind = "compose"', "`publish` names what to reach"),
        ('kind = "sqlite"\nenv = "a b"', "is not a valid name"),
        ('kind = "sqlite"\nserver = "x"', "unknown key `server`"),
        ('env = "X"', "`kind` is missing"),
    ],
)
def test_a_mistake_in_a_resource_is_told(lab: Lab, text: str, told: str) -> None:
    lab.config(f"[resource.db]\n{text}\n{APP}")
    assert told in lab.json("up", code=2)["error"]["message"]


def test_a_password_is_never_shown(lab: Lab) -> None:
    lab.config(
        '[resource.db]\nkind = "command"\ncreate = ["echo", "x://me:canary-pass@h/d"]\n'
        'drop = ["true"]\n[services.app]\ncommand = ["sleep", "100"]\n'
    )
    lab.json("up")
    shown = lab.sy("status").out + lab.sy("status", "--json").out
    assert "x://me:[redacted]@h/d" in shown
    assert "canary-pass" not in shown
    (record,) = lab.home.glob("projects/*/resources/*/db.json")
    assert record.stat().st_mode & 0o077 == 0
