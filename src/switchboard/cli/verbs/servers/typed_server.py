"""A server as it is typed on the command line: its fields, and what in them looks like a secret."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from switchboard.children.secrets.texts import is_reference
from switchboard.core.privacy.redaction import redacted_text, redacted_words
from switchboard.core.privacy.secret_names import is_secret_name
from switchkit.cli.usage import Arguments, Option, UsageError

# Shorter values are too often something else as well.
_SHORTEST = 8
_TIME = re.compile(r"(\d+)(ms|s|m|)")
_UNITS = {"ms": 1, "s": 1_000, "": 1_000, "m": 60_000}

# By these a remote server is known that is typed without `--url`.
URL_BEGINNINGS = ("https://", "http://")

OPTIONS = (
    Option(name="url", value="URL", about="a remote server instead of a command"),
    Option(
        name="transport",
        value="KIND",
        about="how a remote server is reached: http (the default) or sse",
        choices=("stdio", "http", "sse"),
    ),
    Option(
        name="env",
        value="K=V",
        many=True,
        about="a variable of the server; K=env:NAME and K=vault:… are looked up; repeatable",
    ),
    Option(
        name="secret-env",
        value="K=REF",
        many=True,
        about="a variable looked up at the start: K=env:NAME; repeatable",
    ),
    Option(
        name="header",
        value="K=V",
        many=True,
        about="a header for a remote server; K=env:NAME and K=vault:… are looked up; repeatable",
    ),
    Option(name="description", value="TEXT", about="what the server is for"),
    Option(
        name="sandbox",
        value="PROFILE",
        about="what keeps the server in bounds: default, seatbelt or none",
        choices=("default", "seatbelt", "none"),
    ),
    Option(name="allow-network", about="let a server with a sandbox reach the network"),
    Option(
        name="expose",
        value="HOW",
        about="show one suite (suite), or its tools under their own names (tools)",
        choices=("suite", "tools"),
    ),
    Option(
        name="scope",
        value="WHOSE",
        about="who shares the running server: session, workspace or user",
        choices=("session", "workspace", "user"),
    ),
    Option(name="timeout", value="TIME", about="the longest that a request may take: 90s, 5m"),
)


class TypedServer(Struct, frozen=True, kw_only=True):
    """What is written into the file, and what is said about it."""

    fields: dict[str, Any]
    # Values that are taken from variables instead of being written down.
    notes: tuple[str, ...] = ()
    # What is a secret, likely, and stands in the file all the same.
    warnings: tuple[str, ...] = ()
    # The keys that those are about.
    keys: frozenset[str] = frozenset()


def typed_server(arguments: Arguments, environ: Mapping[str, str]) -> TypedServer:
    """Raises `UsageError` for what makes no sense."""
    name, command = arguments.word(0), arguments.rest
    url = arguments.one("url") or arguments.word(1)
    if name.startswith(URL_BEGINNINGS):
        raise UsageError(
            "`NAME` is missing before the URL", f"switchboard add docs {shlex.quote(name)}"
        )
    if bool(command) == bool(url):
        what = "either a command or a URL, not both" if url else "a command or a URL"
        words = ["--url", url] if url else ["--", "npx", "-y", name]
        line = shlex.join(["switchboard", "add", name, *words])
        raise UsageError(f"`switchboard add` needs {what}", line)
    transport = arguments.one("transport")
    if command and transport not in {None, "stdio"}:
        raise UsageError(f"a command is reached by stdio, not by `{transport}`")
    if url and transport == "stdio":
        raise UsageError("a URL is reached by `http` or `sse`, not by `stdio`")
    if arguments.has("allow-network") and arguments.one("sandbox") in {None, "none"}:
        raise UsageError(
            "`--allow-network` is for a server with a sandbox; any other may reach the network",
            "say `--sandbox default` too, or leave it out",
        )
    if command and arguments.all("header"):
        raise UsageError("`--header` is for a server with `--url`", "give a command `--env K=V`")
    fields: dict[str, Any] = {}
    if url:
        fields["transport"] = transport or "http"
        fields["url"] = url
    else:
        fields["command"] = command[0]
        if command[1:]:
            fields["args"] = list(command[1:])
    env = _Values("env", name, environ)
    env.take(_pairs("env", arguments.all("env"), "="))
    headers = _Values("header", name, environ)
    headers.take(_pairs("header", arguments.all("header"), ":="))
    secrets = {**env.referred, **_pairs("secret-env", arguments.all("secret-env"), "=")}
    fields |= {
        key: value
        for key, value in (
            ("env", env.plain),
            ("secret_env", secrets),
            ("headers", {**headers.plain, **headers.referred}),
            ("description", arguments.one("description")),
            ("sandbox_profile", arguments.one("sandbox")),
            ("allow_network", arguments.has("allow-network")),
            ("expose", arguments.one("expose")),
            ("scope", arguments.one("scope")),
            ("rpc_timeout_ms", _milliseconds(arguments.one("timeout"))),
        )
        if value
    }
    warnings = [*env.warnings, *headers.warnings]
    if redacted_words(command) != list(command):
        warnings.append(
            "the command line holds what looks like a secret, and the file keeps it in plain text:"
            " hand it over with `--env` instead, if the server takes a variable"
        )
    return TypedServer(
        fields=fields,
        notes=(*env.notes, *headers.notes),
        warnings=tuple(warnings),
        keys=frozenset({*env.secret, *headers.secret}),
    )


class _Values:
    """Variables or headers, divided into what may be read by all and what is only referred to."""

    def __init__(self, kind: str, server: str, environ: Mapping[str, str]) -> None:
        self._kind = kind
        self._server = server
        self._environ = environ
        self.plain: dict[str, str] = {}
        self.referred: dict[str, str] = {}
        self.secret: set[str] = set()
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def take(self, pairs: Mapping[str, str]) -> None:
        for key, value in pairs.items():
            if is_reference(value):
                self.referred[key] = value
            elif not (is_secret_name(key) or redacted_text(value) != value):
                self.plain[key] = value
            elif variable := self._variable(key, value):
                self.referred[key] = f"env:{variable}"
                self.notes.append(
                    f"`{key}` is looked up as `env:{variable}`, so its value is not written down"
                )
            else:
                self._keep_in_plain(key, value)

    def _keep_in_plain(self, key: str, value: str) -> None:
        self.plain[key] = value
        self.secret.add(key)
        option = f"--{self._kind} {key}="
        place = f"mcp/{self._server}/{self._kind}/{key}"
        self.warnings.append(
            f"`{key}` looks like a secret, and the file keeps it in plain text:"
            f" switchboard vault put {place}, then add it again with `{option}vault:{place}`,"
            f" or keep it in a variable and say `{option}env:NAME`"
        )

    def _variable(self, key: str, value: str) -> str:
        """The variable of the shell that holds this very value."""
        if self._environ.get(key) == value:
            return key
        if len(value) < _SHORTEST:
            return ""
        return next((name for name, held in self._environ.items() if held == value), "")


def _pairs(option: str, given: Sequence[str], marks: str) -> dict[str, str]:
    """`K=V`, or for headers `K: V` as well."""
    pairs: dict[str, str] = {}
    for word in given:
        found = re.match(rf"([^{marks}]+)[{marks}](.*)", word, re.DOTALL)
        if found is None:
            # The word is not repeated: it may be a secret whose name was forgotten.
            raise UsageError(f"`--{option}` wants `NAME=VALUE`")
        value = found[2]
        pairs[found[1]] = value.strip() if ":" in marks else value
    return pairs


def _milliseconds(given: str | None) -> int:
    if given is None:
        return 0
    found = _TIME.fullmatch(given)
    if found is None or int(found[1]) == 0:
        raise UsageError(f"`--timeout` cannot be `{given}`", "say `90s`, `5m` or `500ms`")
    return int(found[1]) * _UNITS[found[2]]
