"""One page, followed from its first example to its last in a home of its own."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from docs.pages import Block
from support.terminal import answered
from support.workspace import Workspace
from switchboard.settings.load import load_settings

PATIENCE_S = 60.0
# What the examples refer to.
VARIABLES = {
    "GITHUB_TOKEN": "canary-of-github",
    "NOTES_CLIENT_SECRET": "canary-of-notes",
    "TOKEN": "canary-of-a-page",
}


class Story:
    """The files that a page has written so far, and what it types."""

    def __init__(self, folder: Path, *, daemon: bool = False) -> None:
        self.workspace = Workspace(folder, daemon=daemon)
        self.env: dict[str, str] = {**self.workspace.env, **VARIABLES, "NO_COLOR": "1"}
        # Of `serve --http`, where it runs.
        self.port = "8081"
        # What a page says of the gate and of trust is what counts.
        del self.env["ENABLE_MCP_SERVER_SURFACE"]
        del self.env["SWITCHBOARD_TRUST_WORKSPACE"]

    def path_of(self, place: str) -> Path:
        """Where a page means: `~` is the home of the user, all else is in the workspace."""
        if place.startswith("~/"):
            return self.workspace.user_home / place.removeprefix("~/")
        return self.workspace.root / place

    def put(self, block: Block, changes: Mapping[str, str] = {}) -> Path:
        """Write the file that a block is, with other words in the place of some."""
        path = self.path_of(block.place)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = block.text
        for word, other in changes.items():
            text = text.replace(word, other)
        path.write_text(text, "utf-8")
        return path

    def warnings(self) -> list[str]:
        """Load everything as it is now; what is told of it. Raises what is wrong with it."""
        settings = load_settings(workspace=str(self.workspace.root), environ=self.env)
        return [each.message for each in settings.warnings]

    def types(self, line: str, *, answer: str = "y") -> tuple[int, str]:
        """Type a line at a terminal, and answer what is asked; its exit code, and what it shows."""
        return answered(
            ["bash", "-c", line],
            cwd=self.workspace.root,
            env=self.env,
            answer=lambda: answer,
            patience_s=PATIENCE_S,
        )

    def runs(self, line: str) -> str:
        """Run a line without a terminal; what it prints."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.workspace.root,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        return done.stdout


def in_order(fragments: list[str], text: str) -> bool:
    """Whether a text has all of these, one after the other."""
    return re.search(".*?".join(map(re.escape, fragments)), text, re.DOTALL) is not None
