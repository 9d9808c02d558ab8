"""docs/team.md, as an administrator types it: from nothing to a team, and back from a backup."""

import re
import signal
import subprocess
import tomllib
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import pytest

from docs.pages import Block, blocks_of
from support.postgres import Cluster
from support.processes import wait_until_none_mention, wait_until_true
from support.workspace import CHECKOUT, Workspace
from team.callers import answer_in, called, modern
from team.ground import PATIENCE, balancer, free_port

PAGE = "docs/team.md"
# Which transaction numbers of the one server the other has not come to yet.
_TRANSACTIONS = (
    "DO $$BEGIN FOR i IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END$$"
)
_LOADED = 'set -eu; set -a; [ ! -e "$ETC/team.env" ] || . "$ETC/team.env"; set +a\n'


class Administrator:
    """Types blocks of the page, with addresses and places of this machine in them."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.workspace = Workspace(folder)
        self.etc = folder / "etc"
        self.balancer, self.first, self.second = free_port(), free_port(), free_port()
        # What a page says of the gate and of trust is what counts.
        self._env = {
            key: value
            for key, value in self.workspace.env.items()
            if key not in {"ENABLE_MCP_SERVER_SURFACE", "SWITCHBOARD_TRUST_WORKSPACE"}
        }
        self._env |= {"ETC": str(self.etc), "NO_COLOR": "1"}
        self.cluster = cluster

    def meant(self, text: str) -> str:
        """What the page says, on this machine."""
        server = f"-h 127.0.0.1 -p {self.cluster.port} -U postgres"
        for word, other in (
            (r"sudo -u postgres (\w+)", rf"\1 {server}"),
            (r"/etc/switchboard", str(self.etc)),
            (r"db\.example", f"127.0.0.1:{self.cluster.port}"),
            (r"10\.0\.0\.11:8081", f"127.0.0.1:{self.first}"),
            (r"0\.0\.0\.0", "127.0.0.1"),
            (r"--port 8081", f"--port {self.first}"),
            (r"team\.example", f"127.0.0.1:{self.balancer}"),
            # From the index of packages; the same program is here already.
            (r"uvx (mcp-server-time)", r"\1"),
        ):
            text = re.sub(word, other, text)
        return text

    def types(self, text: str) -> str:
        """Run a block; what it prints. Raises what went wrong."""
        done = subprocess.run(
            ["bash", "-c", _LOADED + self.meant(text)],
            cwd=self.workspace.root,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        return done.stdout

    def records(self) -> int:
        return self.types("switchboard audit export --json").count("\n")

    def calls(self, server: str, tool: str, **args: str) -> None:
        """Call a tool over the balancer, whatever comes of it."""
        [token] = re.findall("TOKEN=(.*)", (self.etc / "team.env").read_text("utf-8"))
        body, headers = modern(called(server, tool, **args))
        headers["authorization"] = f"Bearer {token}"
        url = f"http://127.0.0.1:{self.balancer}/mcp"
        with httpx2.Client(trust_env=False, timeout=PATIENCE) as http:
            assert "result" in answer_in(http.post(url, json=body, headers=headers))

    @contextmanager
    def serving(self, line: str, port: int) -> Generator[None]:
        """Have a gateway run as the page starts it, on one of the two machines."""
        words = self.meant(line).replace(str(self.first), str(port)).strip()
        process = subprocess.Popen(
            ["bash", "-c", f"{_LOADED}exec {words} --linger 0"],
            cwd=self.workspace.root,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            assert b"serving on" in process.stdout.readline()
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            log, code = process.communicate(timeout=PATIENCE)[1], process.returncode
            assert code == 0, log


@pytest.fixture
def administrator(postgres: Cluster) -> Iterator[Administrator]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        yield Administrator(Path(folder), postgres)
        wait_until_none_mention(folder)
        for name in ("DATABASE IF EXISTS switchboard", "USER IF EXISTS sb"):
            postgres.run(f"DROP {name}{' WITH (FORCE)' if 'DATABASE' in name else ''}")


def block(word: str, after: str = "") -> Block:
    """The first block that has a word, behind another."""
    blocks = blocks_of(PAGE)
    start = next((place for place, each in enumerate(blocks) if after and after in each.text), -1)
    return next(each for each in blocks[start + 1 :] if word in each.text)


def test_an_administrator_gets_from_nothing_to_a_team_and_back_from_a_backup(
    administrator: Administrator, tmp_path: Path
) -> None:
    types = administrator.types
    # 1. The extra that it names is the one that there is.
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f'uv tool install "{project["name"]}[team]"\n' == block("uv tool install").text
    assert "team" in project["optional-dependencies"]
    administrator.cluster.run(_TRANSACTIONS)
    # 2. and 3.
    types(block("CREATE DATABASE").text)
    types(block("team-key").text)
    for path in (administrator.etc, *administrator.etc.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path
    # 4.
    said = types(block("switchboard add --global").text)
    assert "there are none yet; the first gateway makes them" in said
    # 5. to 7.
    serve = block("switchboard serve --http").text
    with ExitStack() as running:
        ports = (administrator.first, administrator.second)
        for port in ports:
            running.enter_context(administrator.serving(serve, port))
        origins = [f"http://127.0.0.1:{port}" for port in ports]
        running.enter_context(balancer(tmp_path / "nginx", administrator.balancer, *origins))
        said = types(block("curl -fsS").text)
        assert said.startswith("ok\n")
        assert '"time_suite"' in said
        assert len(re.findall(r"gateway\b.*heard of \d+ s ago, version \d", said)) == 2, said
        administrator.calls("time", "get_current_time", timezone="UTC")
        wait_until_true(lambda: administrator.records() > 1)
        # A backup while they run.
        backup, restore = block("pg_dump"), block("pg_restore")
        types(backup.text)
    dumped = administrator.workspace.root / "switchboard.dump"
    assert dumped.stat().st_size > 1000
    records = administrator.records()
    # Into a server that has never seen any of it.
    fresh, old = Cluster(), administrator.cluster
    try:
        fresh.start()
        administrator.cluster = fresh
        env = administrator.etc / "team.env"
        env.write_text(env.read_text("utf-8").replace(f":{old.port}/", f":{fresh.port}/"))
        said = types(restore.text)
        assert "whole" in said or "ok" in said, said
        with administrator.serving(serve, administrator.first):
            assert administrator.records() >= records
            # Whoever reads on from a number sees what came with the backup.
            assert types("switchboard audit tail --last 3") != ""
    finally:
        administrator.cluster = old
        fresh.remove()
