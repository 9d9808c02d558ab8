"""What must hold for the hosts that a server, or a command tool, may reach."""

from collections.abc import Iterable, Mapping
from typing import Any

from switchboard.config.layers import Layer
from switchboard.config.problems import Problem
from switchboard.core.network.egress import EgressHost, egress_from
from switchboard.core.origins import Scope
from switchboard.settings.secret_rules import Say, judge_reference, loads_code

KEYS = ("egress", "egress_ask", "sandbox_features")
# Whose word it is which hosts are reached, and with which credentials.
# No `--config` file: whoever writes the command line of a client may be a project's file.
_OWN = frozenset({Scope.DEFAULT, Scope.HOME})


def judge_egress(name: str, fields: Mapping[str, Any], say: Say) -> None:
    """A network of chosen hosts is no other network, and a credential is where it belongs."""
    if not fields.get("egress"):
        if fields.get("egress_ask"):
            hint = "list the hosts that need no question in `egress`"
            say(("egress_ask",), "`egress_ask` means nothing without `egress`", hint, "error")
        return
    if fields.get("allow_network"):
        message = "`egress` and `allow_network = true` contradict each other"
        say(("egress",), message, "remove one of them", "error")
    if fields.get("sandbox_profile") in ("none", "seatbelt"):
        message = "`egress` needs the sandbox of Linux: nothing else keeps the rest out of reach"
        say(("egress",), message, 'write `sandbox_profile = "default"`', "error")
    if fields.get("url"):
        message = "`egress` means nothing for a remote server"
        say(("egress",), message, "remove `egress`", "error")
    try:
        hosts = egress_from(fields["egress"])
    except ValueError as error:
        say(("egress",), f"`egress` names something that is not a host: {error}", "", "error")
        return
    seen: dict[tuple[str, int], EgressHost] = {}
    for each in hosts:
        at = ("egress", each.written)
        if seen.setdefault((each.host, each.port), each) is not each:
            say(at, f"`{each.written}` is in `egress` twice", "keep one of them", "error")
        if each.inject:
            _judge_injected(name, each, fields, say)


def _judge_injected(name: str, each: EgressHost, fields: Mapping[str, Any], say: Say) -> None:
    at = ("egress", each.written, "inject")
    judge_reference(name, each.inject, at, say, repository=False)
    if each.host.startswith("*."):
        message = "a credential goes to one host, not to every name below one"
        say(at, message, "name the host", "error")
    if loads_code(each.variable, repository=True):
        message = f"`{each.variable}` can make the server run foreign code and is not allowed here"
        say(at, message, "name another variable", "error")
    for field in ("env", "secret_env"):
        if each.variable in (fields.get(field) or {}):
            message = f"`{each.variable}` is put on at the edge, and given to the server itself"
            say(at, message, f"remove it from `{field}`", "error")


def without_foreign_egress(
    kind: str,
    name: str,
    fields: dict[str, Any],
    layers: Iterable[Layer],
    problems: list[Problem],
) -> dict[str, Any]:
    """The fields without `egress` where not only the user's own files made them.

    What reaches hosts with a credential of the user's is what the user wrote, and nothing that a
    workspace, an agent or a skill has changed a part of.
    """
    other = next((each for each in layers if each.scope not in _OWN), None)
    if other is None or not any(key in fields for key in KEYS):
        return fields
    section = "mcp_servers" if kind == "server" else "mcp"
    key = next(key for key in KEYS if key in fields)
    message = f"`{key}` is ignored: only the files of your home may decide what `{name}` reaches"
    if key == "sandbox_features":
        message = f"`{key}` is ignored: only the files of your home may open more in a sandbox"
    hint = f"declare the whole {kind} in your home"
    problems.append(other.problem((section, name, key), message, hint, "warning"))
    kept = {field: value for field, value in fields.items() if field not in KEYS}
    # It was to be in a sandbox, and stays in one, without a network.
    return {"sandbox_profile": "default", **kept} if "egress" in fields else kept
