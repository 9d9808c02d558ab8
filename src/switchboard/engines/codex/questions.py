"""What Codex asks of us in the middle of a turn, and how it wants to be answered.

Whatever is not known here is refused at once: a request without an answer holds the turn up.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct

from switchboard.engines.codex.items import as_json
from switchboard.engines.engine import Reply
from switchboard.engines.events import Form, Permission

Json = dict[str, Any]
NO = Reply(verdict="decline")
# How Codex counts its requests and what else it would take for an answer: it says nothing of what
# would happen, and is another each time, so that no question would be the same as one before.
_BOOKKEEPING = frozenset(
    {
        *("threadId", "turnId", "itemId", "approvalId", "conversationId", "callId"),
        *("startedAtMs", "environmentId", "availableDecisions", "commandActions", "parsedCmd"),
        *("proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments"),
        # These are told beside it.
        *("kind", "reason"),
    }
)


class CodexQuestion(Struct, frozen=True, kw_only=True):
    """One request of Codex that a person has to answer."""

    # What Codex calls it.
    id: Any
    event: Permission | Form
    # The result that Codex is sent for a reply.
    result: Callable[[Reply], Json]


def question_of(
    message: Mapping[str, Any], items: Mapping[str, Mapping[str, Any]]
) -> CodexQuestion | None:
    """What a request asks; `items` holds what was announced. Nothing for one that is unknown."""
    params = cast("Json", message.get("params") or {})
    make = _KNOWN.get(str(message.get("method")))
    if make is None:
        return None
    id_ = message.get("id")
    item = items.get(str(params.get("itemId"))) or _call_of(params, items)
    if make is _patch and not item.get("changes"):
        # Nobody can decide on what nobody was shown.
        return None
    event, result = make(f"q{id_}", params, item)
    return CodexQuestion(id=id_, event=event, result=result)


def _call_of(params: Json, items: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The call that a server's approval is about: it names the server and the arguments only."""
    meta = cast("Json", params.get("_meta") or {})
    found = [
        item
        for item in items.values()
        if item.get("type") == "mcpToolCall"
        and item.get("status") == "inProgress"
        and item.get("server") == params.get("serverName")
        and (item.get("arguments") or {}) == (meta.get("tool_params") or {})
    ]
    tools = {str(item.get("tool")) for item in found}
    if len(tools) > 1:
        # It may be any of them, so whoever decides has to agree to each.
        return {**found[-1], "tool": " or ".join(sorted(tools))}
    return found[-1] if found else {}


def _facts(params: Json) -> Json:
    return {
        name: value
        for name, value in params.items()
        if name not in _BOOKKEEPING and value is not None
    }


Made = tuple[Permission | Form, Callable[[Reply], Json]]


def _command(request_id: str, params: Json, item: Mapping[str, Any]) -> Made:
    network = cast("Json | None", params.get("networkApprovalContext"))
    command = subject = str(params.get("command") or item.get("command") or "")
    wants = ""
    if network is not None:
        address = f"{network.get('protocol')}://{network.get('host')}"
        wants, subject = f"reach {address} from a command", f"reach {address} from: {command}"
    elif params.get("kind") == "writeStdin":
        wants, subject = "type into a command that runs", f"type into: {command}"
    permission = Permission(
        request_id=request_id,
        kind="command" if network is None else "other",
        subject=subject,
        cwd=str(params.get("cwd") or item.get("cwd") or ""),
        wants=wants,
        reason=str(params.get("reason") or ""),
        text=command,
        detail=as_json(_facts(params)),
        told=("command", "cwd"),
    )
    return permission, _decision


def _patch(request_id: str, params: Json, item: Mapping[str, Any]) -> Made:
    changes = cast("list[Json]", item.get("changes") or [])
    names = ", ".join(str(change.get("path")) for change in changes)
    root = params.get("grantRoot")
    permission = Permission(
        request_id=request_id,
        kind="patch",
        subject=f"{names} (and then anything below {root})" if root else names,
        wants=f"change files, and then anything below {root}" if root else "",
        reason=str(params.get("reason") or ""),
        text="\n".join(map(_change, changes)),
        detail=as_json(_facts({**params, "changes": changes})),
        told=("changes", "cwd"),
    )
    return permission, _decision


