"""A database of each branch in a real MariaDB, made from a template by its own programs."""

import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, processes, wait_for

pytestmark = pytest.mark.xdist_group("mariadb")

PASSWORD = "canary-of-mariadb"
# Of the address its end alone: the log of a service may be read by others than its server.
SHOW = '["/bin/sh", "-c", "echo at ${{DATABASE_URL##*/}}; exec sleep 100"]'
APP = f'[services.app]\ncommand = {SHOW}\nready = {{ log = "at " }}\n'
SERVE = (
    "mariadbd --no-defaults --datadir={data} --socket=s --bind-address=127.0.0.1 --skip-log-bin "
    "--innodb-buffer-pool-size=16M --innodb-log-file-size=4M"
)
TEMPLATE = """
create table items (name varchar(20)); insert into items values ('seeded');
create view names as select name from items;
create trigger upper_case before insert on items for each row set new.name = upper(new.name);
create function answer() returns int deterministic return 42;
"""


def as_user() -> list[str]:
    """Give the word without which the server does not run as root."""
    return ["--user=root"] if os.geteuid() == 0 else []


def install(data: Path) -> None:
    how = ["--auth-root-authentication-method=normal", "--skip-test-db", "--no-defaults"]
    words = ["mariadb-install-db", f"--datadir={data}", *how, *as_user()]
    subprocess.run(words, capture_output=True, timeout=60, check=True)


def ask(port: int, sql: str, database: str = "", password: str = PASSWORD) -> str:
    words = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{port}", "--protocol=tcp", "-uroot"]
    env = {**os.environ, "MYSQL_PWD": password}
    done = subprocess.run(
        [*words, "-NB", "-e", sql, database],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env=env,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    """Give the port of a MariaDB that is nobody's service, with a template in it."""
    folder, port = tmp_path_factory.mktemp("mariadb"), free_port()
    install(folder)
    words = [*SERVE.format(data=folder).split(), f"--port={port}", *as_user()]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: connects(port))
        ask(port, f"set password = password('{PASSWORD}')", password="")
        ask(port, "create database app_dev")
        ask(port, TEMPLATE, "app_dev")
        yield port
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


def databases(port: int) -> set[str]:
    usual = {"information_schema", "mysql", "performance_schema", "sys", "app_dev"}
    return set(ask(port, "show databases").splitlines()) - usual


def with_mysql(lab: Lab, port: int, template: str = "app_dev") -> None:
    lab.config(
        f'[resource.db]\nkind = "mysql"\nserver = "mysql://root:{PASSWORD}@127.0.0.1:{port}"\n'
        f'from = "template:{template}"\n{APP}'
    )
    lab.repository()


def made(lab: Lab, branch: str) -> str:
    """Make a branch, and give the name of its database."""
    (row,) = lab.json("create", branch)["resources"]
    return row["address"].rpartition("/")[2]


def test_each_branch_gets_a_copy_of_the_template_with_all_that_is_in_it(
    lab: Lab, server: int
) -> None:
    with_mysql(lab, server)
    side = made(lab, "side")
    lab.json("up", "side")
    lab.json("up", "main")
    (line,) = lab.json("logs", "app", "-b", "main")["logs"][0]["lines"][-1:]
    main = line.removeprefix("at ")
    assert databases(server) >= {side, main}
    assert ask(server, "select answer(), name from names", side) == "42\tseeded"
    ask(server, "insert into items values ('of side')", side)
    assert ask(server, "select name from items order by 1", side) == "OF SIDE\nseeded"
    assert ask(server, "select count(*) from items", main) == "1"
    shown = lab.sy("status").out + lab.sy("status", "--json").out
    assert side in shown
    assert PASSWORD not in shown
    # Up again makes nothing anew, and reset does.
    lab.json("down")
    lab.json("up", "side")
    assert ask(server, "select count(*) from items", side) == "2"
    lab.json("down")
    lab.json("reset", "db", "side")
    assert ask(server, "select count(*) from items", side) == "1"
    assert lab.json("rm", "side")["dropped"] == ["db"]
    assert side not in databases(server)
    assert main in databases(server)


def test_what_is_in_use_is_neither_reset_nor_dropped(lab: Lab, server: int) -> None:
    with_mysql(lab, server)
    name = made(lab, "side")
    words = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{server}", "--protocol=tcp", "-uroot"]
    held = subprocess.Popen(
        [*words, "-nNB", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MYSQL_PWD": PASSWORD},
    )
    assert held.stdin
    assert held.stdout
    held.stdin.write("select 'connected';\n")
    held.stdin.flush()
    assert held.stdout.readline() == "connected\n"
    assert lab.json("reset", "db", "side", code=4)["error"]["code"] == "in-use"
    assert "1 open connection" in lab.json("rm", "side", code=4)["error"]["message"]
    assert name in databases(server)
    held.communicate("\\q\n", timeout=10)
    wait_for(lambda: lab.json("rm", "side", code=None)["ok"])
    assert name not in databases(server)


@pytest.mark.parametrize(
    "sql", ["update switchyard_mark set owner = 'x'", "drop table switchyard_mark"]
)
def test_a_database_without_our_mark_is_never_touched(lab: Lab, server: int, sql: str) -> None:
    with_mysql(lab, server)
    name = made(lab, "side")
    ask(server, sql, name)
    assert lab.json("up", "side", code=4)["error"]["code"] == "not-ours"
    assert lab.json("reset", "db", "side", code=4)["error"]["code"] == "not-ours"
    lab.json("rm", "side", code=4)
    assert ask(server, "select count(*) from items", name) == "1"
    ask(server, f"drop database `{name}`")


def test_a_database_of_a_branch_may_be_the_template_of_others(lab: Lab, server: int) -> None:
    """It carries the mark of its own branch, which is not taken along."""
    with_mysql(lab, server)
    first = made(lab, "first")
    ask(server, "insert into items values ('more')", first)
    path = lab.root / "switchyard.toml"
    path.write_text(path.read_text().replace("template:app_dev", f"template:{first}"))
    second = made(lab, "second")
    assert ask(server, "select count(*) from items", second) == "2"
    assert lab.json("rm", "second")["dropped"] == ["db"]
    assert databases(server) >= {first}
    assert second not in databases(server)


def test_a_template_that_is_not_there_leaves_nothing_behind(lab: Lab, server: int) -> None:
    before = databases(server)
    with_mysql(lab, server, "no_such")
    error = lab.json("up", code=1)["error"]
    assert error["code"] == "resource-failed"
    assert "no_such" in error["message"]
    assert PASSWORD not in str(error)
    assert databases(server) == before


def test_a_service_of_the_project_may_be_the_server(lab: Lab) -> None:
    data = lab.folder / "mariadb"
    install(data)
    words = " ".join([*SERVE.format(data=data).split(), *as_user()])
    lab.config(
        f'[services.mariadb]\ncommand = "{words} --port={{port}}"\nport = 0\nprotocol = "tcp"\n'
        f'scope = "project"\n[resource.db]\nkind = "mysql"\nserver = "service:mariadb"\n{APP}'
    )
    lab.repository()
    assert "app" in lab.json("up")["started"]
    port = lab.service("mariadb")["port"]
    given = processes()[lab.service("app")["pid"]]["env"]["DATABASE_URL"]
    assert given.startswith(f"mysql://root@127.0.0.1:{port}/shop_main_db_")
    lab.json("down")
    assert not connects(port)
