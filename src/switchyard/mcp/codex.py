"""The Codex configuration: one path-free block, spliced in without touching anything else."""

import copy
import json
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple, cast

from switchkit.files import replace_file
from switchkit.platform.paths import true_folder
from switchkit.toml.positions import Statement, statements
from switchyard.core.fault import CONFLICT, USAGE, YardFault

PROGRAM = "switchyard"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
OWN_KEYS = ("command", "args", "cwd")
USUAL = (
    ("startup_timeout_sec", "10"),
    ("tool_timeout_sec", "60"),
    # Tools that only read pass; Codex asks before all others.
    ("default_tools_approval_mode", '"writes"'),
)
_WHY_FALLBACK = (
    "# No `switchyard` executable is visible on PATH outside this project, so this interpreter",
    "# is launched. Install switchyard and run `switchyard mcp install` again to do without it.",
)


class Block(NamedTuple):
    """What a client needs to know to start the server. One of the two programs is there."""

    name: str
    home: str | None
    executable: str | None
    fallback: str | None

    @property
    def command(self) -> list[str]:
        """The launch command, as configured."""
        return [self.program, *self.arguments]

    @property
    def program(self) -> str:
        """What is started: the command, or the interpreter where the command is not visible."""
        return self.fallback or PROGRAM

    @property
    def arguments(self) -> list[str]:
        """Always the alias, never a path."""
        given = ["mcp", "--project", self.name]
        return ["-m", PROGRAM, *given] if self.fallback else given

    def toml(self) -> str:
        """The whole block."""
        lines = [f"[mcp_servers.{self.name}]", *self.own_lines()]
        lines += [f"{key} = {value}" for key, value in USUAL]
        if self.home is not None:
            lines += ["", f"[mcp_servers.{self.name}.env]", self.home_line()]
        return "\n".join(lines) + "\n"

    def own_lines(self) -> list[str]:
        """How the server is launched, with the reason where it is not by its own command."""
        lines = [f"command = {json.dumps(self.program)}", f"args = {json.dumps(self.arguments)}"]
        return [*_WHY_FALLBACK, *lines] if self.fallback else lines

    def home_line(self) -> str:
        """Where the server finds its aliases."""
        return f"SWITCHYARD_HOME = {json.dumps(self.home)}"


def make_block(name: str, root: Path, home: str | None) -> Block:
    """The block for this project. Nothing inside the project is ever written into it.

    Raises `YardFault` when nothing outside the project could be launched.
    """
    if not NAME.fullmatch(name):
        raise YardFault(
            "bad-name",
            f"`{name}` is not a valid server name; use letters, digits, `_`, `-`",
            exit_code=USAGE,
        )
    found = shutil.which(PROGRAM)
    if found and _inside(Path(found), root):
        found = None
    if found:
        return Block(name, home, found, None)
    if _inside(Path(sys.executable), root):
        raise YardFault(
            "no-executable",
            "no `switchyard` is visible on PATH outside this project, and the Python in use "
            "belongs to the project, which no client may depend on",
            hint="install switchyard outside the project, for example with `pipx install`",
            exit_code=CONFLICT,
        )
    return Block(name, home, None, sys.executable)


def _inside(path: Path, root: Path) -> bool:
    # A virtual environment's Python is a link: its own place counts, not its target.
    return path.absolute().is_relative_to(root) or true_folder(path.parent).is_relative_to(root)


def config_path() -> Path:
    """`CODEX_HOME`, or `~/.codex`."""
    chosen = os.environ.get("CODEX_HOME")
    return (Path(chosen).expanduser() if chosen else Path.home() / ".codex") / "config.toml"


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise YardFault(
            "codex-config-invalid",
            f"{path} is not valid TOML: {wrong}",
            hint="repair it first; nothing was changed",
            exit_code=USAGE,
        ) from None


