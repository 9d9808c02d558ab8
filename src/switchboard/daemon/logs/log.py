"""The structured log: the first subscriber of every event."""

import sys
import time
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from switchboard.core.events import (
    AuditFailed,
    AuditFlooded,
    AuditRecovered,
    CallFinished,
    CallNarrowed,
    CallStarted,
    ChildExited,
    ChildFailed,
    ChildTalkedNonsense,
    ChildToolsSkipped,
    ConfigLoaded,
    ConfigRejected,
    EgressRefused,
    Event,
    LoginRenewalFailed,
    NoticeFailed,
    ProtectedFilesAppeared,
    RunEnded,
    RunEngineFailed,
    RunUnwritten,
)
from switchboard.daemon.logs.log_sink import LogSink
from switchboard.settings.sections import Settings
from switchboard.wire.messages import encode
from switchkit.files import make_folder, open_log

LEVELS: Mapping[str, int] = {
    "trace": 0,
    "debug": 1,
    "info": 2,
    "warn": 3,
    "warning": 3,
    "error": 4,
    "off": 5,
}
_NAMES = ("trace", "debug", "info", "warn", "error")
_OURS = "switchboard"
_STDERR = 2


def threshold(directives: str) -> int:
    """The level of a filter such as `info` or `warn,switchboard=debug`, as RUST_LOG spells it."""
    level = LEVELS["info"]
    for directive in directives.split(","):
        target, _, name = directive.strip().rpartition("=")
        known = LEVELS.get(name.strip().lower())
        if known is not None and (not target or target.split("::")[0].startswith(_OURS)):
            level = known
    return level


def level_of(event: Event) -> int:  # noqa: PLR0911 - a case for each kind of event
    """How much an event matters. A call that went well is news only to who debugs."""
    match event:
        case CallFinished(outcome="ok" | "error" | "cancelled"):
            return LEVELS["debug"]
        case CallFinished() | ChildFailed() | ChildToolsSkipped() | ConfigRejected():
            return LEVELS["warn"]
        case AuditFailed() | AuditRecovered() | AuditFlooded():
            return LEVELS["warn"]
        case ProtectedFilesAppeared() | EgressRefused() | ChildTalkedNonsense() | NoticeFailed():
            return LEVELS["warn"]
        case RunEnded(state="failed") | RunEngineFailed() | RunUnwritten() | LoginRenewalFailed():
            return LEVELS["warn"]
        case ChildExited():
            return LEVELS["info"] if event.expected else LEVELS["warn"]
        case ConfigLoaded():
            return LEVELS["warn"] if event.warnings else LEVELS["info"]
        case _:
            return LEVELS["debug"] if type(event).__name__.startswith("Call") else LEVELS["info"]


class Log:
    """Writes events as lines, for as long as its `with` lasts."""

    def __init__(self, sink: LogSink, *, style: str = "compact", directives: str = "info") -> None:
        self._sink = sink
        self._style = style
        self._threshold = threshold(directives)
        # Known beforehand, because these come with every call.
        self._hides_calls = self._threshold > LEVELS["debug"]

    def hears(self, kind: type[Event]) -> bool:
        """Whether events of this kind can be worth a line."""
        return not (self._hides_calls and kind in {CallStarted, CallNarrowed})

    def __call__(self, event: Event, /) -> None:
        if self._hides_calls and type(event) is CallFinished and event.outcome == "ok":
            return
        level = level_of(event)
        if level < self._threshold:
            return
        self._sink.put(self._line(event, level))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the last lines."""
        self._sink.close()

    def _line(self, event: Event, level: int) -> str:
        name = type(event).__name__
        fields: dict[str, Any] = {
            key: value for key, value in msgspec.structs.asdict(event).items() if value != ""
        }
        now = time.time()
        stamp = (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
        )
        if self._style == "json":
            record = {"ts": stamp, "level": _NAMES[level], "event": name, **fields}
            return encode(record).decode() + "\n"
        if self._style == "pretty":
            body = "".join(f"\n    {key}: {value}" for key, value in fields.items())
            return f"{stamp} {_NAMES[level].upper():5} {name}{body}\n"
        body = " ".join(f"{key}={_compact(value)}" for key, value in fields.items())
        return f"{stamp} {_NAMES[level]} {name} {body}\n"


def log_for(settings: Settings) -> Log:
    """The log that the settings ask for; standard error when a file cannot be written."""
    wanted = settings.logging
    handle = _STDERR
    if wanted.to_file:
        folder = wanted.dir or f"{settings.home}/logs"
        try:
            make_folder(folder)
            path = f"{folder}/switchboard-{time.strftime('%Y-%m-%d')}.log"
            handle = open_log(path)
        except OSError as error:
            sys.stderr.write(f"warning: no log in {folder} ({error.strerror}): it goes here\n")
    return Log(
        LogSink(handle, owned=handle != _STDERR), style=wanted.format, directives=wanted.filter
    )


def _compact(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    text = value if isinstance(value, str) else encode(value).decode()
    return encode(text).decode() if " " in text or "\n" in text or '"' in text else text
