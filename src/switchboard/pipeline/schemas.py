"""JSON Schema 2020-12 over raw arguments, with local references only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from switchboard.core.faults import Fault, FaultCode

if TYPE_CHECKING:
    import jsonschema_rs
    from msgspec import Raw

    from switchboard.core.catalog.tools import ArgumentsCheck, ToolSpec

_SHOWN_ERRORS = 5


def check_for(tool: ToolSpec, *, mask: str | None = None) -> ArgumentsCheck:
    """A check of one tool's arguments. Raises a fault when the tool's schema is unusable.

    With a mask, what it says of wrong arguments tells none of their values.
    """
    # Loaded by the first tool that needs it: suites check themselves, and start faster without.
    import jsonschema_rs  # noqa: PLC0415

    try:
        validator = jsonschema_rs.Draft202012Validator(
            msgspec.json.decode(tool.input_schema), retriever=_refuse, mask=mask
        )
    except ValueError as error:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "schema-unusable",
            f"the input schema of `{tool.name}` cannot be used",
            private=str(error),
        ) from error

    def check(arguments: Raw) -> None:
        try:
            value = msgspec.json.decode(arguments)
        except msgspec.MsgspecError as error:
            raise Fault(FaultCode.INVALID_ARGUMENT, "arguments-invalid", str(error)) from None
        if validator.is_valid(value):
            return
        errors = [_sentence(error) for error in validator.iter_errors(value)]
        more = len(errors) - _SHOWN_ERRORS
        message = "; ".join(errors[:_SHOWN_ERRORS]) + (f"; and {more} more" if more > 0 else "")
        raise Fault(FaultCode.INVALID_ARGUMENT, "arguments-invalid", message)

    return check


def _sentence(error: jsonschema_rs.ValidationError) -> str:
    place = ".".join(map(str, error.instance_path))
    return f"`{place}`: {error.message}" if place else error.message


def _refuse(uri: str) -> Any:
    raise ValueError(f"only local references are followed, not {uri}")
