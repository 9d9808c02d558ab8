"""Every example of the pages about Switchyard works as it stands there."""

import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from yardlab import Lab, free_port

from switchyard.cli.table import VERBS
from switchyard.config.load import load

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "switchyard.md", *sorted((DOCS / "switchyard").glob("*.md"))]
STORIES = [page for page in PAGES if page.stem not in ("agents", "state")]
_BLOCK = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One example: what stands before it in a comment, its language and its text."""

    note: str
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(page.read_text("utf-8"))]


def settled(text: str, lab: Lab, ports: dict[str, int]) -> str:
    """Give the file with ports that nobody else has: several of these tests run at once."""

    def other(match: re.Match[str]) -> str:
        return f"{match[1]}{ports.setdefault(match[2], free_port())}"

    changed = re.sub(r"(?m)^(port = )([1-9]\d*)$", other, text)
    https = ports.setdefault("https", free_port())
    return f"{changed}\n[proxy]\nport = {lab.proxy_port}\nhttps_port = {https}\n"


def run_line(lab: Lab, line: str, note: str) -> None:
    words = shlex.split(line, comments=True)
    if words[0] == "git":
        lab.git(*words[1:])
    elif note == "at a terminal":
        terminal = lab.at_terminal(*words[1:])
        terminal.until("Ctrl-]")
        terminal.type("\x1d")
        assert terminal.end() == 0
    elif note == "until Ctrl-C":
        command = [sys.executable, "-m", "switchyard", *words[1:]]
        with subprocess.Popen(
            command,
            cwd=lab.root,
            env=lab.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout
            assert process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) in (0, 130)
    else:
        assert words[0] == "sy", line
        lab.sy(*words[1:])


@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_one_after_the_other(lab: Lab, page: Path) -> None:
    (lab.root / "index.html").write_text("hello")
    (lab.root / "dev.sqlite").write_bytes(b"")
    (lab.root / ".env").write_text("A=1\n")
    (lab.root / ".gitignore").write_text(".env\n")
    lab.repository()
    lab.env["PATH"] = f"{lab.folder / 'tools'}:{lab.env['PATH']}"
    (lab.folder / "tools").mkdir()
    shim = lab.folder / "tools" / "switchyard"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m switchyard "$@"\n')
    shim.chmod(0o755)
    ports: dict[str, int] = {}
    ran = 0
    for block in blocks(page):
        if block.note.startswith("file: "):
            text = settled(block.text, lab, ports)
            (lab.root / block.note.removeprefix("file: ")).write_text(text)
        elif block.language == "sh":
            for line in block.text.splitlines():
                run_line(lab, line, block.note)
                ran += 1
                if line.startswith("sy init"):
                    path = lab.root / "switchyard.toml"
                    path.write_text(settled(path.read_text(), lab, ports))
    assert ran > 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_configuration_of_a_page_is_valid(tmp_path: Path, page: Path) -> None:
    for number, block in enumerate(one for one in blocks(page) if one.language == "toml"):
        read = tomllib.loads(block.text)
        if {"mcp_servers", "yard"} & read.keys():
            continue  # of Codex, and of Switchboard
        folder = tmp_path / str(number)
        folder.mkdir()
        text = block.text if "services" in read else f"{block.text}\n[services.a]\ncommand = 'x'\n"
        (folder / "switchyard.toml").write_text(text)
        load(folder / "switchyard.toml")


def test_every_command_stands_in_a_page() -> None:
    whole = "\n".join(page.read_text("utf-8") for page in PAGES)
    missing = [verb for verb in VERBS if not re.search(rf"\bsy\s{verb}\b", whole)]
    assert missing == ["version"]


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for page in PAGES:
        for goal in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / goal).exists(), f"{page.name}: {goal}"
