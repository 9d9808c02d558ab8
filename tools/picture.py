"""Draw docs/setup.svg: what a real terminal shows of a real `switchboard setup`.

A home with Codex, Cursor and Claude Code in it is made, with the example's servers in their files.
The command runs at a terminal; the folder of that home is written as `~`, and nothing else is
changed. Run with `--check` it writes nothing, and fails where the picture shows something else
than the command does; figures may differ.
"""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator
from fcntl import ioctl
from html import escape
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "setup.svg"
SERVERS = ROOT / "examples" / "workspace" / "servers"
COMMAND = ("setup", "--yes")
COLUMNS = 116
_LETTER, _LINE, _EDGE = 8.4, 19, 16
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
_COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff"}
_PATIENCE_S = 120


def shown() -> str:
    """What the terminal shows, with its colours."""
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        _make_home(home)
        bin_ = Path(sys.executable).parent
        env = {
            "HOME": folder,
            "PATH": os.pathsep.join([str(bin_), "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        program = str(bin_ / "switchboard")
        text = _at_terminal([program, *COMMAND], home, env)
        stop = [program, "daemon", "stop"]
        subprocess.run(stop, env=env, cwd=home, capture_output=True, check=False)
    return text.replace(program, "switchboard").replace(folder, "~")


def _make_home(home: Path) -> None:
    shutil.copytree(SERVERS, home / "servers")

    def entry(name: str) -> dict[str, object]:
        return {"command": "python3", "args": [str(home / "servers" / f"{name}.py")]}

    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        "".join(
            f'[mcp_servers.{name}]\ncommand = "python3"\nargs = {json.dumps(entry(name)["args"])}\n'
            for name in ("calc", "clock", "notes")
        ),
        "utf-8",
    )
    (home / ".cursor").mkdir()
    token = {"env": {"TEXT_API_TOKEN": "example-of-a-token-0123456789"}}
    cursor = {"calc": entry("calc"), "textkit": {**entry("textkit"), **token}}
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": cursor}), "utf-8")
    claude = {"clock": entry("clock"), "notes": entry("notes")}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": claude}), "utf-8")


def _at_terminal(command: list[str], cwd: Path, env: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, pack("HHHH", 40, COLUMNS, 0, 0))
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env=env,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        data = b""
        try:
            while part := os.read(ours, 4096):
                data += part
        except OSError:
            # Linux says so when the last writer has gone.
            pass
        os.close(ours)
        if process.wait(_PATIENCE_S):
            raise SystemExit(data.decode())
    return data.decode().replace("\r\n", "\n")


def lines_of(text: str) -> Iterator[list[tuple[str, str]]]:
    """The lines that are left on the screen, each as pieces of text with their style."""
    style = ""
    for line in text.rstrip("\n").split("\n"):
        # What is said in passing is written over.
        pieces: list[tuple[str, str]] = []
        at = 0
        for found in (*_ESCAPE.finditer(line), None):
            words = line[at : found.start() if found else len(line)]
            if "\r" in words:
                pieces, words = [], words.rpartition("\r")[2]
            if words:
                pieces.append((style, words))
            if found is None:
                break
            at = found.end()
            if found[2] == "K":
                pieces = []
            elif found[2] == "m":
                style = "" if found[1] in {"", "0"} else found[1]
        yield pieces


def picture(text: str) -> str:
    """The screen as an SVG."""
    rows = [[("1", f"$ switchboard {' '.join(COMMAND)}")], *lines_of(text)]
    width = COLUMNS * _LETTER + 2 * _EDGE
    height = len(rows) * _LINE + 2 * _EDGE
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="14">',
        f"<title>{escape(rows[0][0][1])}</title>",
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
    ]
    for number, pieces in enumerate(rows):
        spans = "".join(_span(style, words) for style, words in pieces)
        y = _EDGE + (number + 1) * _LINE - 5
        place = f'x="{_EDGE}" y="{y}"'
        lines.append(f'<text {place} fill="#e6edf3" xml:space="preserve">{spans}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _span(style: str, words: str) -> str:
    told = "".join(
        (
            ' font-weight="bold"' if style == "1" else "",
            ' opacity="0.6"' if style == "2" else "",
            f' fill="{_COLOURS[style]}"' if style in _COLOURS else "",
        )
    )
    return f"<tspan{told}>{escape(words, quote=False)}</tspan>"


def _without_figures(drawn: str) -> str:
    return re.sub(r"[0-9][0-9,.]*", "0", drawn)


def main() -> int:
    """Draw the picture, or compare it."""
    drawn = picture(shown())
    if "--check" not in sys.argv:
        PICTURE.write_text(drawn, "utf-8")
        return 0
    if _without_figures(PICTURE.read_text("utf-8")) == _without_figures(drawn):
        return 0
    sys.stderr.write("docs/setup.svg shows something else than the command: make picture\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
