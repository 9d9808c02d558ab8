"""How agents that speak ACP fail, and what is told of it."""

from typing import Any

import pytest

from switchboard.engines.acp.failures import failure_of
from switchboard.engines.events import FailureKind

ERRORS: list[tuple[dict[str, Any], FailureKind]] = [
    ({"code": -32000, "message": "Authentication required"}, "not-logged-in"),
    ({"code": -1, "message": "no", "data": {"statusCode": 401}}, "not-logged-in"),
    ({"code": -1, "message": "no", "data": {"statusCode": 404}}, "model-unknown"),
    ({"code": -1, "message": "no", "data": {"statusCode": 413}}, "context-overflow"),
    ({"code": -1, "message": "no", "data": {"statusCode": 429}}, "rate-limited"),
    ({"code": -1, "message": "no", "data": {"statusCode": 503}}, "model-unreachable"),
    # Words say more than a status.
    (
        {"code": -1, "message": "prompt is too long", "data": {"statusCode": 400}},
        "context-overflow",
    ),
    (
        {"code": -1, "message": "You exceeded your quota", "data": {"statusCode": 429}},
        "quota-exceeded",
    ),
    ({"code": -1, "message": "Cannot connect to API: ECONNREFUSED"}, "model-unreachable"),
    ({"code": -1, "message": "terminated"}, "stream-cut"),
    ({"code": -32603, "message": "Internal error: model: mock-model"}, "model-unknown"),
    ({"code": -1, "message": "something else"}, "other"),
]


@pytest.mark.parametrize(("error", "kind"), ERRORS, ids=[str(kind) for _, kind in ERRORS])
def test_each_error_is_a_failure_of_its_kind(error: dict[str, Any], kind: FailureKind) -> None:
    failure = failure_of({"error": error}, "")
    assert failure is not None
    assert failure.kind == kind
    assert error["message"] in failure.private


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("refusal", "model-refused"),
        ("max_tokens", "context-overflow"),
        ("end_turn", "empty-answer"),
    ],
)
def test_each_way_to_stop_without_an_answer_is_a_failure(reason: str, kind: FailureKind) -> None:
    failure = failure_of({"result": {"stopReason": reason}}, "")
    assert failure is not None
    assert failure.kind == kind
    assert failure_of({"result": {"stopReason": "end_turn"}}, "an answer") is None
