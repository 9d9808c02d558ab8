"""Reads a profile of macOS and says what it decides, by the rules that Apple's own readers follow.

Of the rules that fit, the last decides. Only what our profiles use is known; anything else fails.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

_WORD = re.compile(r"""\s*(?:(\()|(\))|"((?:[^"\\]|\\.)*)"|([^\s()"]+))""")
_MODIFIERS = {"default"}
_SOCKETS = {"socket": "unix-socket"}
# Of a connection, whose subject is an address with its port.
_FAMILIES = {"tcp", "udp"}


def parsed(text: str) -> list[Any]:
    """The lists of a profile, a text in quotes as a tuple of one."""
    stack: list[list[Any]] = [[]]
    at = 0
    while at < len(text.rstrip()):
        found = _WORD.match(text, at)
        assert found is not None, text[at:]
        at = found.end()
        opens, closes, quoted, word = found.groups()
        if opens:
            stack.append([])
        elif closes:
            stack[-2].append(stack.pop())
        else:
            stack[-1].append((quoted,) if quoted is not None else word)
    assert len(stack) == 1, "a bracket is missing"
    return stack[0]


def _is_where(subject: str, where: str) -> bool:
    """Whether an address with its port is what a rule names: all addresses, or those of loopback.

    A rule can name no other address.
    """
    host, _, port = subject.rpartition(":")
    named, _, at = where.rpartition(":")
    assert named in {"*", "localhost"}, where
    is_there = named == "*" or host in {"127.0.0.1", "[::1]"}
    return is_there and at in {"*", port}


def _is_remote(arguments: list[Any], subject: str, kind: str) -> bool:
    if len(arguments) > 1:
        family, (where,) = arguments
        return kind == family and _is_where(subject, where)
    if kind in _FAMILIES:
        return arguments[0] in {kind, "ip"}
    # A socket with a path is one of those, whatever its path.
    return arguments[0] == (subject if kind == "remote" else _SOCKETS.get(kind))


class Rules:
    """A profile with its parameters."""

    def __init__(self, text: str, parameters: Mapping[str, str]) -> None:
        first, *self._rules = parsed(text)
        assert first == ["version", "1"]
        self._parameters = parameters

    def allows(self, operation: str, subject: str = "", kind: str = "path") -> bool:
        """Whether somebody inside may do this with that."""
        decided = False
        for verb, *rest in self._rules:
            assert verb in {"allow", "deny"}, verb
            operations: list[str] = [each for each in rest if isinstance(each, str)]
            filters: list[list[Any]] = [each for each in rest if isinstance(each, list)]
            fits = any(each in _MODIFIERS or fnmatchcase(operation, each) for each in operations)
            if fits and (not filters or any(self._fits(each, subject, kind) for each in filters)):
                decided = verb == "allow"
        return decided

    def _fits(self, filter_: list[Any], subject: str, kind: str) -> bool:
        name, *arguments = filter_
        if name == "target":
            return kind == "target" and subject == arguments[0]
        if name == "remote":
            return _is_remote(arguments, subject, kind)
        value = self._value(arguments[0])
        if name == "literal":
            return kind in {"path", "socket"} and subject == value
        if name == "subpath":
            return kind == "path" and (subject == value or subject.startswith(f"{value}/"))
        assert name in {"sysctl-name", "sysctl-name-prefix", "global-name"}, name
        if name == "sysctl-name-prefix":
            return kind == "sysctl" and subject.startswith(value)
        return kind == name.removesuffix("-name") and subject == value

    def _value(self, argument: Any) -> str:
        if argument[0] != "param":
            return str(argument[0])
        _, (name,) = argument
        return self._parameters[name]
