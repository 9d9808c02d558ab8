"""What a client is told of a call while its process runs, and that it is over."""

from collections.abc import Awaitable
from typing import Any, Literal

import msgspec

from switchboard.core.channels.channel import Channel

End = Literal["completed", "cancelled", "timed-out"]
_LONGEST_LINE = 200


class Teller:
    """Passes output on as log messages and progress, in pieces that the client keeps up with."""

    def __init__(self, channel: Channel, *, tool: str, call_id: str) -> None:
        self._channel = channel
        self._tool = tool
        self._call_id = call_id
        self._told = 0

    def stdout(self, text: str) -> Awaitable[None] | None:
        return self._text("stdout", text)

    def stderr(self, text: str) -> Awaitable[None] | None:
        return self._text("stderr", text)

    def end(self, how: End, status: int | None) -> None:
        """Nothing comes after this."""
        about: dict[str, Any] = {"event": how}
        if status is not None:
            about["exit_status"] = status
        self._log("info" if how == "completed" else "warning", about)

    def _text(self, stream: str, text: str) -> Awaitable[None] | None:
        self._log("info", {"stream": stream, "text": text})
        self._told += len(text)
        last = text.strip().rpartition("\n")[2][-_LONGEST_LINE:]
        self._channel.report(self._told, message=last)
        return self._channel.relieved() if self._channel.is_pressed else None

    def _log(self, level: str, about: dict[str, Any]) -> None:
        data = {"call_id": self._call_id, **about}
        message = {"level": level, "logger": self._tool, "data": data}
        self._channel.log(level, msgspec.json.encode(message))
