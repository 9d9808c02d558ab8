"""Which trace of whom a call belongs to, as W3C has it: `traceparent` and `tracestate`.

A client says so in `_meta`, or over HTTP in headers. It goes on to servers in `_meta`.
"""

import msgspec
from msgspec import Raw

from switchkit.patterns import pattern

_MEMBER = b'"traceparent"'
# Version 00 and whatever later ones may put behind it; no number is all zeros.
_FORM = pattern(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]{0,64})?"
)
# What stands between quotes as it is; longer ones need not be passed on.
_STATE = pattern(r"[ !#-\[\]-~]{1,512}")


def is_traceparent(text: str) -> bool:
    """Whether a text is one."""
    return _FORM.fullmatch(text) is not None


def trace_members(traceparent: str | None, tracestate: str | None) -> bytes:
    """What headers say as members of `_meta`, each with a comma; nothing if they make no sense."""
    if not traceparent or not is_traceparent(traceparent):
        return b""
    members = f'"traceparent":"{traceparent}",'
    if tracestate and _STATE.fullmatch(tracestate):
        members += f'"tracestate":"{tracestate}",'
    return members.encode()


def with_trace(meta: bytes, members: bytes) -> bytes:
    """Members of `_meta` with those of headers, unless they have their own."""
    return meta if _MEMBER in meta else members + meta


def traceparent_in(meta: bytes) -> str:
    """The one that members of `_meta` say, each with a comma behind it; empty for none."""
    if _MEMBER not in meta:
        return ""
    try:
        members = msgspec.json.decode(b"{%b}" % meta.rstrip(b","), type=dict[str, Raw])
        said = msgspec.json.decode(members.get("traceparent", b'""'), type=str)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    return said if is_traceparent(said) else ""
