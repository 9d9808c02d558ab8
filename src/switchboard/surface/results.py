"""Outcomes and faults as results of the wire. The only place that knows both shapes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw

from switchboard import __version__
from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.calls.notes import with_note
from switchboard.core.catalog.catalog import Catalog
from switchboard.core.catalog.tools import FaultText, ToolSpec
from switchboard.core.channels.channel import Input
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Era, Session
from switchboard.wire.eras import SERVER_INFO_KEY, URL_ELICITATION_REQUIRED
from switchboard.wire.messages import INTERNAL_ERROR, INVALID_PARAMS, Parts, RpcError, encode

SERVER_INFO = {"name": "switchboard", "title": "Switchboard", "version": __version__}
ERROR_KEY = "switchboard/error"
TOOL_KEY = "switchboard/tool"

# What every result of the modern era carries, spliced in before its other members.
_MODERN_HEAD = b'{"resultType":"complete",'
_MODERN_META = b',"_meta":' + encode({SERVER_INFO_KEY: SERVER_INFO})
_EMPTY = re.compile(rb"\s*\}")
# A listing may be kept until it is announced as changed; five minutes bound what was missed.
_CACHE_HINT = b',"ttlMs":300000,"cacheScope":"private"'
_NO_CACHE_HINT = b',"ttlMs":0,"cacheScope":"private"'

_UNCACHED_HEAD = b'{"resultType":"complete","ttlMs":0,"cacheScope":"private",'

# Before the modern era a missing resource had a code of its own.
_RESOURCE_NOT_FOUND = -32002
_FAULT_CODES = {
    FaultCode.INVALID_ARGUMENT: INVALID_PARAMS,
    FaultCode.NOT_FOUND: INVALID_PARAMS,
}

# Hosts that hide tools behind a search of their own would hide the few that stand for many.
_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
# That search knows no forms of words and none of one meaning. It reads the name, this, and the
# description, in this order of weight. No model reads it, so it costs nobody a token.
_SEARCH_HINT = "anthropic/searchHint"
# From which length on a host that puts results into files is to do so; the same host's word.
_MOST_LETTERS = "anthropic/maxResultSizeChars"


def outcome_parts(outcome: Outcome, era: Era) -> Parts:
    """The result of `tools/call`."""
    modern = era is Era.MODERN
    if outcome.raw is not None:
        if not modern or outcome.is_modern:
            return (outcome.raw,)
        return _headed(_MODERN_HEAD, outcome.raw)
    parts: list[bytes | Raw] = [_MODERN_HEAD if modern else b"{", b'"content":[']
    for position, block in enumerate(outcome.blocks):
        if position:
            parts.append(b",")
        if isinstance(block, TextBlock):
            parts += (b'{"type":"text","text":', encode(block.text), b"}")
        else:
            parts.append(block.raw)
    parts.append(b"]")
    if outcome.structured is not None:
        parts += (b',"structuredContent":', outcome.structured)
    if outcome.is_error:
        parts.append(b',"isError":true')
    if outcome.meta:
        about = {SERVER_INFO_KEY: SERVER_INFO} if modern else {}
        parts += (b',"_meta":', encode({**outcome.meta, **about}))
    elif modern:
        parts.append(_MODERN_META)
    parts.append(b"}")
    return tuple(parts)


def noted_parts(parts: Parts, note: str, *, is_promised: bool) -> Parts:
    """The result of a call, with a text of ours; see `with_note`."""
    result: dict[str, Any] = msgspec.json.decode(b"".join(map(bytes, parts)))
    return (encode(with_note(result, note, is_promised=is_promised)),)


def result_bytes(outcome: Outcome) -> bytes:
    """The result of a call as it lies on disk."""
    return b"".join(bytes(part) for part in outcome_parts(outcome, Era.HANDSHAKE))


def task_parts(members: Mapping[str, Any], *, is_new: bool = False) -> Parts:
    """What a client is told of a task: that there is one in place of an answer, or about it."""
    kind = "task" if is_new else "complete"
    about = {"resultType": kind, **members, "_meta": {SERVER_INFO_KEY: SERVER_INFO}}
    return (encode(about),)


def fault_parts(fault: Fault, call_id: str, era: Era, text: FaultText | None = None) -> Parts:
    """The result of a call that failed: an error that the model can read and act on.

    `text` writes it where the tool has words of its own for that.
    """
    lines = [f"{fault.code}: {fault.message} [{call_id}]"]
    if fault.hint:
        lines.append(f"hint: {fault.hint}")
    lines += [f"{key}: {value}" for key, value in fault.details.items()]
    error: dict[str, Any] = {
        "code": fault.code,
        "reason": fault.reason,
        "message": fault.message,
        "call_id": call_id,
    }
    if fault.hint:
        error["hint"] = fault.hint
    if fault.details:
        error["details"] = fault.details
    meta: dict[str, Any] = {ERROR_KEY: error}
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": text(fault) if text else "\n".join(lines)}],
        "isError": True,
        "_meta": meta,
    }
    if era is Era.MODERN:
        result["resultType"] = "complete"
        meta[SERVER_INFO_KEY] = SERVER_INFO
    return (encode(result),)


def listing_parts(
    catalog: Catalog, session: Session, more: Sequence[Raw] = (), *, is_whole: bool = True
) -> Parts:
    """The result of `tools/list`: ours, then those that children show under their own names."""
    tools = [_listed(spec, session) for spec in catalog.tools.values() if spec.is_shown_to(session)]
    return entries_parts("tools", [*tools, *more], session.era, is_whole=is_whole)


def entries_parts(
    member: str, entries: Sequence[Raw | dict[str, Any]], era: Era, *, is_whole: bool = True
) -> Parts:
    """The result of a listing of any kind. One that lacks something is worth no keeping."""
    listed = b"%b:%b" % (encode(member), encode(entries))
    if era is Era.MODERN:
        hint = _CACHE_HINT if is_whole else _NO_CACHE_HINT
        return (_MODERN_HEAD, listed, hint, _MODERN_META, b"}")
    return (b"{", listed, b"}")


def relayed_parts(outcome: Outcome, era: Era, *, is_cacheable: bool) -> Parts:
    """A child's answer to something that is no call of a tool."""
    if is_cacheable and era is Era.MODERN and not outcome.is_modern and outcome.raw is not None:
        # A child of the other era cannot say how long its answer holds.
        return _headed(_UNCACHED_HEAD, outcome.raw)
    return outcome_parts(outcome, era)


