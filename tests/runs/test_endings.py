"""How runs end, in the words that callers read."""

from typing import get_args

import pytest

from support.requirements import requirement
from switchboard.engines.events import FailureKind, TurnEnded, TurnFailure
from switchboard.engines.failures import sentence
from switchboard.runs.endings import MOST_OUTPUT, turn_ending
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


def test_an_answer_that_is_too_long_says_that_the_rest_is_not_kept() -> None:
    whole = turn_ending(TurnEnded(status="completed", text="x" * MOST_OUTPUT), _run())
    assert whole.output == "x" * MOST_OUTPUT
    cut = turn_ending(TurnEnded(status="completed", text="x" * (MOST_OUTPUT + 1234)), _run())
    mark = cut.output.removeprefix(whole.output)
    assert mark.startswith("\n[cut: 1,234 more characters are not kept")
    # No transcript has them either.
    assert "runs show" not in mark
