"""Reads env files as other tools write them: quotes, lines within quotes, references to others."""

import re
from collections.abc import Mapping
from pathlib import Path

from switchyard.core.fault import USAGE, YardFault

_NAME = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=[ \t]*")
# A default holds no other reference, and nothing is tried twice: the cost is that of the text.
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*+)(?::?-([^}$]*+))?\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$", "`": "`"}


def read_env_file(path: Path, around: Mapping[str, str]) -> dict[str, str] | None:
    """The variables in the file; nothing when there is no file.

    `${NAME}` and `${NAME:-default}` mean a variable above it or around it, but not in single
    quotes. Raises `YardFault` with the line of a mistake.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as wrong:
        raise _wrong(path, 0, wrong.strerror or str(wrong)) from None
    except UnicodeDecodeError as wrong:
        raise _wrong(path, wrong.object[: wrong.start].count(b"\n") + 1, "not UTF-8") from None
    return _EnvText(path, text.replace("\r\n", "\n"), around).read()


def _wrong(path: Path, line: int, what: str) -> YardFault:
    return YardFault("env-file-invalid", f"{path}:{line}: {what}", exit_code=USAGE)


class _EnvText:
    """One file while it is read."""

    def __init__(self, path: Path, text: str, around: Mapping[str, str]) -> None:
        self._path = path
        self._text = text
        self._around = around
        self._made: dict[str, str] = {}

    def read(self) -> dict[str, str]:
        at = 0
        while at < len(self._text):
            end = self._end_of_line(at)
            line = self._text[at:end].strip()
            if not line or line.startswith("#"):
                at = end + 1
                continue
            start = at + len(self._text[at:end]) - len(self._text[at:end].lstrip())
            found = _NAME.match(self._text, start, end)
            if found is None:
                raise self._mistake(at, f"`{line[:40]}` is not NAME=value")
            value, at = self._value(found.end(), end)
            self._made[found[1]] = value
        return self._made

    def _end_of_line(self, at: int) -> int:
        end = self._text.find("\n", at)
        return len(self._text) if end < 0 else end

    def _mistake(self, at: int, what: str) -> YardFault:
        return _wrong(self._path, self._text.count("\n", 0, at) + 1, what)

    def _value(self, at: int, end: int) -> tuple[str, int]:
        """The value that begins here, and where the next line does."""
        quote = self._text[at : at + 1]
        if quote not in ("'", '"') or at == end:
            plain = re.split(r"(?:^|\s)#", self._text[at:end], maxsplit=1)[0].strip()
            return self._expanded(plain), end + 1
        pieces: list[str] = []
        here = at + 1
        while True:
            if here >= len(self._text):
                raise self._mistake(at, f"the quote {quote} is never closed")
            one = self._text[here]
            if one == quote:
                break
            if one == "\\" and quote == '"' and here + 1 < len(self._text):
                after = self._text[here + 1]
                # Kept apart until references are filled in: an escaped dollar begins none.
                escaped = _ESCAPES.get(after, f"\\{after}")
                pieces.append("\0" if after == "$" else escaped)
                here += 2
                continue
            pieces.append(one)
            here += 1
        rest = self._text[here + 1 : self._end_of_line(here)].strip()
        if rest and not rest.startswith("#"):
            raise self._mistake(here, f"`{rest[:40]}` follows the closing quote")
        text = "".join(pieces)
        value = text if quote == "'" else self._expanded(text).replace("\0", "$")
        return value, self._end_of_line(here) + 1

    def _expanded(self, text: str) -> str:
        def filled(match: re.Match[str]) -> str:
            found = self._made.get(match[1], self._around.get(match[1], ""))
            return found or match[2] or ""

        return _REFERENCE.sub(filled, text)
