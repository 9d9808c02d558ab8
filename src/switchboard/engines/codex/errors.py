"""Why a turn of Codex failed: its own codes as ours. Unknown ones are `other`, never a failure."""

from collections.abc import Mapping
from typing import Any, cast

from switchboard.engines.events import FailureKind, TurnFailure

_BY_WORD: dict[str, FailureKind] = {
    "contextWindowExceeded": "context-overflow",
    "sessionBudgetExceeded": "quota-exceeded",
    "usageLimitExceeded": "quota-exceeded",
    "rateLimitExceeded": "rate-limited",
    "flexUnavailable": "rate-limited",
    "serverOverloaded": "rate-limited",
    "policyCapacityUnavailable": "rate-limited",
    "modelNotFound": "model-unknown",
    "cyberPolicy": "model-refused",
    "misalignmentPolicyViolation": "model-refused",
    "tooManyDenials": "model-refused",
    "badRequest": "model-refused",
    "internalServerError": "model-refused",
    "unauthorized": "not-logged-in",
    "sandboxError": "sandbox-failed",
    "httpConnectionFailed": "model-unreachable",
    "responseStreamConnectionFailed": "model-unreachable",
    "responseStreamDisconnected": "stream-cut",
    "responseTooManyFailedAttempts": "model-unreachable",
}
_BY_STATUS: dict[int, FailureKind] = {
    401: "not-logged-in",
    403: "not-logged-in",
    404: "model-unknown",
    429: "rate-limited",
}
# Where Codex gives no code, its words are all there is. Each was seen in a real run.
_BY_PROSE: tuple[tuple[str, FailureKind], ...] = (
    ("quota exceeded", "quota-exceeded"),
    ("insufficient_quota", "quota-exceeded"),
    ("ran out of room", "context-overflow"),
    ("context_length_exceeded", "context-overflow"),
    ("model_not_found", "model-unknown"),
    ("does not exist", "model-unknown"),
    ("stream disconnected", "stream-cut"),
    ("stream closed before", "stream-cut"),
    ("error sending request", "model-unreachable"),
    ("401 unauthorized", "not-logged-in"),
    ("reason: max_output_tokens", "context-overflow"),
    ("incomplete response returned", "model-refused"),
)
# What `thread/start` says when it refuses.
_BY_START: tuple[tuple[str, FailureKind], ...] = (
    ("required mcp server", "server-missing"),
    ("unknown configuration field", "configuration-refused"),
    ("config", "configuration-refused"),
)


def failure_of_turn(error: Mapping[str, Any] | None) -> TurnFailure:
    """The failure that a turn ended with."""
    if error is None:
        return TurnFailure(kind="other")
    message = str(error.get("message") or "")
    private = "\n".join(filter(None, (message, str(error.get("additionalDetails") or ""))))
    word, status = _code(error.get("codexErrorInfo"))
    kind = _BY_STATUS.get(status or 0) or _BY_WORD.get(word, "other")
    prose = _kind_of(private, _BY_PROSE)
    if prose is not None and (kind in {"other", "model-refused"} or prose == "quota-exceeded"):
        kind = prose
    elif kind == "other" and word == "badRequest":
        kind = "model-refused"
    elif kind == "other" and private.lstrip().startswith("{"):
        # The body of a refusal that Codex did not understand.
        kind = "model-refused"
    return TurnFailure(kind=kind, private=private, http_status=status)


def failure_of_start(error: Mapping[str, Any]) -> TurnFailure:
    """The failure of a conversation that could not be opened."""
    message = str(error.get("message") or "")
    kind = _kind_of(message, _BY_START) or "other"
    return TurnFailure(kind=kind, private=message)


def _code(info: object) -> tuple[str, int | None]:
    if isinstance(info, str):
        return info, None
    if isinstance(info, dict) and info:
        word, more = next(iter(cast("dict[str, Any]", info).items()))
        status = (
            cast("dict[str, Any]", more).get("httpStatusCode") if isinstance(more, dict) else None
        )
        return word, status if isinstance(status, int) else None
    return "", None


def _kind_of(text: str, table: tuple[tuple[str, FailureKind], ...]) -> FailureKind | None:
    lowered = text.lower()
    return next((kind for words, kind in table if words in lowered), None)