def _headed(head: bytes, result: Raw) -> Parts:
    """A child's result with members before its own."""
    rest = memoryview(result)[1:]
    # `content` is required, but not every server knows.
    return (head.rstrip(b",") if _EMPTY.match(rest) else head, Raw(rest))


def input_required_parts(questions: Mapping[str, Input], state: str) -> Parts:
    """A result of the modern era that asks the client for something."""
    body = encode({"inputRequests": questions, "requestState": state})
    return (b'{"resultType":"input_required",', body[1:-1], _MODERN_META, b"}")


def error_from_fault(fault: Fault, call_id: str, era: Era) -> RpcError:
    """A fault of what is no tool: an error of the protocol, the child's own if it gave one."""
    cause = fault.__cause__
    if isinstance(cause, RpcError):
        return RpcError(_code_for(cause, era), fault.message, cause.data)
    code = _FAULT_CODES.get(fault.code, INTERNAL_ERROR)
    if fault.reason == "unknown-resource" and era is Era.HANDSHAKE:
        code = _RESOURCE_NOT_FOUND
    data = {"code": fault.code, "reason": fault.reason, "call_id": call_id, **fault.details}
    if fault.hint:
        data["hint"] = fault.hint
    return RpcError(code, f"{fault.message} [{call_id}]", data)


def is_the_childs_own(fault: Fault, *, is_shown: bool) -> bool:
    """Whether a client has to get the child's error as it is.

    A tool under its own name answers as it would without us. A suite's error is for the model, but
    for the one that the client itself has to act on.
    """
    cause = fault.__cause__
    return isinstance(cause, RpcError) and (is_shown or cause.code == URL_ELICITATION_REQUIRED)


def _code_for(cause: RpcError, era: Era) -> int:
    """The child's own code, but for a missing resource: there each era has another."""
    if cause.code == _RESOURCE_NOT_FOUND and era is Era.MODERN:
        return INVALID_PARAMS
    data: Any = cause.data
    names_resource = isinstance(data, dict) and "uri" in cast("dict[str, Any]", data)
    if cause.code == INVALID_PARAMS and names_resource and era is Era.HANDSHAKE:
        return _RESOURCE_NOT_FOUND
    return cause.code


def discover_parts(versions: tuple[str, ...], body: dict[str, Any]) -> Parts:
    """The result of `server/discover`."""
    return (
        _MODERN_HEAD,
        b'"supportedVersions":%b,' % encode(versions),
        encode(body)[1:-1],
        _CACHE_HINT,
        _MODERN_META,
        b"}",
    )


def _listed(spec: ToolSpec, session: Session) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": spec.name,
        "description": spec.described_to(session),
        "inputSchema": spec.input_schema,
    }
    if spec.title:
        tool["title"] = spec.title
    if spec.output_schema is not None:
        tool["outputSchema"] = spec.output_schema
    if annotations := _annotations(spec):
        tool["annotations"] = annotations
    meta: dict[str, Any] = {} if spec.can_wait else dict(_ALWAYS_LOAD)
    if spec.search_hint:
        meta[_SEARCH_HINT] = spec.search_hint
    if spec.most_letters:
        meta[_MOST_LETTERS] = spec.most_letters
    if spec.particulars is not None:
        meta[TOOL_KEY] = spec.particulars(session)
    if meta:
        tool["_meta"] = meta
    return tool


def _annotations(spec: ToolSpec) -> dict[str, Any]:
    effects = spec.effects
    hints = {
        # Older clients look for the title here.
        "title": spec.title or None,
        "readOnlyHint": effects.read_only,
        "destructiveHint": effects.destructive,
        "idempotentHint": effects.idempotent,
        "openWorldHint": effects.open_world,
    }
    return {name: value for name, value in hints.items() if value is not None}
