"""T5-T7: what a question costs, from a cold command line and over a warm MCP connection."""

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from stage import PROGRAM, SOCAT, Row, Stage, clocked, commit_all, free_port, header, middle, staged

FILES = 2000


def config() -> str:
    """Ten services with canonical ports, as the original wants them."""
    return header() + "".join(
        f'[services.s{n}]\ncommand = "{SOCAT}"\nport = {free_port()}\n' for n in range(10)
    )


def repository(stage: Stage) -> None:
    """Two thousand files under git."""
    folder = stage.root / "src"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"f{number}.txt").write_text(str(number))
    commit_all(stage)


class Warm:
    """One MCP connection that stays open."""

    def __init__(self, stage: Stage, command: list[str]) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(
            command, cwd=stage.root, env=stage.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        info = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "0"},
        }
        self.ask("initialize", info)
        self.started_ms = (time.perf_counter() - began) * 1000

    def ask(self, method: str, params: Any) -> bytes:
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in
        assert pipe_out
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        pipe_in.write(json.dumps(message).encode() + b"\n")
        pipe_in.flush()
        return pipe_out.readline()

    def call(self, name: str, **given: Any) -> bytes:
        return self.ask("tools/call", {"name": f"switchyard_{name}", "arguments": given})

    def close(self) -> None:
        self._process.communicate(timeout=10)


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("where", {"service": "s1"}),
    ("status", {}),
    ("doctor", {}),
    ("logs", {"service": "s1"}),
    ("brief", {}),
)


def rows(rounds: int, anchors: Path) -> list[Row]:
    """Everything about asking, interleaved."""
    seen: dict[tuple[str, str], list[float]] = {}
    original = str(anchors / "switchyard")
    with staged(config()) as stage, staged(config()) as other:
        repository(stage)
        repository(other)
        stage.sy("up")
        contenders: dict[str, tuple[Stage, list[str]]] = {"switchyard": (stage, PROGRAM)}
        if Path(original).exists():
            other.run([original, "up"])
            contenders["switchyard-dev 0.1.1"] = (other, [original])
        bare = [sys.executable, "-c", "pass"]
        for _ in range(rounds * 3):
            seen.setdefault(("cold", "git status"), []).append(
                clocked(lambda: stage.run(["git", "status", "--porcelain"]))
            )
            for who, (where, program) in contenders.items():
                for words in (("where", "s1"), ("brief",), ("status",)):
                    # A core is slower while its neighbour works: each has a bare one at its side.
                    took = clocked(partial(stage.run, bare))
                    seen.setdefault(("cold", "python -c pass"), []).append(took)
                    took = clocked(partial(where.run, [*program, *words, "--json"]))
                    seen.setdefault((f"cold {words[0]}", who), []).append(took)
        sizes: list[Row] = []
        for who, (where, program) in contenders.items():
            warm = Warm(where, [*program, "mcp"])
            seen.setdefault(("MCP initialize after spawn", who), []).append(warm.started_ms)
            for name, given in CALLS:
                for _ in range(20 * rounds):
                    took = clocked(partial(warm.call, name, **given))
                    seen.setdefault((f"MCP {name}, warm", who), []).append(took)
            structured = json.loads(warm.call("brief"))["result"]["structuredContent"]
            sizes.append(Row("brief of 10 services", who, len(json.dumps(structured)), "bytes"))
            warm.close()
        if Path(original).exists():
            other.run([original, "down"], check=False)
            other.run([original, "proxy", "stop"], check=False)
    return [
        Row(measure, who, middle(values), "ms") for (measure, who), values in seen.items()
    ] + sizes
