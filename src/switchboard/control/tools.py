"""What a daemon answers about tools: calls, introspections, and what a count of tokens needs."""

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from switchboard.core.faults import Fault, FaultCode


class Failure(Struct, frozen=True, kw_only=True):
    """Why a suite could not be asked, as its owner is told at a terminal."""

    code: str
    reason: str
    message: str
    hint: str = ""
    details: dict[str, Any] = {}

    @classmethod
    def of(cls, fault: Fault) -> "Failure":
        return cls(
            code=fault.code,
            reason=fault.reason,
            message=fault.message,
            hint=fault.hint_for_owner,
            details=dict(fault.details_for_owner),
        )

    def fault(self) -> Fault:
        """The fault that this was."""
        known = self.code in set(FaultCode)
        code = FaultCode(self.code) if known else FaultCode.INTERNAL
        return Fault(code, self.reason, self.message, hint=self.hint, details=self.details)


class CallAnswer(Struct, frozen=True, kw_only=True):
    """What a tool answered, unchanged."""

    # Empty for a tool that is in none.
    suite: str
    tool: str
    result: Raw
    # Finds the call with `switchboard audit show`.
    call_id: str


class Subtool(Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool of a suite. The last three are told of a tool that was asked for by its name."""

    name: str
    summary: str
    input_schema: Raw
    title: str | UnsetType = UNSET
    annotations: Raw | UnsetType = UNSET
    output_schema: Raw | UnsetType = UNSET


class IntrospectedSuite(Struct, frozen=True, kw_only=True):
    """What a suite said of its tools, or why it could not."""

    suite: str
    tools: tuple[Subtool, ...] = ()
    # What the server says of its use.
    instructions: str = ""
    failure: Failure | None = None


class IntrospectAnswer(Struct, frozen=True, kw_only=True):
    """The suites that were asked, in the order of the configuration, and tools that are in none."""

    suites: tuple[IntrospectedSuite, ...] = ()
    tools: tuple[Subtool, ...] = ()
    # The one tool that was asked for.
    tool: str = ""


class ServerTools(Struct, frozen=True, kw_only=True):
    """One server: the tools that it has itself, and what clients are shown instead."""

    server: str
    suite: str
    tools: tuple[Subtool, ...] = ()
    shown: tuple[Subtool, ...] = ()
    failure: Failure | None = None


# The name of the listing without any preset: every suite, and nothing else.
PLAIN = "all suites"


class ListedPreset(Struct, frozen=True, kw_only=True):
    """What clients would be listed in one of several ways."""

    name: str
    # Whether the settings say so now.
    is_in_use: bool = False
    tools: tuple[Subtool, ...] = ()


class TokensAnswer(Struct, frozen=True, kw_only=True):
    """Every server, in the order of the configuration."""

    servers: tuple[ServerTools, ...] = ()
    presets: tuple[ListedPreset, ...] = ()
