"""How a turn of Claude Code ended, from the line that says so.

An error of the model's service comes as a success with `is_error`: that alone is to be believed.
"""

from typing import Any, cast

from switchboard.engines.events import FailureKind, TokenUsage, TurnEnded, TurnFailure

Json = dict[str, Any]

_BY_STATUS: dict[int, FailureKind] = {
    401: "not-logged-in",
    403: "not-logged-in",
    404: "model-unknown",
    413: "context-overflow",
    429: "rate-limited",
}
_CLIENT_ERRORS = range(400, 500)
_SERVER_ERRORS = range(500, 600)
_Words = tuple[tuple[str, FailureKind], ...]
# Words of the service or of Claude Code, in small letters: those that say more than the status,
# and those that help where there is none.
_BEFORE_STATUS: _Words = (
    ("prompt is too long", "context-overflow"),
    ("context window", "context-overflow"),
    ("credit balance", "quota-exceeded"),
    ("usage limit", "quota-exceeded"),
    ("hit your limit", "quota-exceeded"),
    ("quota", "quota-exceeded"),
    ("not logged in", "not-logged-in"),
    ("/login", "not-logged-in"),
    ("invalid api key", "not-logged-in"),
)
_AFTER_STATUS: _Words = (
    ("issue with the selected model", "model-unknown"),
    ("unable to respond to this request", "model-refused"),
    ("violate our usage policy", "model-refused"),
    ("stalled mid-stream", "stream-cut"),
    ("stream ended", "stream-cut"),
    ("response was cut", "stream-cut"),
    ("connection closed mid-response", "stream-cut"),
    ("unable to connect", "model-unreachable"),
    ("connection", "model-unreachable"),
    ("econnre", "model-unreachable"),
    ("timed out", "model-unreachable"),
    ("fetch failed", "model-unreachable"),
)
_BY_SUBTYPE: dict[str, FailureKind] = {
    "error_max_budget_usd": "quota-exceeded",
    "error_max_turns": "other",
}


def ending_of(line: Json, *, is_interrupted: bool, answer: str = "") -> TurnEnded:
    """How the turn ended. `answer` is the last message, for a line that does not repeat it."""
    text = str(line.get("result") or "")
    if is_interrupted:
        return TurnEnded(status="interrupted", text=answer)
    subtype = str(line.get("subtype", ""))
    if line.get("is_error") or subtype != "success":
        errors = cast("list[object]", line.get("errors") or [])
        told = text or "; ".join(map(str, errors)) or subtype
        status = line.get("api_error_status")
        http_status = status if isinstance(status, int) else None
        kind = _BY_SUBTYPE.get(subtype) or failure_kind(told, http_status)
        failure = TurnFailure(kind=kind, private=f"{subtype}: {told}", http_status=http_status)
        return TurnEnded(status="failed", text=answer, failure=failure)
    if line.get("stop_reason") == "refusal":
        failure = TurnFailure(kind="model-refused", private=text)
        return TurnEnded(status="failed", text=text, failure=failure)
    if not (text or answer).strip():
        return TurnEnded(status="failed", failure=TurnFailure(kind="empty-answer"))
    return TurnEnded(status="completed", text=text or answer)


def failure_kind(text: str, status: int | None) -> FailureKind:
    """What kind of failure an error of the service is. Its words tell more than its number."""
    lower = text.lower()
    for words, kind in _BEFORE_STATUS:
        if words in lower:
            return kind
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status in _SERVER_ERRORS:
        return "model-unreachable"
    for words, kind in _AFTER_STATUS:
        if words in lower:
            return kind
    return "model-refused" if status in _CLIENT_ERRORS else "other"


def usage_of(line: Json, before: TokenUsage) -> TokenUsage:
    """What the conversation has cost so far: tokens are told for the turn, the cost for all."""
    told = cast("Json", line.get("usage") or {})

    def count(key: str) -> int:
        value = told.get(key)
        return value if isinstance(value, int) else 0

    cached = count("cache_read_input_tokens")
    details = cast("Json", told.get("output_tokens_details") or {})
    thinking = details.get("thinking_tokens")
    cost = line.get("total_cost_usd")
    return TokenUsage(
        input_tokens=before.input_tokens
        + count("input_tokens")
        + cached
        + count("cache_creation_input_tokens"),
        cached_tokens=before.cached_tokens + cached,
        output_tokens=before.output_tokens + count("output_tokens"),
        reasoning_tokens=before.reasoning_tokens + (thinking if isinstance(thinking, int) else 0),
        cost_usd=float(cost) if isinstance(cost, int | float) else before.cost_usd,
    )
