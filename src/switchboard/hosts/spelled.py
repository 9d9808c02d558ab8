"""A server of a host in the words of a `mcp.json`, and ours in the words of a host."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from switchboard.core.network.transports import FOREIGN_TRANSPORTS
from switchboard.hosts.filling import Unfillable, filled
from switchboard.hosts.host import Host, Spelling

# By which a host finds what is not in the entry, and what somebody should do about it.
_ELSEWHERE = {
    "envFile": "its host reads its variables from a file (`envFile`)",
    "headersHelper": "its host asks a program for its headers (`headersHelper`)",
    "http_headers_helper": "its host asks a program for its headers (`http_headers_helper`)",
    "authProviderType": "its host signs in for it (`authProviderType`)",
}
# Logins of the host, which do not move: whoever takes the server over signs in anew.
_LOGINS = ("oauth", "auth", "oauthClientId", "oauthClientSecret")
# What a host remembers or shows, which says nothing of how the server is reached.
_HOSTS_OWN = frozenset(
    {"metadata", "remoteConfigured", "description", "name", "enabled", "disabled", "bundled"}
    | {"display_name", "deferTools", "alwaysLoad", "trust", "timeout", "tools", "oauth_resource"}
    | {"transportType", "source"}
    | {"required", "supports_parallel_tool_calls", "default_tools_approval_mode", "scopes"}
    | {"request_timeout_ms", "lastModified", "remote", "dev", "available_tools"}
)


class ForeignServer(Struct, frozen=True, kw_only=True):
    """A server of a host. A reason says why it is left where it is."""

    name: str
    fields: dict[str, Any] = {}
    is_off: bool = False
    reason: str = ""
    # What its host does with it that we do not take over.
    remarks: tuple[str, ...] = ()


class _Left(Exception):
    """Why a server stays where it is."""


def read_server(name: str, raw: Any, spelling: Spelling) -> ForeignServer:
    """What a host says of one server."""
    if not isinstance(raw, dict):
        return ForeignServer(name=name, reason="it is not an object")
    written = cast("dict[str, Any]", raw)
    if isinstance(written.get("transport"), dict):
        # Some write the transport as an object of its own.
        inner = cast("dict[str, Any]", written["transport"])
        written = {key: each for key, each in written.items() if key != "transport"} | inner
    if isinstance(written.get("command"), dict):
        # So did Zed, with the command.
        inner = cast("dict[str, Any]", written["command"])
        written = {**written, **inner, "command": inner.get("path")}
    is_off = written.get("disabled") is True or written.get("enabled") is False
    try:
        _check(written, spelling)
        fields = _connection(written, spelling)
        remarks = tuple(_remarks(written, spelling))
    except (_Left, Unfillable) as left:
        return ForeignServer(name=name, is_off=is_off, reason=str(left))
    timeout_s = _timeout_s(written, spelling)
    if timeout_s:
        fields["rpc_timeout_ms"] = int(timeout_s * 1000)
    return ForeignServer(name=name, fields=fields, is_off=is_off, remarks=remarks)


def _check(written: Mapping[str, Any], spelling: Spelling) -> None:
    if _runs_code(written):
        raise _Left("its host runs `$(…)` in it as a program; write the value itself")
    for key in spelling.brought:
        name, _, words = key.partition("=")
        found = written.get(name)
        if (str(found) in words.split("|")) if words else bool(found):
            raise _Left(f"its host, or an extension of it, brought it (`{name}`)")
    for key, reason in _ELSEWHERE.items():
        if written.get(key):
            raise _Left(reason)
    if spelling.kept_names and written.get(spelling.kept_names):
        names = ", ".join(_texts(written, spelling.kept_names))
        raise _Left(f"its host keeps {names} in the keychain, where only it can read them")


def _connection(written: Mapping[str, Any], spelling: Spelling) -> dict[str, Any]:
    key, meant = next(((key, meant) for key, meant in spelling.urls if written.get(key)), ("", ""))
    words = (written.get(key) for key in (spelling.type, "transport", "transportType"))
    word = str(next((each for each in words if each), ""))
    if word not in FOREIGN_TRANSPORTS and word:
        raise _Left(f"Switchboard has no transport `{word}`")
    command = written.get(spelling.command)
    if key and (not command or FOREIGN_TRANSPORTS.get(word) in {"http", "sse"}):
        return _remote(written, spelling, key, meant or FOREIGN_TRANSPORTS.get(word, ""))
    if spelling.is_one_list and isinstance(command, list):
        program, *args = [*_texts(written, spelling.command), ""]
        args = args[:-1]
    else:
        program, args = command, _texts(written, "args")
    if not isinstance(program, str) or not program:
        raise _Left("it has neither a command nor an address")
    return _filled(_stdio(written, spelling, program, args), written, spelling) | _named(
        written, spelling
    )


def _stdio(
    written: Mapping[str, Any], spelling: Spelling, program: str, args: list[str]
) -> dict[str, Any]:
    fields: dict[str, Any] = {"command": program}
    if args:
        fields["args"] = args
    env = _table(written, spelling.env)
    if env:
        fields["env"] = env
    if written.get(spelling.cwd):
        fields["cwd"] = str(written[spelling.cwd])
    return fields


def _named(written: Mapping[str, Any], spelling: Spelling) -> dict[str, Any]:
    """The variables that are passed on by their names, together with those that have values."""
    if not spelling.env_names or not written.get(spelling.env_names):
        return {}
    named = written[spelling.env_names]
    variables: dict[str, str] = {}
    for each in cast("list[Any]", named) if isinstance(named, list) else []:
        if isinstance(each, dict):
            variable = cast("dict[str, Any]", each)
            if variable.get("source") == "remote":
                raise _Left(f"`{variable.get('name')}` comes from a machine of its host")
            each = variable.get("name")  # noqa: PLW2901 - the other spelling of the same
        variables[str(each)] = f"${{{each}}}"
    return {"env": variables | _table(written, spelling.env)}


def _remote(
    written: Mapping[str, Any], spelling: Spelling, key: str, transport: str
) -> dict[str, Any]:
    transport = transport or spelling.bare_url
    if transport == "refused":
        raise _Left(f"it has an address without a `{spelling.type}`, which its host refuses")
    url = written[key]
    if not isinstance(url, str) or not url.startswith(("http://", "https://", "$", "{")):
        raise _Left("its address is not an HTTP URL")
    fields: dict[str, Any] = {"url": url, "transport": transport}
    headers = _table(written, spelling.headers)
    if headers:
        fields["headers"] = headers
    fields = _filled(fields, written, spelling)
    # What is named is a reference however the host writes others.
    names = _table(written, spelling.named_headers) if spelling.named_headers else {}
    named = {header: f"${{{name}}}" for header, name in names.items()}
    bearer = written.get(spelling.named_bearer) if spelling.named_bearer else None
    if isinstance(bearer, str) and bearer:
        named["Authorization"] = f"Bearer ${{{bearer}}}"
    if named:
        fields["headers"] = {**fields.get("headers", {}), **named}
    return fields


def _filled(
    fields: dict[str, Any], written: Mapping[str, Any], spelling: Spelling
) -> dict[str, Any]:
    if spelling.filling != "own":
        return {key: filled(value, spelling.filling) for key, value in fields.items()}
    # From the variables of the entry, and only what is sent.
    own = _table(written, spelling.env)
    return {
        key: filled(value, "own" if key in {"url", "headers"} else "none", own)
        for key, value in fields.items()
    }


def _texts(written: Mapping[str, Any], key: str) -> list[str]:
    value = written.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _Left(f"its `{key}` is not a list")
    items = cast("list[Any]", value)
    if any(isinstance(each, dict | list) or each is None for each in items):
        raise _Left(f"its `{key}` holds more than texts")
    return [_text(each) for each in items]


def _table(written: Mapping[str, Any], key: str) -> dict[str, str]:
    value = written.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Left(f"its `{key}` is not an object")
    members = cast("dict[Any, Any]", value)
    if any(isinstance(each, dict | list) for each in members.values()):
        raise _Left(f"its `{key}` holds more than texts")
    return {str(name): _text(each) for name, each in members.items() if each is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _timeout_s(written: Mapping[str, Any], spelling: Spelling) -> float:
    value: Any = written
    for key in spelling.timeout.split(".") if spelling.timeout else ():
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    if not value > spelling.timeout_least or value != value or value == float("inf"):  # noqa: PLR0124
        return 0.0
    is_milli = bool(spelling.timeout_most) and value > spelling.timeout_most
    return value * (0.001 if is_milli else spelling.timeout_unit_s)


def _remarks(written: Mapping[str, Any], spelling: Spelling) -> Iterator[str]:
    for key in (spelling.allowed_tools, spelling.hidden_tools):
        tools = written.get(key) if key else None
        if isinstance(tools, list) and tools:
            yield f"its host has `{key}`: {', '.join(map(str, cast('list[Any]', tools)))}"
    if any(written.get(key) for key in _LOGINS):
        yield "its host signs in to it; sign in again behind Switchboard"
    known = {"args", "type", "transport", "cwd", spelling.cwd, spelling.command, spelling.env}
    known |= {spelling.env_names, spelling.kept_names, spelling.headers, spelling.named_headers}
    known |= {spelling.named_bearer, spelling.type, spelling.allowed_tools, spelling.hidden_tools}
    known |= {key for key, _ in spelling.urls} | {spelling.timeout.split(".")[0], *_LOGINS}
    known |= _HOSTS_OWN | {key.partition("=")[0] for key in spelling.brought}
    other = sorted(str(key) for key in written if key not in known)
    if other:
        yield f"not taken over: {', '.join(f'`{key}`' for key in other)}"


def _runs_code(value: Any) -> bool:
    if isinstance(value, str):
        return "$(" in value
    if isinstance(value, dict):
        return any(_runs_code(each) for each in cast("dict[str, Any]", value).values())
    return isinstance(value, list) and any(_runs_code(each) for each in cast("list[Any]", value))


def our_entry(
    host: Host,
    command: Sequence[str],
    *,
    is_guarded: bool,
    variables: Mapping[str, str],
    in_project: bool = False,
    reading: Sequence[str] = (),
) -> dict[str, Any]:
    """Switchboard as the host writes a server. `variables` are those that lead to its daemon.

    `reading` are the tools of ours that only read, for a host that has a list of them.
    """
    spelling = host.spelling
    if in_project and host.workspace:
        command = (*command, "--workspace", host.workspace)
    program, *args = command
    entry: dict[str, Any] = {}
    if "type" in host.entry:
        entry["type"] = host.entry["type"]
    if spelling.is_one_list:
        entry[spelling.command] = list(command)
    else:
        entry[spelling.command] = program
        entry["args"] = args
    entry.update({key: value for key, value in host.entry.items() if key != "type"})
    if is_guarded:
        entry.update(host.guarded_entry)
    if reading and host.reading_key:
        entry[host.reading_key] = list(reading)
    if variables and spelling.env_names:
        entry[spelling.env_names] = sorted(variables)
    elif variables and host.passes_no_variables:
        entry[spelling.env] = dict(sorted(variables.items()))
    return entry
