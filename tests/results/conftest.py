"""A guarded workspace with a server whose results are long."""

import json
from pathlib import Path
from typing import Any

import pytest

from gate.conftest import gate, workspace
from gate.ground import Gate
from support.workspace import child_command

__all__ = ["gate", "wiki", "workspace"]


class Wiki:
    """The server, and what was saved with it."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self._file = gate.workspace.root.parent / "saved.json"
        gate.workspace.child("wiki", child_command("wiki_child", str(self._file)))
        self.bound("inline_tokens = 1000", 'mode = "passthrough"')

    def bound(self, *results: str, surface: str = "lean", more: str = "") -> None:
        """Write the settings of the home."""
        surface = f'surface_tokens = "{surface}"' if surface else ""
        lines = ("enable_mcp_server_surface = true", surface, "[results]", *results, more)
        self.gate.workspace.config_toml("\n".join(lines), scope="home")

    @property
    def file(self) -> Path:
        return self._file

    @property
    def saved(self) -> Any:
        return json.loads(self._file.read_text("utf-8")) if self._file.exists() else None


@pytest.fixture(name="wiki")
def wiki(gate: Gate) -> Wiki:
    return Wiki(gate)
