"""What must hold between the fields of one server."""

import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from switchboard.children.starting.runners import fetches_packages
from switchboard.config.key_positions import KeyPath
from switchboard.config.placeholders import has_placeholder
from switchboard.config.problems import Severity
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.settings.secret_rules import Say, judge_references, loads_code
from switchboard.settings.server_fields import SANDBOX, WEB_URL, profile_of

_SURPRISING_KEYS = frozenset({"PATH", "BROWSER"})
_REMOTE = ("http", "sse")
# What is opened in a sandbox.
_SANDBOX_KEYS = (
    *(field.name for field in SANDBOX if field.name != "sandbox_profile"),
    "limits",
    "sandbox_features",
)
_MAX_NAME = 128
_NO_PARTS = frozenset({"", ".", ".."})


RENAME_IT = "rename it: letters, digits, `-` and `_` work everywhere"


class Habits(Struct, frozen=True, kw_only=True):
    """How strictly a kind of file is judged."""

    # The file lies in a repository that somebody else may have written.
    repository: bool = False
    # The file was named by hand, and need not follow the habits of our own files.
    given: bool = False
    # `${VAR}` is expanded here, so it is no mistake.
    expands: bool = False
    # Whether a file that is not the user's own writes the accounts: it must not choose a login.
    foreign_accounts: bool = False


def name_fault(name: str) -> str:
    """Why a server cannot have this name, or nothing."""
    if not name.strip():
        return "the name of a server must not be empty"
    if len(name.strip()) > _MAX_NAME:
        return f"the name of a server must not be longer than {_MAX_NAME} characters"
    if not name.strip().isprintable():
        return "the name of a server must not hold control characters"
    if "`" in name or "\\" in name:
        return "the name of a server must not hold backquotes or backslashes"
    # Slashes are fine: registries give names such as `io.github.someone/notes`.
    if "/" in name and any(part.strip() in _NO_PARTS for part in name.strip().split("/")):
        return "the name of a server must not be a path such as `../x`, `/x` or `a//b`"
    return ""


def transport_of(fields: Mapping[str, Any]) -> str:
    """The transport as written, else as `command` and `url` imply."""
    written = fields.get("transport")
    if written:
        return str(written)
    return "http" if fields.get("url") and not fields.get("command") else "stdio"


def judge(name: str, fields: Mapping[str, Any], habits: Habits, tell: Say) -> bool:
    """Say everything that is wrong between the fields of a server; whether it can be used."""
    fine = True

    def say(at: KeyPath, message: str, hint: str, severity: Severity) -> None:
        nonlocal fine
        fine = fine and severity != "error"
        tell(at, message, hint, severity)

    transport = transport_of(fields)
    if transport not in ("stdio", *_REMOTE):
        if not has_placeholder(transport):
            message = f"`transport` must be `stdio`, `http` or `sse`, not `{transport}`"
            say(("transport",), message, "", "error")
    elif transport in _REMOTE:
        _judge_remote(fields, transport, say)
    else:
        _judge_stdio(fields, say)
    if fields.get("auth") is not None:
        _judge_auth(cast("Mapping[str, Any]", fields["auth"]), say)
    if fields.get("accounts") is not None:
        # Few servers have several logins, and it compiles patterns.
        from switchboard.settings.rules.account_rules import judge_accounts  # noqa: PLC0415

        judge_accounts(fields, say, is_foreign=habits.foreign_accounts)
        for account, each in cast("Mapping[str, Any]", fields["accounts"]).items():
            if each.get("auth") is not None:
                _judge_auth(each["auth"], _below(("accounts", account), say))
    _judge_hosts(name, fields, say)
    judge_references(name, fields, say, repository=habits.repository, expands=habits.expands)
    _judge_env(name, cast("Mapping[str, str]", fields.get("env") or {}), habits, say)
    if not habits.expands:
        _judge_literals(fields, say)
    return fine


def _judge_per_person(fields: Mapping[str, Any], say: Say) -> None:
    if fields.get("per_person") and fields.get("scope") == "singleton":
        message = "`scope` must not be `singleton` beside `per_person`: each person has a process"
        say(("scope",), message, "remove it, or `per_person`", "error")


def _judge_follow(fields: Mapping[str, Any], transport: str, say: Say) -> None:
    if fields.get("follow"):
        # Few servers follow, and everyone waits for the first listing.
        from switchboard.settings.rules.follow_rules import judge_follow  # noqa: PLC0415

        judge_follow(fields, transport, say)


def _judge_hosts(name: str, fields: Mapping[str, Any], say: Say) -> None:
    if fields.get("egress") or fields.get("egress_ask"):
        # Few servers have chosen hosts.
        from switchboard.settings.rules.egress_rules import judge_egress  # noqa: PLC0415

        judge_egress(name, fields, say)


