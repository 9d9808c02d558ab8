"""Why a turn over ACP failed, from the answer to its prompt: the protocol knows few reasons."""

from typing import Any, cast

import msgspec

from switchboard.engines.events import FailureKind, TurnFailure

Json = dict[str, Any]

_AUTH_REQUIRED = -32000
_BY_STATUS: dict[int, FailureKind] = {
    401: "not-logged-in",
    403: "not-logged-in",
    404: "model-unknown",
    413: "context-overflow",
    429: "rate-limited",
}
_Words = tuple[tuple[str, FailureKind], ...]
# Words of agents and services, in small letters: those that say more than a status, and those
# that help where there is none.
_BEFORE_STATUS: _Words = (
    ("prompt is too long", "context-overflow"),
    ("context window", "context-overflow"),
    ("context length", "context-overflow"),
    ("quota", "quota-exceeded"),
    ("credit balance", "quota-exceeded"),
)
_AFTER_STATUS: _Words = (
    ("rate limit", "rate-limited"),
    ("rate_limit", "rate-limited"),
    ("authentication", "not-logged-in"),
    ("unauthorized", "not-logged-in"),
    ("api key", "not-logged-in"),
    ("api-key", "not-logged-in"),
    ("log in", "not-logged-in"),
    ("not_found", "model-unknown"),
    ("model not found", "model-unknown"),
    # The words of the Messages API, which opencode passes on without their status.
    ("error: model: ", "model-unknown"),
    ("unable to connect", "model-unreachable"),
    ("cannot connect", "model-unreachable"),
    ("econnre", "model-unreachable"),
    ("overloaded", "model-unreachable"),
    ("internal server error", "model-unreachable"),
    ("terminated", "stream-cut"),
    ("socket", "stream-cut"),
)
_STOPS: dict[str, FailureKind] = {
    "refusal": "model-refused",
    "max_tokens": "context-overflow",
    "max_turn_requests": "other",
}


def failure_of(line: Json, answer: str) -> TurnFailure | None:
    """Why it failed; nothing when it did not."""
    if "error" in line:
        error = cast("Json", line.get("error") or {})
        told = msgspec.json.encode(error).decode()
        if error.get("code") == _AUTH_REQUIRED:
            return TurnFailure(kind="not-logged-in", private=told)
        status = _status_in(error)
        return TurnFailure(kind=kind_of(told, status), private=told, http_status=status)
    stop = str(cast("Json", line.get("result") or {}).get("stopReason", ""))
    if stop in _STOPS:
        return TurnFailure(kind=_STOPS[stop], private=stop)
    if not answer:
        return TurnFailure(kind="empty-answer", private=stop)
    return None


def kind_of(text: str, status: int | None) -> FailureKind:
    """What kind of failure the words and the status of a service are."""
    lower = text.lower()
    for words, kind in _BEFORE_STATUS:
        if words in lower:
            return kind
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status in range(500, 600):
        return "model-unreachable"
    for words, kind in _AFTER_STATUS:
        if words in lower:
            return kind
    return "other"


def _status_in(error: Json) -> int | None:
    data = error.get("data")
    status = cast("Json", data).get("statusCode") if isinstance(data, dict) else None
    return status if isinstance(status, int) else None
