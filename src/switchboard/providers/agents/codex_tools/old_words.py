"""What today's Codex says, in the words of Codex 0.153: shapes alone, free of any state."""

import base64
import re
import shlex
from collections.abc import Iterable
from typing import Any, cast

Json = dict[str, Any]

_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")
# What says nothing in the old words, or is told beside the item there.
_LEFT_OUT = frozenset({"startedAtMs", "completedAtMs", "pluginId", "scriptPath", "clientId"})


def snake(name: str) -> str:
    """A name as it was written: `exitCode` is `exit_code`."""
    return _HUMP.sub(lambda found: f"_{found[0].lower()}", name)


def words_of(command: str) -> list[str]:
    """A command line as the list that it was made of."""
    try:
        return shlex.split(command) or [command]
    except ValueError:
        return [command]


def chunk_of(text: str) -> str:
    """A piece of what a command printed; it was told as bytes."""
    return base64.b64encode(text.encode()).decode()


def tokens_of(usage: Json) -> Json:
    """How many tokens were used."""
    names = ("inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens")
    return {
        snake(name): usage.get(name) or 0
        for name in (*names, "reasoningOutputTokens", "totalTokens")
    }


def changes_of(changes: Iterable[Json]) -> Json:
    """Changes of files by their paths, each by its kind."""
    return {str(change.get("path") or ""): _change(change) for change in changes}


def _change(change: Json) -> Json:
    kind = cast("Json", change.get("kind") or {})
    text = str(change.get("diff") or "")
    if kind.get("type") in {"add", "delete"}:
        return {"type": kind["type"], "content": text}
    return {"type": "update", "unified_diff": text, "move_path": kind.get("movePath")}


def item_of(item: Json) -> Json:
    """One thing that Codex did, as `item_started` and `item_completed` had it."""
    kind = str(item.get("type") or "")
    told: Json = {"type": kind[:1].upper() + kind[1:]}
    for name, value in item.items():
        if name != "type" and name not in _LEFT_OUT and value is not None:
            told[snake(name)] = value
    if isinstance(told.get("status"), str):
        told["status"] = snake(cast("str", told["status"]))
    if kind == "agentMessage":
        told["content"] = [{"type": "Text", "text": told.pop("text", "")}]
    elif kind == "commandExecution":
        told["command"] = words_of(str(item.get("command") or ""))
        told["parsed_cmd"] = parsed_of(told.pop("command_actions", ()))
        if "source" in told:
            told["source"] = snake(str(told["source"]))
    elif kind == "fileChange":
        told["changes"] = changes_of(cast("list[Json]", item.get("changes") or []))
    return told


def parsed_of(actions: Iterable[Json]) -> list[Json]:
    """What a command line does, as far as Codex understands it."""
    return [
        {("cmd" if name == "command" else snake(name)): value for name, value in action.items()}
        for action in actions
    ]