def _judge_stdio(fields: Mapping[str, Any], say: Say) -> None:
    for field in ("url", "auth", "accounts", "headers"):
        if fields.get(field):
            hint = f"remove `{field}`, or set `transport` to `http` and remove `command`"
            say((field,), f"`{field}` is not allowed when `transport` is `stdio`", hint, "error")
    if not str(fields.get("command") or "").strip():
        say(
            (),
            "`command` is required when `transport` is `stdio`",
            "add `command`, or `url` for a remote server",
            "error",
        )
    command = str(fields.get("command") or "")
    if profile_of(fields) == "none":
        for field in _SANDBOX_KEYS:
            if fields.get(field):
                message = f"`{field}` means nothing without a sandbox"
                say((field,), message, "set `sandbox_profile` to `default`", "warning")
    elif fetches_packages(command) and not (fields.get("allow_network") or fields.get("egress")):
        say(
            ("command",),
            f"`{command}` fetches packages, and its sandbox has no network",
            "set `allow_network`, or install the package and name its program; one that has "
            "started with a network before starts from its cache",
            "warning",
        )
    _judge_follow(fields, "stdio", say)
    _judge_per_person(fields, say)
    if "browser" in (fields.get("sandbox_features") or ()) and fields.get("allow_network"):
        message = "`browser` needs a network of its own, and `allow_network` shares the machine's"
        hint = "remove `allow_network`, and list the hosts that it may reach in `egress`"
        say(("sandbox_features",), message, hint, "error")


def _judge_remote(fields: Mapping[str, Any], transport: str, say: Say) -> None:
    if fields.get("command"):
        say(
            ("command",),
            f"`command` is not allowed when `transport` is `{transport}`",
            "remove `command`, or set `transport` to `stdio`",
            "error",
        )
    url = str(fields.get("url") or "")
    if not url:
        say((), f"`url` is required when `transport` is `{transport}`", "add `url`", "error")
    elif not has_placeholder(url) and re.fullmatch(WEB_URL, url) is None:
        say(("url",), f"`url` must be an absolute http or https URL, not `{url}`", "", "error")
    if fields.get("secret_env"):
        say(
            ("secret_env",),
            f"`secret_env` is not allowed when `transport` is `{transport}`",
            "a remote server has no environment; use `auth` or `headers`",
            "error",
        )
    _judge_follow(fields, transport, say)
    _judge_per_person(fields, say)
    for field in ("args", "env", "sandbox_profile", *_SANDBOX_KEYS):
        if fields.get(field):
            message = f"`{field}` means nothing when `transport` is `{transport}`"
            say((field,), message, f"remove `{field}`", "warning")


def _judge_auth(auth: Mapping[str, Any], say: Say) -> None:
    for field in ("type", "client_id"):
        if not auth.get(field):
            say(("auth",), f"`{field}` is required", f"add `{field}` to `auth`", "error")
    for field, value in auth.items():
        wrong = field.endswith("_url") and value and not has_placeholder(value)
        if wrong and re.fullmatch(WEB_URL, value) is None:
            message = f"`{field}` must be an absolute http or https URL, not `{value}`"
            say(("auth", field), message, "", "error")
    has_authorization, has_token = bool(auth.get("authorization_url")), bool(auth.get("token_url"))
    if has_authorization != has_token:
        there, missing = (
            ("authorization_url", "token_url")
            if has_authorization
            else ("token_url", "authorization_url")
        )
        say(
            ("auth", there),
            f"`{there}` needs `{missing}` beside it",
            f"add `{missing}`, or name the issuer with `issuer_url` alone",
            "error",
        )
    elif not (has_token or auth.get("issuer_url") or auth.get("metadata_url")):
        say(
            ("auth",),
            "`auth` does not say where to log in",
            "add `issuer_url`, `metadata_url`, or `authorization_url` with `token_url`",
            "error",
        )


def _below(at: KeyPath, say: Say) -> Say:
    """Says what is wrong with a part of the server."""

    def inner(field: KeyPath, message: str, hint: str, severity: Severity) -> None:
        say((*at, *field), message, hint, severity)

    return inner


def _judge_env(name: str, env: Mapping[str, str], habits: Habits, say: Say) -> None:
    for key in env:
        if loads_code(key, repository=habits.repository):
            say(
                ("env", key),
                f"`{key}` can make the server run foreign code and is not allowed here",
                "set what you need through `args`, or start the server from a script of your own",
                "warning" if habits.given else "error",
            )
        elif habits.repository and key in _SURPRISING_KEYS:
            say(
                ("env", key),
                f"`{key}` changes which programs the server starts",
                "",
                "warning",
            )
        elif is_secret_name(key):
            import shlex  # noqa: PLC0415 - few need it, and everybody waits for the first listing

            say(
                ("env", key),
                f"`{key}` looks like a secret, and this file keeps it in plain text",
                "switchboard vault put"
                f" {shlex.quote(f'mcp/{name}/env/{key}')}, and name it in `secret_env`",
                "warning",
            )


def _judge_literals(fields: Mapping[str, Any], say: Say) -> None:
    """Many hosts expand `${VAR}`; these files do not, and silence would be a trap."""
    for field in ("env", "headers"):
        for key, value in cast("Mapping[str, str]", fields.get(field) or {}).items():
            if has_placeholder(value):
                _say_literal((field, key), say)
    for index, value in enumerate(cast("list[str]", fields.get("args") or [])):
        if has_placeholder(value):
            _say_literal(("args", index), say)
    for field in ("command", "url"):
        if has_placeholder(str(fields.get(field) or "")):
            _say_literal((field,), say)


def _say_literal(at: KeyPath, say: Say) -> None:
    say(
        at,
        "`${…}` is not expanded in this file",
        "use `secret_env` with `env:NAME`, or declare the server in `config.toml`",
        "warning",
    )
