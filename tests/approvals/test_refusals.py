"""What is said to whoever wanted a call that a person did not."""

import time

import pytest

from approvals.asker_contract import a_question
from fakes.calls import a_call, a_session
from switchboard.approvals.refusals import refused
from switchboard.core.questions import BY_CLIENT, Answer


@pytest.mark.parametrize(
    ("via", "by", "hint"),
    [
        ("cli", BY_CLIENT, ""),
        ("cli", "cli", "do not try again unless the user asks for it"),
        ("stdio", BY_CLIENT, "do not try again unless the user asks for it"),
    ],
)
def test_advice_for_models_is_not_given_to_whoever_has_just_said_no(
    via: str, by: str, hint: str
) -> None:
    answer = Answer(verdict="denied", by=by, at=time.time())
    fault = refused(a_call(session=a_session(via=via)), a_question(), answer)
    assert (fault.reason, fault.hint) == ("approval-denied", hint)
