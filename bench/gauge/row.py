"""A row of the tables: a program that is measured, and how it is started and called."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from .link import Json

BENCH = Path(__file__).parents[1]
CHECKOUT = BENCH.parent
SCRIPTS = Path(sys.prefix) / "bin"
# The bare interpreter: a child has no environment of its own.
CHILD = (str(Path(sys.executable).resolve()), str(BENCH / "child.py"))
MANY = 1000


class Site(NamedTuple):
    """One start of a row: its folder and port, and the children that it is to relay to."""

    folder: Path
    port: int
    children: Mapping[str, Json]

    @property
    def config(self) -> Path:
        """A plain `mcpServers` file with the children: the user's own, so not in the folder."""
        return self.home / "servers.json"

    @property
    def home(self) -> Path:
        # Beside the folder, which is a workspace for some: none may hold the home.
        return self.folder.with_name(f"{self.folder.name}-home")

    @property
    def temporary(self) -> Path:
        return self.home / "tmp"

    @property
    def first_command(self) -> list[str]:
        first = next(iter(self.children.values()))
        return [first["command"], *first.get("args", ())]


class Wanted(NamedTuple):
    """A call of a child's tool, before it is put as the row needs it."""

    child: str
    tool: str
    arguments: Json
    alone: bool


def always(*command: str) -> Callable[[Site], list[str]]:
    """Start the same command whatever the site."""

    def made(_site: Site) -> list[str]:
        return list(command)

    return made


def plainly(wanted: Wanted) -> Json:
    """Put a call as the child itself takes it."""
    return {"name": wanted.tool, "arguments": wanted.arguments}


def as_suite(suffix: str) -> Callable[[Wanted], Json]:
    """Put a call through a suite tool named after the child."""

    def put(wanted: Wanted) -> Json:
        return {
            "name": wanted.child + suffix,
            "arguments": {"action": "call", "subtool": wanted.tool, "args": wanted.arguments},
        }

    return put


def joined(between: str, *, also_alone: bool = True) -> Callable[[Wanted], Json]:
    """Put a call by a name made of the child's and the tool's."""

    def put(wanted: Wanted) -> Json:
        plain = wanted.alone and not also_alone
        name = wanted.tool if plain else f"{wanted.child}{between}{wanted.tool}"
        return {"name": name, "arguments": wanted.arguments}

    return put


def _nothing(_site: Site) -> None:
    return None


def _no_environ(_site: Site) -> dict[str, str]:
    return {}


class Row(NamedTuple):
    """Everything that the phases need to know."""

    name: str
    kind: Literal["base", "floor", "ours", "peer"]
    command: Callable[[Site], list[str]]
    put: Callable[[Wanted], Json] = plainly
    front: Literal["stdio", "http", "events"] = "stdio"
    modern: bool = False
    most_children: int = MANY
    path: str = "/mcp"
    headers: Mapping[str, str] = {}
    prepare: Callable[[Site], None] = _nothing
    environ: Callable[[Site], dict[str, str]] = _no_environ
    # Shows fewer tools than its children have, so that its listing is worth counting.
    compact: bool = False
    # Relays to the child; a floor that answers by itself cannot answer with a sized text.
    relays: bool = True
