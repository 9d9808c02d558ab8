"""A home and a workspace of real files, and the settings that they give."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings


class Ground:
    """Files below a temporary directory, and a load with a fixed environment."""

    def __init__(self, root: Path) -> None:
        self.user_home = root / "user"
        self.home = self.user_home / ".switchboard"
        self.agh_home = self.user_home / ".agh"
        self.workspace = root / "workspace"
        self.own = self.workspace / ".switchboard"
        self.user_home.mkdir()
        self.workspace.mkdir()

    def put(self, path: Path, content: str | bytes | Mapping[str, Any]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content, indent=2)
            path.write_text(text, "utf-8")
        return path

    def child(self, name: str, content: str | bytes | Mapping[str, Any] | None = None) -> Path:
        """A suite child of the workspace."""
        told = {"name": name, "command": {"cmd": name}} if content is None else content
        return self.put(self.own / "mcps" / name / ".mcp.json", told)

    def environ(self, **variables: str) -> dict[str, str]:
        return {"HOME": str(self.user_home), **variables}

    def load(
        self,
        *,
        trusted: bool = True,
        flags: Mapping[str, Any] | None = None,
        config: Path | None = None,
        variables: Mapping[str, str] | None = None,
        settled: bool = False,
        **more: str,
    ) -> Settings:
        """With `settled` the home says nothing of the variable that trusts everything."""
        environ = self.environ(**(variables or {}), **more)
        if trusted and not settled:
            self._let_variable_count()
        if trusted:
            environ["SWITCHBOARD_TRUST_WORKSPACE"] = "1"
        return load_settings(
            workspace=str(self.workspace),
            environ=environ,
            flags=flags or {},
            config=None if config is None else str(config),
        )

    def _let_variable_count(self) -> None:
        files = [self.home / "mcp.json", self.home / "switchboard.config.json"]
        files += [self.agh_home / name for name in ("config.toml", "mcp.json")]
        config = self.home / "config.toml"
        if not config.is_file() and not any(each.exists() for each in files):
            return
        text = config.read_bytes() if config.is_file() else b""
        if b"trust_variable" in text:
            return
        # Behind everything, so that lines stay where they are; but never in a table.
        word = b"trust_variable = true\n"
        has_table = any(line.startswith(b"[") for line in text.splitlines())
        self.put(config, word + text if has_table else text.rstrip(b"\n") + b"\n" + word)

    def refused(self, **options: Any) -> tuple[Problem, ...]:
        """The problems of a load that must fail."""
        given: dict[str, Any] = {"settled": True, **options}
        with pytest.raises(ConfigInvalid) as caught:
            self.load(**given)
        return caught.value.problems

    def refused_keys(self, **options: Any) -> list[str]:
        return [problem.key for problem in self.refused(**options)]
