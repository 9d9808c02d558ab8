"""What an agent does right now, in a few words of ours around the engine's own."""

from switchboard.core.privacy.cleaning import written_out
from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    EngineEvent,
    FileItem,
    Form,
    Notice,
    Opened,
    Permission,
    Reasoning,
    ToolItem,
)

_MOST = 100


def doing_of(event: EngineEvent) -> str:  # noqa: C901, PLR0911 - a case for each kind of event
    """The words for an event; empty where it says nothing new of that."""
    match event:
        case Opened():
            return "has begun"
        case Reasoning():
            return "thinks"
        case AgentMessage():
            return "writes"
        case CommandItem(status="started"):
            return _short(f"runs {event.command}")
        case FileItem(status="started"):
            return _short(f"edits {', '.join(event.paths)}")
        case ToolItem(status="started"):
            return _short(f"calls {f'{event.server}/' if event.server else ''}{event.tool}")
        case CommandItem() | FileItem() | ToolItem():
            # It is done, and the model has what came of it.
            return "thinks"
        case Permission():
            return _short(f"asks whether it may: {event.subject}")
        case Form():
            return _short(f"asks for {event.server}")
        case Notice(is_retry=True):
            return "tries again"
        case _:
            return ""


def _short(text: str) -> str:
    text = written_out(" ".join(text.split()))
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
