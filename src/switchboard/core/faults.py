"""The one failure that crosses packages.

A fault is what a client may see: its message, hint and details carry no path outside the workspace
and no traceback. What only the log may know is `private`.
"""

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any


class FaultCode(StrEnum):
    """The twelve kinds of failure, in the words of the gRPC canon."""

    INVALID_ARGUMENT = "invalid_argument"
    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    FAILED_PRECONDITION = "failed_precondition"
    PERMISSION_DENIED = "permission_denied"
    UNAUTHENTICATED = "unauthenticated"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    CANCELLED = "cancelled"
    UNAVAILABLE = "unavailable"
    UNIMPLEMENTED = "unimplemented"
    INTERNAL = "internal"


class Fault(Exception):
    """A failure with a code from the canon and a stable reason of our own."""

    def __init__(
        self,
        code: FaultCode,
        reason: str,
        message: str,
        *,
        hint: str = "",
        details: Mapping[str, Any] | None = None,
        private: str = "",
        owner: Mapping[str, Any] | None = None,
        owner_hint: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.hint = hint
        self.details = details or {}
        self.private = private
        # What is told beside the details at the user's own terminal, and nowhere else.
        self.owner = owner or {}
        self._owner_hint = owner_hint
        # When it came about, by the clock of the world: one that is remembered may be cured since.
        self.at = time.time()

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    @property
    def hint_for_owner(self) -> str:
        """The hint at the user's own terminal, where a command to type has its real paths."""
        return self._owner_hint or self.hint

    @property
    def details_for_owner(self) -> Mapping[str, Any]:
        """The details at the user's own terminal, where output of programs keeps its paths."""
        told = {**self.details, **self.owner}
        if self.private and "stderr" in self.details:
            told["stderr"] = self.private
        return told


def without_frames(fault: Fault) -> Fault:
    """The same fault, which no longer keeps the functions that it came through, nor their values.

    What it holds on to may be a thousand times what the client sent, and a fault that a frame on
    its way has by name is freed by nobody until the collector comes by.
    """
    seen: list[BaseException] = []
    each: BaseException | None = fault
    # Two may be the cause of each other.
    while each is not None and not any(each is other for other in seen):
        seen.append(each)
        each.__traceback__ = each.__context__ = None
        each = each.__cause__
    return fault


# The reason of a fault by which a person has ended a call.
STOPPED = "stopped"


def stopped_fault() -> Fault:
    """What a call ends with that a person has stopped, with every other one."""
    return Fault(
        FaultCode.CANCELLED,
        STOPPED,
        "a person has stopped every call; it may have been done in part",
        hint="ask them before you try again",
    )


class ScopeMissing(Fault):
    """A call wants more than the login was granted."""

    def __init__(
        self,
        code: FaultCode,
        reason: str,
        message: str,
        *,
        hint: str = "",
        # Whether the login is still the one that was not enough.
        still_holds: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(code, reason, message, hint=hint)
        self.still_holds = still_holds
