"""Values with their times as reports write them, beside the numbers that older readers know."""

import msgspec

from switchboard.core.questions import Answer, Question
from switchboard.core.stores import Held
from switchboard.core.text.stamps import stamped
from switchboard.runs.run import Run, RunEvent


class DatedRun(Run, frozen=True, kw_only=True):
    """A run; the times are empty for what has not happened yet."""

    created: str
    started: str = ""
    ended: str = ""

    @classmethod
    def of(cls, run: Run) -> "DatedRun":
        return cls(
            **msgspec.structs.asdict(run),
            created=stamped(run.created_at),
            started=stamped(run.started_at),
            ended=stamped(run.ended_at),
        )


class DatedRunEvent(RunEvent, frozen=True, kw_only=True):
    """One line of a run's transcript."""

    time: str

    @classmethod
    def of(cls, event: RunEvent) -> "DatedRunEvent":
        return cls(**msgspec.structs.asdict(event), time=stamped(event.at))


class DatedQuestion(Question, frozen=True, kw_only=True):
    """A question, with when it was asked and when it is too late to answer."""

    asked: str
    expires: str

    @classmethod
    def of(cls, question: Question) -> "DatedQuestion":
        return cls(
            **msgspec.structs.asdict(question),
            asked=stamped(question.asked_at),
            expires=stamped(question.expires_at),
        )


class DatedAnswer(Answer, frozen=True, kw_only=True):
    """What was decided, and when."""

    time: str

    @classmethod
    def of(cls, answer: Answer) -> "DatedAnswer":
        return cls(**msgspec.structs.asdict(answer), time=stamped(answer.at))


class DatedHeld(Held, frozen=True, kw_only=True):
    """A changed definition, and when it was seen."""

    time: str

    @classmethod
    def of(cls, held: Held) -> "DatedHeld":
        fields = {name: getattr(held, name) for name in Held.__struct_fields__}
        return cls(**fields, time=stamped(held.at))
