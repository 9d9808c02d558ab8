"""What a person sees of a call that just worked, as `cli.verbs.calling.call` shows it."""

from switchboard.ipc.json_text import indented, members, quoted, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_REPORT = "switchboard.call/1"
_TOLD = ["suite", "tool", "result", "call_id"]
# Longer ones are shown sooner by what the command line has.
_MOST_CHARACTERS = 64 * 1024


def shown(answer: str, *, as_json: bool, is_terminal: bool) -> "str | None":
    """The text for stdout; None for what has to be looked at more closely."""
    told = members(answer) if len(answer) <= _MOST_CHARACTERS else None
    if told is None or list(told) != _TOLD:
        return None
    result: Json = read(told["result"])
    if not _is_plain(result):
        return None
    if as_json:
        return _as_json(told)
    text = _as_text(result, told["result"])
    return text if not is_terminal or _is_harmless(text) else None


def _is_plain(result: "Json") -> bool:
    """Whether it holds texts only, and no failure."""
    if type(result) is not dict or result.get("isError", False) is not False:
        return False
    content: list[Json] = result.get("content", [])
    return type(content) is list and all(map(_is_text, content))


def _is_text(block: "Json") -> bool:
    return (
        type(block) is dict
        and block.get("type") == "text"
        and type(block.get("text")) is str
        and not {"mimeType", "data", "uri"} & set(block)
    )


def _as_text(result: "Json", raw: str) -> str:
    content = result.get("content", [])
    if not content and result.get("structuredContent") is not None:
        return indented((members(raw) or {})["structuredContent"]) + "\n"
    return "".join(f"{block['text']}\n" for block in content)


def _as_json(told: "dict[str, str]") -> str:
    report = {
        "schema": quoted(_REPORT),
        "suite": told["suite"],
        "tool": told["tool"],
        "is_error": "false",
        "result": told["result"],
        "call_id": told["call_id"],
    }
    inside = ",".join(f'"{name}":{text}' for name, text in report.items())
    return indented(f"{{{inside}}}") + "\n"


def _is_harmless(text: str) -> bool:
    """Whether nothing in it could steer a terminal."""
    return text.replace("\n", "").replace("\t", "").isprintable()
