"""What a verb answers: a value that is printed for people or as JSON, never by the verb itself."""

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import Struct

from switchboard.config.problems import ConfigInvalid
from switchboard.core.faults import Fault, FaultCode
from switchkit.cli.style import Style
from switchkit.cli.usage import UsageError

DONE = 0
FAILED = 1
MISUSED = 2
UNEXPECTED = 3
INTERRUPTED = 130


class Report(Struct, frozen=True, kw_only=True, tag_field="schema"):
    """The base of every report. Its JSON begins with `schema`; adding a field keeps the number."""

    # A server has already said everything on its own stdout.
    silent: ClassVar[bool] = False
    # What is printed is what somebody asked for, byte by byte, where no terminal reads it.
    is_data: ClassVar[bool] = False
    # Shown a screen at a time where somebody reads it: what it tells has to be read.
    is_paged: ClassVar[bool] = False
    # One line a report, for whoever reads a stream of them.
    one_of_many: ClassVar[bool] = False

    def exit_code(self) -> int:
        return DONE

    def lines(self, style: Style) -> Iterator[str]:
        """What people see on stdout."""
        del style
        yield from ()

    def notes(self, style: Style) -> Iterator[str]:
        """What people see on stderr beside it: hints and warnings."""
        del style
        yield from ()


class Silent(Report, frozen=True, kw_only=True, tag="switchboard.served/1"):
    """The end of a server, which has nothing to add."""

    silent: ClassVar[bool] = True
    code: int = DONE

    def exit_code(self) -> int:
        return self.code


class ErrorReport(Report, frozen=True, kw_only=True, tag="switchboard.error/1"):
    """Why nothing was done. `problems` is filled when the configuration cannot be used."""

    code: str
    message: str
    reason: str = ""
    hint: str = ""
    details: dict[str, Any] = {}
    problems: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, error: "UsageError | ConfigInvalid | Fault") -> "ErrorReport":
        """The report of a failure that was understood."""
        match error:
            case UsageError():
                return cls(code="usage", message=error.message, hint=error.hint)
            case ConfigInvalid():
                problems = tuple(problem.to_dict() for problem in error.problems)
                return cls(code="config", message=error.render().rstrip(), problems=problems)
            case Fault():
                return cls(
                    code=error.code,
                    reason=error.reason,
                    message=error.message,
                    hint=error.hint_for_owner,
                    details=dict(error.details_for_owner),
                )

    def exit_code(self) -> int:
        return _EXIT_CODES.get(self.code, FAILED)


_EXIT_CODES = {
    "usage": MISUSED,
    "config": MISUSED,
    "unexpected": UNEXPECTED,
    FaultCode.CANCELLED: INTERRUPTED,
}
