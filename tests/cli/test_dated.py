"""Times in reports: as text like everywhere else, beside the numbers that were there before."""

from typing import Any, cast

import msgspec
import pytest

from approvals.asker_contract import a_question
from runs.ground import a_run
from switchboard.cli.report import Report
from switchboard.cli.verbs.agents.runs import RunReport
from switchboard.cli.verbs.consent.approvals import DefinitionReport, QuestionReport
from switchboard.cli.verbs.parts.dated import (
    DatedAnswer,
    DatedHeld,
    DatedQuestion,
    DatedRun,
    DatedRunEvent,
)
from switchboard.core.questions import Answer
from switchboard.core.stores import Held
from switchboard.runs.run import RunEvent

AT = 1_700_000_000.5
TEXT = "2023-11-14T22:13:20.500000Z"


def run_report() -> Report:
    run = a_run(created_at=AT, started_at=AT)
    event = RunEvent(run_id=run.id, number=1, at=AT, data="{}")
    return RunReport(run=DatedRun.of(run), events=(DatedRunEvent.of(event),))


def question_report() -> Report:
    question = msgspec.structs.replace(a_question(), asked_at=AT, expires_at=AT)
    answer = Answer(verdict="denied", by="cli", at=AT)
    return QuestionReport(
        state="denied", question=DatedQuestion.of(question), answer=DatedAnswer.of(answer)
    )


def definition_report() -> Report:
    held = Held(id="a", server="s", tool="t", before="{}", after="{}", at=AT)
    return DefinitionReport(definition=DatedHeld.of(held), changes=())


@pytest.mark.parametrize(
    ("report", "texts", "numbers"),
    [
        (
            run_report(),
            {("run", "created"), ("run", "started"), ("events", 0, "time")},
            {("run", "created_at"), ("run", "started_at"), ("events", 0, "at")},
        ),
        (
            question_report(),
            {("question", "asked"), ("question", "expires"), ("answer", "time")},
            {("question", "asked_at"), ("question", "expires_at"), ("answer", "at")},
        ),
        (definition_report(), {("definition", "time")}, {("definition", "at")}),
    ],
    ids=["run", "question", "definition"],
)
def test_times_are_texts_and_the_numbers_stay(
    report: Report, texts: set[tuple[str | int, ...]], numbers: set[tuple[str | int, ...]]
) -> None:
    told = msgspec.json.decode(msgspec.json.encode(report))
    found = dict(_leaves(told))
    assert {path for path, value in found.items() if value == TEXT} == texts
    assert {path for path, value in found.items() if value == AT} == numbers


def test_what_has_not_happened_has_no_time() -> None:
    run = DatedRun.of(a_run(created_at=AT))
    assert (run.created, run.started, run.ended) == (TEXT, "", "")


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[Any, Any]]:
    parts: list[tuple[Any, Any]]
    if isinstance(value, dict):
        parts = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        parts = list(enumerate(cast("list[Any]", value)))
    else:
        return [(path, value)]
    return [leaf for key, each in parts for leaf in _leaves(each, (*path, key))]
