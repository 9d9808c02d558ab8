"""Proves the whole path-free setup in temporary homes, touching nothing of the user's."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from switchyard.api.catalogue import TOOLS
from switchyard.mcp.codex import PROGRAM
from switchyard.project.scope import ProjectScope

STEP_S = 30.0


class Smoke:
    """One run: its folders, and what was seen."""

    def __init__(self, scope: ProjectScope, folder: Path, name: str) -> None:
        self._root = scope.root
        self._name = name
        self._neutral = folder / "neutral"
        self._home = folder / "switchyard-home"
        self._codex = folder / "codex-home"
        for one in (self._neutral, self._codex, folder / "home"):
            one.mkdir()
        self._env = {
            **os.environ,
            "HOME": str(folder / "home"),
            "SWITCHYARD_HOME": str(self._home),
            "CODEX_HOME": str(self._codex),
        }
        self._env["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent.parent)
        self.checks: list[dict[str, Any]] = []

    def _check(self, name: str, *, ok: bool, detail: str = "") -> bool:
        self.checks.append({"name": name, "ok": ok, "detail": detail})
        return ok

    def _setup(self, *words: str) -> dict[str, Any]:
        command = [sys.executable, "-m", PROGRAM, "mcp", *words, "--name", self._name, "--json"]
        done = subprocess.run(
            command, cwd=self._root, env=self._env, capture_output=True, timeout=STEP_S, check=False
        )
        return json.loads(done.stdout)

    def _aliases(self) -> list[str]:
        return [one["name"] for one in self._setup("projects")["projects"]]

    def run(self) -> None:
        """Run every step; the first failure ends the run."""
        dry = self._setup("install", "--dry-run")
        if not self._check("dry_run_answers", ok=bool(dry["ok"]), detail=str(dry.get("error", ""))):
            return
        clean = not self._aliases() and not (self._codex / "config.toml").exists()
        self._check("dry_run_registers_nothing", ok=clean and not self._home.exists())
        text = str(self._setup("config")["toml"])
        self._check("config_has_no_project_path", ok=str(self._root) not in text)
        self._check("config_has_no_cwd", ok="cwd" not in text)
        done = self._setup("install")
        if not self._check("install_writes_block", ok=bool(done["ok"] and done["written"])):
            return
        written = (self._codex / "config.toml").read_text(encoding="utf-8")
        self._check("installed_block_has_no_project_path", ok=str(self._root) not in written)
        server: dict[str, Any] = tomllib.loads(written)["mcp_servers"][self._name]
        self._check(
            "block_carries_alias", ok=server["args"][-3:] == ["mcp", "--project", self._name]
        )
        self._check("alias_is_registered", ok=self._aliases() == [self._name])
        self._launch(server)

    def _launch(self, server: dict[str, Any]) -> None:
        meta: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
        meta["clientInfo"] = {"name": "smoke", "version": "0"}
        requests: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": meta},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
            {"jsonrpc": "2.0", "id": 3, "method": "resources/read"},
        ]
        requests[3]["params"] = {"uri": "switchyard://project/brief"}
        env = {key: self._env[key] for key in ("HOME", "PATH") if key in self._env}
        try:
            done = subprocess.run(
                [server["command"], *server["args"]],
                cwd=self._neutral,
                env={**env, **server.get("env", {})},
                input="".join(json.dumps(one) + "\n" for one in requests).encode(),
                capture_output=True,
                timeout=STEP_S,
                check=False,
            )
            answers = {one["id"]: one for one in map(json.loads, done.stdout.splitlines())}
            tools = answers[2]["result"]["tools"]
            brief = json.loads(answers[3]["result"]["contents"][0]["text"])
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as wrong:
            self._check(
                "configured_command_answers", ok=False, detail=f"{type(wrong).__name__}: {wrong}"
            )
            return
        self._check("configured_command_answers", ok=done.returncode == 0)
        self._check("tools_are_listed", ok={one["name"] for one in tools} == set(TOOLS))
        self._check("brief_is_of_this_project", ok=brief["root"] == str(self._root))


def smoke(scope: ProjectScope, name: str | None = None) -> dict[str, Any]:
    """Run the smoke test; `passed` is its verdict."""
    with tempfile.TemporaryDirectory(prefix="switchyard-smoke-") as folder:
        one = Smoke(scope, Path(folder), name or PROGRAM)
        try:
            one.run()
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as wrong:
            one.checks.append({"name": "smoke_runs", "ok": False, "detail": str(wrong)})
    return {"passed": all(check["ok"] for check in one.checks), "checks": one.checks}
