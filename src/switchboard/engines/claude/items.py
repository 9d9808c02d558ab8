"""What Claude Code does, as items: a call of a tool is a command, a change of files or a tool."""

import difflib
from typing import Any, cast

import msgspec

from switchboard.engines.events import CommandItem, FileItem, ItemStatus, Permission, ToolItem

Json = dict[str, Any]
Item = CommandItem | FileItem | ToolItem

_SHELLS = ("Bash", "PowerShell")
# Whole outputs belong to the transcript of the engine; who follows a run wants to see the most.
_LONGEST_OUTPUT = 64 * 1024
# What a diff shows of a call that changes a file.
_IN_THE_DIFF = (
    *("file_path", "notebook_path", "content", "new_source", "old_string", "new_string", "edits"),
)
_REFUSED = ("The user doesn't want to proceed", "Permission to use", "Permission for this action")


def item_of(use_id: str, tool: str, given: Json, cwd: str) -> Item:
    """A call of a tool that has begun."""
    if tool in _SHELLS and isinstance(given.get("command"), str):
        return CommandItem(id=use_id, status="started", command=given["command"], cwd=cwd)
    path = changed_path(tool, given)
    if path:
        return FileItem(id=use_id, status="started", paths=(path,), diff=diff_of(tool, given))
    server, name = server_and_tool(tool)
    return ToolItem(id=use_id, status="started", tool=name, server=server, arguments=_json(given))


def ended(item: Item, block: Json, *, is_declined: bool) -> Item:
    """The same call, once its result is there."""
    text = text_of(block.get("content"))
    status: ItemStatus = "completed"
    if block.get("is_error"):
        # What its own rules refuse, it tells in its own words only.
        status = "declined" if is_declined or text.startswith(_REFUSED) else "failed"
    if isinstance(item, CommandItem):
        # Claude Code tells no number but where there is one to complain about.
        code = 0 if status == "completed" else _exit_status(text)
        output = text[:_LONGEST_OUTPUT]
        return msgspec.structs.replace(item, status=status, exit_status=code, output=output)
    return msgspec.structs.replace(item, status=status)


def permission_of(request_id: str, request: Json, cwd: str) -> Permission:
    """What a person has to decide on: the exact command, diff or arguments."""
    tool = str(request.get("tool_name", ""))
    given = cast("Json", request.get("input") or {})
    reason = str(request.get("decision_reason") or "")
    if tool in _SHELLS and isinstance(given.get("command"), str):
        said = str(given.get("description") or reason)
        return Permission(
            request_id=request_id,
            kind="command",
            subject=given["command"],
            cwd=cwd,
            reason=said,
            text=given["command"],
            # The description is another each time, and nothing that would happen.
            detail=_json({name: given[name] for name in given if name != "description"}),
            told=("command",),
        )
    path = changed_path(tool, given)
    if path:
        return Permission(
            request_id=request_id,
            kind="patch",
            subject=path,
            cwd=cwd,
            reason=reason,
            text=diff_of(tool, given),
            detail=_json(given),
            told=_told_by_a_diff(given),
        )
    server, name = server_and_tool(tool)
    return Permission(
        request_id=request_id,
        kind="tool",
        subject=f"{server}/{name}" if server else name,
        cwd=cwd,
        reason=reason,
        detail=_json(given),
    )


def changed_path(tool: str, given: Json) -> str:
    """The file that a call changes; empty when it changes none."""
    key = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path"}.get(tool, "")
    if tool == "NotebookEdit":
        key = "notebook_path"
    return str(given.get(key) or "") if key else ""


def diff_of(tool: str, given: Json) -> str:
    """The change as a diff. What stands in the file around it is not known here."""
    path = changed_path(tool, given)
    if tool == "Write":
        edits = [("", str(given.get("content", "")))]
    elif tool == "NotebookEdit":
        edits = [("", str(given.get("new_source", "")))]
    else:
        each = cast("list[Json]", given.get("edits") or [given])
        edits = [(str(e.get("old_string", "")), str(e.get("new_string", ""))) for e in each]
    lines = [f"--- {path}", f"+++ {path}"]
    for old, new in edits:
        found = difflib.unified_diff(_lines(old), _lines(new), n=3, lineterm="")
        lines += [line for line in found if not line.startswith(("--- ", "+++ "))]
    return "\n".join(lines) + "\n"


def _lines(text: str) -> list[str]:
    # At line feeds alone: whatever else ends a line somewhere is a letter that is changed.
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _told_by_a_diff(given: Json) -> tuple[str, ...]:
    edits = cast("list[Json]", given.get("edits") or [])
    # That an edit is made everywhere stands in no diff.
    if any(edit.get("replace_all") for edit in edits):
        return tuple(name for name in _IN_THE_DIFF if name != "edits")
    return _IN_THE_DIFF


def server_and_tool(tool: str) -> tuple[str, str]:
    """`mcp__server__tool` taken apart; a tool of Claude Code itself has no server."""
    if not tool.startswith("mcp__"):
        return "", tool
    server, _, name = tool.removeprefix("mcp__").partition("__")
    return server, name


def text_of(content: object) -> str:
    """The text of a result, whichever of its two forms it has."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [cast("Json", block) for block in cast("list[object]", content)]
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _exit_status(text: str) -> int | None:
    words = text.partition("\n")[0].removeprefix("Exit code ")
    return int(words) if text.startswith("Exit code ") and words.isdecimal() else None


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
