"""One server of another host's file, as a command. Variables are filled as that host fills them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from switchboard.config.placeholders import Unfilled, expand, variables_in
from switchboard.core.network.transports import FOREIGN_TRANSPORTS
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.servers.host_file import Host

_REMOTE_KEYS = ("url", "serverUrl", "httpUrl", "uri")
_REMOTE_TYPES = {word for word, means in FOREIGN_TRANSPORTS.items() if means != "stdio"} | {"ws"}
_ENV = "env:"
# One without an end takes the rest of the text, and means nothing.
_PLACE = re.compile(r"\$\{(?:([^}]*+)\}|[^}]*+)")


class EntryUnusable(Exception):
    """The server cannot be attached; the text says why."""


class HostFields:
    """What the words of one host stand for."""

    def __init__(self, host: Host, environ: Mapping[str, str], workspace: str, home: str) -> None:
        self._host: Host = host
        self._environ = environ
        self._named = {
            "workspaceFolder": workspace,
            "workspaceRoot": workspace,
            "userHome": home,
            "pathSeparator": "/",
            "/": "/",
        }

    def __call__(self, text: str) -> str:
        """The text as the host would use it. Raises `EntryUnusable`."""
        if self._host == "Claude Code":
            try:
                return expand(text, self._environ)
            except Unfilled as unfilled:
                raise EntryUnusable(unfilled.message) from None
        return _PLACE.sub(self._fill, text)

    def _fill(self, found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0]
        if name.startswith(_ENV):
            # These hosts take an unset variable for an empty one.
            return self._environ.get(name.removeprefix(_ENV), "")
        if name in self._named:
            return self._named[name]
        raise EntryUnusable(f"only its host can fill `{found[0]}`")


def variables_of(fields: Any, host: Host) -> Iterator[str]:
    """The variables of the environment that an entry would be filled from."""
    if host == "Claude Code":
        yield from variables_in(fields)
    elif isinstance(fields, str):
        for found in _PLACE.findall(fields):
            if found.startswith(_ENV):
                yield found.removeprefix(_ENV)
    elif isinstance(fields, dict):
        for inner in cast("dict[str, Any]", fields).values():
            yield from variables_of(inner, host)
    elif isinstance(fields, list):
        for inner in cast("list[Any]", fields):
            yield from variables_of(inner, host)


def is_local(fields: Any) -> bool:
    """Whether an entry is a command that is in use; other kinds are not for us."""
    if not isinstance(fields, dict):
        return False
    entry = cast("dict[str, Any]", fields)
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return False
    return (
        not any(entry.get(key) for key in _REMOTE_KEYS) and entry.get("type") not in _REMOTE_TYPES
    )


def launch_from(name: str, fields: Mapping[str, Any], fill: HostFields) -> AttachedServer:
    """How the entry starts its server. Raises `EntryUnusable`."""
    command = fields.get("command")
    if not isinstance(command, str) or not command.strip():
        raise EntryUnusable("it names no command")
    args: Any = fields.get("args") or []
    env: Any = fields.get("env") or {}
    if not isinstance(args, list) or not all(
        isinstance(each, str) for each in cast("list[Any]", args)
    ):
        raise EntryUnusable("its `args` are not a list of strings")
    if not isinstance(env, dict):
        raise EntryUnusable("its `env` is not an object")
    if fields.get("envFile"):
        raise EntryUnusable("it takes variables from an `envFile`")
    if fields.get("cwd") not in (None, "", ".", "${workspaceFolder}"):
        raise EntryUnusable("it runs in a folder of its own")
    return AttachedServer(
        name=name,
        command=fill(command),
        args=tuple(map(fill, cast("list[str]", args))),
        env={
            key: fill(_text(value))
            for key, value in cast("dict[str, Any]", env).items()
            if value is not None
        },
    )


def _text(value: Any) -> str:
    """A value of `env`, which some write without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise EntryUnusable("its `env` holds something that is no text")
