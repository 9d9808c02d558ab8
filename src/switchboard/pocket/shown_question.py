"""A question as a phone is shown it: little to who has a link, all of it to a registered device."""

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any

from switchboard.control.answers import OfferedAnswer
from switchboard.core.questions import ALL_OF_IT, BETWEEN, Question
from switchboard.core.stores import Posted


def brief_fields(offer: OfferedAnswer) -> dict[str, Any]:
    """What a notification says as well."""
    question = offer.question
    return {
        "is_waiting": offer.is_waiting,
        "verdict": offer.verdict,
        "tool": question.tool,
        "server": question.facts.server or question.suite,
        "workspace": question.workspace or question.facts.cwd,
        # The clock of a phone may be another.
        "age_s": round(max(0.0, time.time() - question.asked_at), 1),
        "left_s": round(max(0.0, question.expires_at - time.time()), 1),
    }


def whole_fields(offer: OfferedAnswer, approved: Sequence[Posted]) -> dict[str, Any]:
    """The same with the words of the terminal, and what was approved before."""
    question = offer.question
    return {
        **brief_fields(offer),
        "id": question.id,
        "digest": question.digest,
        "client": question.client,
        "risk": question.risk.level,
        "prompt": _lines(question),
        "arguments": question.arguments,
        "before": _before(question, approved),
        "yes": offer.yes,
        "no": offer.no,
    }


def _lines(question: Question) -> list[str]:
    """Its words, without the way to where somebody reads them already."""
    whole = question.prompt.splitlines()
    told = [line.removesuffix(f"{BETWEEN}{question.shown_by}") for line in whole]
    return [line for line in told if line and line != f"{ALL_OF_IT}{question.shown_by}"]


def _before(question: Question, approved: Sequence[Posted]) -> dict[str, Any]:
    """How often the same, and others of the tool, were approved today."""
    today = dt.datetime.now().astimezone().replace(hour=0, minute=0, second=0).timestamp()
    past = [
        each
        for each in approved
        if each.question.tool == question.tool
        and each.question.facts.server == question.facts.server
        and each.question.id != question.id
    ]
    since = [each for each in past if each.answer is not None and each.answer.at >= today]
    return {
        "same_today": sum(_looks(each.question) == _looks(question) for each in since),
        "others_today": sum(_looks(each.question) != _looks(question) for each in since),
        "latest": past[-1].question.arguments if past else "",
    }


def _looks(question: Question) -> tuple[str, ...]:
    """What a person sees of it. The digest is of one session, and another one may ask the same."""
    facts = question.facts
    return (question.exactly, question.arguments, facts.runs, facts.cwd, facts.account)
