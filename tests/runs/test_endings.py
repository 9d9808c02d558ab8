"""How runs end, in the words that callers read."""

from typing import get_args

import pytest

from support.requirements import requirement
from switchboard.engines.events import FailureKind, TurnEnded, TurnFailure
from switchboard.engines.failures import sentence
from switchboard.runs.endings import turn_ending
from switchboard.runs.run import Run, RunSpec


def _run() -> Run:
    spec = RunSpec(
        tool="t", agent="a", engine="claude", task="x", cwd="/", workspace="/w", fingerprint="f"
    )
    return Run(id="r-1", spec=spec, state="working", created_at=1.0)


@requirement("S0.09", "S0.11")
@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_a_failure_is_told_in_the_sentence_that_says_what_to_do(kind: FailureKind) -> None:
    failure = TurnFailure(kind=kind, private="panicked at /secret/path")
    ending = turn_ending(TurnEnded(status="failed", failure=failure), _run())
    assert (ending.state, ending.reason) == ("failed", kind)
    assert ending.output == sentence(failure, "claude")
    assert "/secret/path" not in ending.output
    assert ending.private == failure.private


def test_an_end_without_words_is_a_failure() -> None:
    ending = turn_ending(TurnEnded(status="completed", text=" \n"), _run())
    assert (ending.state, ending.reason) == ("failed", "empty-answer")
    assert "without an answer" in ending.output