def read_text(path: Path) -> str:
    """The file as it is; empty when there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def configured_home(path: Path, name: str) -> str | None:
    """The `SWITCHYARD_HOME` that an existing block of this name has."""
    servers: dict[str, Any] = _parsed(path, read_text(path)).get("mcp_servers", {})
    found = servers.get(name, {}).get("env", {}).get("SWITCHYARD_HOME")
    return found if isinstance(found, str) else None


def spliced(path: Path, text: str, block: Block) -> str:
    """The file with our block in it; every other line stays as it is, byte for byte.

    Raises `YardFault` when the file is invalid, or written in a form that cannot be edited safely.
    """
    before = _parsed(path, text)
    servers: dict[str, Any] = before.get("mcp_servers", {})
    table = ("mcp_servers", block.name)
    if block.name not in servers:
        gap = "" if not text else ("\n" if text.endswith("\n") else "\n\n")
        made = text + gap + block.toml()
    elif any(one.is_header and one.table == table for one in statements(text)):
        made = _replaced(text, block, table)
    else:
        raise _by_hand(path, block)
    after = _parsed(path, made)
    if _others(after, block) != _others(before, block):
        raise _by_hand(path, block)
    return made


def _by_hand(path: Path, block: Block) -> YardFault:
    return YardFault(
        "codex-config-shape",
        f"`mcp_servers.{block.name}` in {path} is written in a form that cannot be edited safely",
        hint="remove it, or paste the output of `switchyard mcp config`",
        exit_code=CONFLICT,
    )


def _others(values: dict[str, Any], block: Block) -> dict[str, Any]:
    """Everything in the file that is not ours to change."""
    left = copy.deepcopy(values)
    servers = cast("dict[str, Any]", left.get("mcp_servers", {}))
    server = cast("dict[str, Any]", servers.get(block.name, {}))
    for key in (*OWN_KEYS, *(key for key, _ in USUAL)):
        server.pop(key, None)
    env = cast("dict[str, Any]", server.get("env", {}))
    env.pop("SWITCHYARD_HOME", None)
    if not env:
        server.pop("env", None)
    if not server:
        servers.pop(block.name, None)
    if not servers:
        left.pop("mcp_servers", None)
    return left


def _replaced(text: str, block: Block, table: tuple[str, str]) -> str:
    lines = text.split("\n")
    found = statements(text)
    drop: set[int] = set()
    for one in found:
        if one.table == table and one.key and one.key[0] in OWN_KEYS:
            drop.update(range(one.first, one.last + 1))
    for number, line in enumerate(lines, 1):
        if number in _region(found, table, len(lines)) and _is_our_comment(line):
            drop.add(number)
    have = {one.key[0] for one in found if one.table == table and one.key}
    header = next(one for one in found if one.is_header and one.table == table)
    added = {header.first: block.own_lines() + [f"{k} = {v}" for k, v in USUAL if k not in have]}
    if block.home is not None:
        _set_home(found, block, table, drop, added)
    made: list[str] = []
    for number, line in enumerate(lines, 1):
        if number not in drop:
            made.append(line)
        made += added.get(number, [])
    return "\n".join(made)


def _is_our_comment(line: str) -> bool:
    # The last three were written by earlier versions.
    ours = (*_WHY_FALLBACK, "# No `switchyard` exec", "# The Python in use", "# Install it, or use")
    return line.startswith((*ours, "# command = ", '# args = ["-m", "switchyard"'))


def _region(found: list[Statement], table: tuple[str, ...], last: int) -> range:
    """The lines from the header of a table to the next header."""
    headers = [one for one in found if one.is_header]
    at = next(index for index, one in enumerate(headers) if one.table == table)
    end = headers[at + 1].first if at + 1 < len(headers) else last + 1
    return range(headers[at].first, end)


def _set_home(
    found: list[Statement],
    block: Block,
    table: tuple[str, str],
    drop: set[int],
    added: dict[int, list[str]],
) -> None:
    env = (*table, "env")
    line = block.home_line()
    header = next((one for one in found if one.is_header and one.table == env), None)
    for one in found:
        if one.table == env and one.key == ("SWITCHYARD_HOME",):
            drop.update(range(one.first, one.last + 1))
    if header is not None:
        added.setdefault(header.first, []).append(line)
        return
    if any(one.table == table and one.key[:1] == ("env",) for one in found):
        return  # an inline table: the check after the splice decides
    members = [one for one in found if one.table == table]
    added.setdefault(members[-1].last, []).extend(["", f"[mcp_servers.{block.name}.env]", line])


def write_config(path: Path, text: str) -> None:
    """Replace the file as one step; a link stays a link, and the mode stays the mode."""
    real = true_folder(path)
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
    replace_file(real, text.encode())
    real.chmod(mode)
