"""Suites as they are introspected, several side by side."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from switchboard.cli.verbs.parts.board import Caller, text_of
from switchboard.core.faults import Fault


class Failure(Struct, frozen=True, kw_only=True):
    """Why a suite could not be asked."""

    code: str
    reason: str
    message: str
    hint: str = ""
    details: dict[str, Any] = {}


class Subtool(Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool of a suite."""

    name: str
    summary: str
    input_schema: Raw


class IntrospectedSuite(Struct, frozen=True, kw_only=True):
    """What a suite said of its tools, or why it could not."""

    suite: str
    tools: tuple[Subtool, ...] = ()
    failure: Failure | None = None


class _Introspection(Struct):
    tools: tuple[Subtool, ...]


async def introspect(caller: Caller, suites: Sequence[str]) -> tuple[IntrospectedSuite, ...]:
    """Ask every suite at once; one that fails does not hide the others."""
    return tuple(await asyncio.gather(*(_introspect(caller, suite) for suite in suites)))


async def subtools_of(caller: Caller, suite: str, subtool: str = "") -> tuple[Subtool, ...]:
    """The tools of one suite. Raises a fault."""
    arguments = {"action": "introspect", **({"subtool": subtool} if subtool else {})}
    text = text_of(await caller.call(suite, arguments))
    return msgspec.json.decode(text, type=_Introspection).tools


def failure_from_fault(fault: Fault) -> Failure:
    return Failure(
        code=fault.code,
        reason=fault.reason,
        message=fault.message,
        hint=fault.hint,
        details=dict(fault.details),
    )


async def _introspect(caller: Caller, suite: str) -> IntrospectedSuite:
    try:
        return IntrospectedSuite(suite=suite, tools=await subtools_of(caller, suite))
    except Fault as fault:
        return IntrospectedSuite(suite=suite, failure=failure_from_fault(fault))
