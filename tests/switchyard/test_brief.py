"""The brief: about its own branch first, small and cheap whatever a service prints."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from yardlab import Json, Lab, wait_for

CLEAN = b"GET /items 200 in 3 ms, nothing to see here\n"
LARGE = 12_000_000


class Asked:
    """An MCP server that is asked several times, and watched from outside."""

    def __init__(self, lab: Lab) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "switchyard", "mcp"],
            cwd=lab.root,
            env=lab.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        lab.cleanup(self._process.communicate)

    def read_bytes(self) -> int:
        """Give how many bytes it has read so far, from anywhere."""
        text = Path(f"/proc/{self._process.pid}/io").read_text()
        return int(text.partition("rchar: ")[2].split()[0])

    def call(self, name: str, **given: object) -> Json:
        """Call a tool, and give what it answers."""
        return self.request(name, **given)["result"]["structuredContent"]

    def request(self, name: str, **given: object) -> Json:
        """Call a tool, and give the whole message."""
        params = {"name": f"switchyard_{name}", "arguments": given}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture
def chatty(lab: Lab) -> Path:
    """Give the log of a service that has printed a lot, with errors far back and of late."""
    lab.config('[services.web]\ncommand = ["sleep", "100"]\n')
    lab.json("up")
    log = Path(lab.service("web")["log_path"])
    with log.open("ab") as out:
        out.write(b"ValueError: long ago\n" + CLEAN * (LARGE // len(CLEAN)))
        out.write(b"0 errors\n" + b"connection FAILED: again\n" * 5 + b"TypeError: late\n" + CLEAN)
    return log


def test_a_brief_reads_little_of_a_long_log(lab: Lab, chatty: Path) -> None:
    server = Asked(lab)
    server.call("doctor")
    before = server.read_bytes()
    brief = server.call("brief")
    assert server.read_bytes() - before < LARGE // 6
    lines = {one["line"]: one.get("count", 1) for one in brief["recent_errors"]}
    assert lines == {"connection FAILED: again": 5, "TypeError: late": 1}
    before = server.read_bytes()
    assert server.call("brief")["recent_errors"] == brief["recent_errors"]
    assert server.read_bytes() - before < LARGE // 60
    with chatty.open("ab") as out:
        out.write(b"OSError: newest\n")
    assert server.call("brief")["recent_errors"][-1]["line"] == "OSError: newest"


def test_asked_for_errors_alone_the_whole_log_is_looked_through(lab: Lab, chatty: Path) -> None:
    del chatty
    found = lab.json("logs", "web", "--errors")["logs"][0]["lines"]
    assert found[0] == "ValueError: long ago"
    assert len(found) == 7
    assert "5 times" in lab.sy("brief").out


def test_a_brief_is_bounded_whatever_a_service_prints(lab: Lab) -> None:
    services = "".join(f'[services.s{n}]\ncommand = ["sleep", "100"]\n' for n in range(12))
    lab.config(services)
    lab.json("up")
    for one in lab.json("status")["services"]:
        with Path(one["log_path"]).open("ab") as out:
            out.writelines(b"Error %d " % n + b"\xff\x00x" * 400 + b"\n" for n in range(50))
    brief = lab.json("brief")
    assert len(json.dumps(brief)) <= 6200
    assert len(brief["services"]) == 12
    assert brief["recent_errors_omitted"] > 0


def test_its_own_branch_comes_first_then_what_is_not_well(lab: Lab) -> None:
    lab.config(
        "".join(f'[services.s{n}]\ncommand = ["sleep", "100"]\n' for n in range(8))
        + '[services.odd]\ncommand = [SVC, "exit", "3", "0.2"]\n'
    )
    lab.repository()
    for branch in ("a1", "a2", "main"):
        if branch != "main":
            lab.json("create", branch)
        lab.sy("up", branch, "--no-wait", "--json", code=None)
    wait_for(
        lambda: (
            [one["phase"] for one in lab.json("status")["services"]].count("crashed") == 3
            and len(lab.json("status")["services"]) == 27
        )
    )
    brief = lab.json("brief")
    shown = [(one["branch"], one["phase"]) for one in brief["services"]]
    assert [branch for branch, _ in shown[:9]] == ["main"] * 9
    assert set(shown[9:11]) == {("a1", "crashed"), ("a2", "crashed")}
    assert brief["recent_errors"][0]["branch"] == "main"
    omitted = 27 - len(shown)
    assert brief["services_omitted"] == omitted
    assert f"and {omitted} more" in lab.sy("brief").out