def _change(change: Json) -> str:
    """A change of one file, with what becomes of the file."""
    kind = change.get("kind")
    what = cast("Json", kind) if isinstance(kind, dict) else {"type": kind}
    moved = what.get("move_path")
    head = f"{what.get('type') or 'change'} {change.get('path')}{f' -> {moved}' if moved else ''}"
    return f"{head}\n{change.get('diff') or ''}".rstrip("\n")


def _decision(reply: Reply) -> Json:
    return {"decision": reply.verdict}


def _more_permissions(request_id: str, params: Json, item: Mapping[str, Any]) -> Made:
    del item
    wanted = cast("Json", params.get("permissions") or {})
    permission = Permission(
        request_id=request_id,
        kind="other",
        subject=f"more rights for this turn: {as_json(wanted)}",
        cwd=str(params.get("cwd") or ""),
        wants="have more rights for this turn",
        reason=str(params.get("reason") or ""),
        detail=as_json(_facts(params)),
        told=("cwd",),
    )

    def result(reply: Reply) -> Json:
        # What is not granted stays forbidden; there is no other way to decline.
        return {"permissions": wanted if reply.verdict == "accept" else {}, "scope": "turn"}

    return permission, result


def _elicitation(request_id: str, params: Json, item: Mapping[str, Any]) -> Made:
    meta = cast("Json", params.get("_meta") or {})
    server = str(params.get("serverName") or "")
    if meta.get("codex_approval_kind") == "mcp_tool_call":
        # Not its title, which the server may choose as it likes.
        tool = str(item.get("tool") or _quoted(params))
        permission = Permission(
            request_id=request_id,
            kind="tool",
            subject=f"{server}/{tool}",
            reason=str(params.get("message") or ""),
            detail=as_json(meta.get("tool_params") or {}),
        )
        return permission, _tool_verdict
    form = Form(
        request_id=request_id,
        server=server,
        message=str(params.get("message") or params.get("description") or ""),
        schema=as_json(params["requestedSchema"]) if params.get("requestedSchema") else "",
        url=str(params.get("url") or ""),
    )
    return form, _filled


def _quoted(params: Json) -> str:
    """The name of the tool as the message has it."""
    message = str(params.get("message") or "")
    _, _, behind = message.partition('"')
    return behind.rpartition('"')[0] or message


def _tool_verdict(reply: Reply) -> Json:
    content: Json | None = {} if reply.verdict == "accept" else None
    return {"action": reply.verdict, "content": content, "_meta": None}


def _filled(reply: Reply) -> Json:
    content = dict(reply.content or {}) if reply.verdict == "accept" else None
    return {"action": reply.verdict, "content": content, "_meta": None}


def _user_input(request_id: str, params: Json, item: Mapping[str, Any]) -> Made:
    del item
    questions = cast("list[Json]", params.get("questions") or [])
    properties: Json = {}
    for question in questions:
        options = cast("list[Json]", question.get("options") or [])
        field: Json = {"type": "string", "title": str(question.get("question") or "")}
        if options and not question.get("isOther"):
            field["enum"] = [str(option.get("label")) for option in options]
        properties[str(question.get("id"))] = field
    schema: Json = {"type": "object", "properties": properties, "required": list(properties)}
    form = Form(
        request_id=request_id,
        server="",
        message="\n".join(str(question.get("question") or "") for question in questions),
        schema=as_json(schema),
    )

    def result(reply: Reply) -> Json:
        given = reply.content or {} if reply.verdict == "accept" else {}
        return {
            "answers": {
                name: {"answers": [str(given[name])] if name in given else []}
                for name in properties
            }
        }

    return form, result


def _old_command(request_id: str, params: Json, item: Mapping[str, Any]) -> Made:
    words = cast("list[str]", params.get("command") or [])
    made, _ = _command(request_id, {**params, "command": " ".join(words)}, item)
    return made, _old_decision


def _old_decision(reply: Reply) -> Json:
    words = {"accept": "approved", "decline": "denied", "cancel": "abort"}
    return {"decision": words[reply.verdict]}


_KNOWN: dict[str, Callable[[str, Json, Mapping[str, Any]], Made]] = {
    "item/commandExecution/requestApproval": _command,
    "item/fileChange/requestApproval": _patch,
    "item/permissions/requestApproval": _more_permissions,
    "mcpServer/elicitation/request": _elicitation,
    "item/tool/requestUserInput": _user_input,
    "execCommandApproval": _old_command,
}
