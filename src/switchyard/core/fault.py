"""The one failure a caller of the yard may see. Knows nothing of terminals or wires."""

from typing import Any

USAGE = 2
NOT_READY = 3
CONFLICT = 4


class YardFault(Exception):
    """A failure in words a user can act on.

    `code` is kebab-case and stable; `message` is one sentence; `hint` is something to paste.
    `exit_code` is what a command line returns for it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        exit_code: int = 1,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
        self.details = details or {}

    def as_json(self) -> dict[str, Any]:
        """The error object of every envelope."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            error["hint"] = self.hint
        if self.details:
            error["details"] = self.details
        return error


def fault_from_json(error: dict[str, Any], exit_code: int = 1) -> YardFault:
    """A fault restored from the form in which it crossed a socket."""
    return YardFault(
        str(error.get("code", "failed")),
        str(error.get("message", "failed")),
        hint=str(error.get("hint", "")),
        exit_code=int(error.get("exit_code", exit_code)),
        details=error.get("details") or {},
    )
