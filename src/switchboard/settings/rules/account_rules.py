"""What must hold between the accounts of a server."""

from collections.abc import Mapping
from typing import Any, cast

from switchboard.children.accounts.patterns import canonical, remote_fault
from switchboard.core.catalog.names import fold
from switchboard.settings.secret_rules import Say


def judge_accounts(fields: Mapping[str, Any], say: Say, *, is_foreign: bool) -> None:
    """Say what is wrong with the accounts of a server as a whole."""
    accounts = cast("Mapping[str, Mapping[str, Any]]", fields["accounts"])
    if is_foreign:
        say(
            ("accounts",),
            "`accounts` are for your own files: a repository must not choose whose login is used",
            "declare the server in the `mcp.json` of your home",
            "error",
        )
        return
    if not accounts:
        hint = "add an account, or remove `accounts`"
        say(("accounts",), "`accounts` must not be empty", hint, "error")
    if fields.get("auth"):
        hint = "move it into one of the accounts"
        say(("auth",), "`auth` is not allowed beside `accounts`", hint, "error")
    for header in cast("Mapping[str, str]", fields.get("headers") or {}):
        if header.lower() == "authorization":
            message = f"`{header}` is not allowed beside `accounts`, which bring their own"
            say(("headers", header), message, "remove the header, or the accounts", "error")
    _judge_names(accounts, say)
    _judge_defaults(accounts, say)
    _judge_patterns(accounts, say)


def _judge_names(accounts: Mapping[str, Any], say: Say) -> None:
    known: dict[str, str] = {}
    for name in accounts:
        twin = known.setdefault(fold(name), name)
        if twin != name:
            message = f"the accounts `{twin}` and `{name}` differ only in case"
            say(("accounts", name), message, "choose another name", "error")


def _judge_defaults(accounts: Mapping[str, Mapping[str, Any]], say: Say) -> None:
    first, *others = [name for name, each in accounts.items() if each.get("default")] or [""]
    for name in others:
        message = f"only one account can be the default, and `{first}` is"
        say(("accounts", name, "default"), message, "remove one `default`", "error")


def _judge_patterns(accounts: Mapping[str, Mapping[str, Any]], say: Say) -> None:
    owners: dict[str, str] = {}
    for name, each in accounts.items():
        for index, text in enumerate(cast("list[str]", each.get("match") or [])):
            at = ("accounts", name, "match", index)
            if meant := remote_fault(text):
                message = "`remote:` takes a host and a path, not an address"
                say(at, message, f"write `{meant}`", "error")
            owner = owners.setdefault(canonical(text), name)
            if owner != name:
                message = f"`{text}` stands in the accounts `{owner}` and `{name}`: neither is"
                hint = "keep it in one of them"
                say(at, f"{message} the better match", hint, "error")
