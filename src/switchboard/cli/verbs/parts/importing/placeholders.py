"""`${…}` as other clients write it, in our own words. No value is ever looked up.

Claude Code has `${VAR}` and `${VAR:-text}`; VS Code and Cursor have `${env:VAR}`, `${userHome}`,
`${workspaceFolder}` and, for what they ask their user, `${input:name}`.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, cast

from switchboard.children.secrets.texts import is_reference

_ANY = re.compile(r"\$\{([^}]{0,400})\}")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-.*)?", re.DOTALL)
_FOLDERS = frozenset({"workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR"})
_PLAIN = {"userHome": "${HOME}", "pathSeparator": os.sep, "/": os.sep}
_INPUT = "input:"


class Untranslatable(Exception):
    """Why an entry stays where it is."""


class Translation:
    """The fields of one server, with what had to be noticed on the way."""

    def __init__(self, server: str, environ: Mapping[str, str]) -> None:
        self._server = server
        self._environ = environ
        # Whether something is left that only `config.toml` fills in.
        self.is_filled = False
        self.needs_workspace = False
        # Secrets that the other client asked its user for, and that are nowhere yet.
        self.asked: list[str] = []

    def fields(self, theirs: Mapping[str, Any]) -> dict[str, Any]:
        """The same in our words. Raises `Untranslatable`."""
        ours = {name: each for name, each in theirs.items() if name not in {"env", "headers"}}
        env = cast("dict[str, str]", theirs.get("env") or {})
        whole = {key: self._reference("env", key, text) for key, text in env.items()}
        secrets = {key: each for key, each in whole.items() if each}
        plain = {key: text for key, text in env.items() if key not in secrets}
        headers = {
            key: self._reference("header", key, text) or self._text(text, f"header/{key}")
            for key, text in cast("dict[str, str]", theirs.get("headers") or {}).items()
        }
        kept = {key: self._text(text, f"env/{key}") for key, text in plain.items()}
        found = {name: self._any(value) for name, value in ours.items()}
        return found | {
            name: each
            for name, each in (("env", kept), ("secret_env", secrets), ("headers", headers))
            if each
        }

    def _reference(self, kind: str, key: str, text: str) -> str:
        """The reference that a value is as a whole; nothing if it is more, or something else."""
        found = _ANY.fullmatch(text)
        if found is None:
            return ""
        if found[1].startswith(_INPUT):
            return self._vault(f"{kind}/{key}", found[0])
        name = _VARIABLE.fullmatch(found[1])
        if name is None or name[2] is not None or found[1] in _FOLDERS or found[1] in _PLAIN:
            return ""
        return f"env:{name[1]}"

    def _vault(self, place: str, text: str) -> str:
        path = f"mcp/{self._server}/{place}"
        if not is_reference(f"vault:{path}"):
            raise Untranslatable(f"its client asks somebody for `{text}`")
        self.asked.append(path)
        return f"vault:{path}"

    def _any(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._any(each) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {key: self._any(each) for key, each in cast("dict[str, Any]", value).items()}
        return value

    def _text(self, text: str, place: str = "") -> str:
        """A text with placeholders of `config.toml`; `place` is where a secret of it would lie."""
        return _ANY.sub(lambda found: self._filled(found, text, place), text)

    def _filled(self, found: re.Match[str], text: str, place: str) -> str:
        inside = found[1]
        if inside in _FOLDERS:
            return self._folder(found, text)
        if inside in _PLAIN:
            self.is_filled = self.is_filled or "$" in _PLAIN[inside]
            return _PLAIN[inside]
        if inside.startswith(_INPUT) and place:
            self.is_filled = True
            return f"${{{self._vault(place, found[0])}}}"
        name = _VARIABLE.fullmatch(inside)
        if name is None:
            raise Untranslatable(f"Switchboard does not fill `{found[0]}`")
        if name[2] is None and name[1] not in self._environ:
            # A file with a variable that is not set cannot be used, with all that it holds.
            raise Untranslatable(f"`{name[1]}` is not set here; set it and import again")
        self.is_filled = True
        return f"${{{name[1]}{name[2] or ''}}}"

    def _folder(self, found: re.Match[str], text: str) -> str:
        """The workspace, for a server that starts in it."""
        before, after = text[: found.start()], text[found.end() :]
        if (before and not before.endswith("=")) or after[:1] not in {"", "/"}:
            raise Untranslatable(f"`{found[0]}` would have to be a whole path in `{text}`")
        self.needs_workspace = True
        return "."
