"""The subtool `natural_language`: its names, its arguments, and a reader of them."""

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.core.faults import Fault, FaultCode

NAME = "natural_language"
# What a later wrapper called it.
ALIAS = "converse"
NAMES = frozenset({NAME, ALIAS})
SUMMARY = "Say in plain words what you want; a model turns it into one call of one subtool."
MAX_QUERY = 32_000

QUERY_SCHEMA = Raw(
    encode(
        {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What you want, with every value that is needed for it.",
                    "minLength": 1,
                    "maxLength": MAX_QUERY,
                }
            },
            "required": ["query"],
            "additionalProperties": False,
        }
    )
)


class _Query(Struct, frozen=True, forbid_unknown_fields=True):
    query: str


_read = msgspec.json.Decoder(_Query).decode


def read_query(args: Raw) -> str:
    """The query, or an `invalid_argument` fault."""
    try:
        query = _read(args).query
    except msgspec.MsgspecError as error:
        raise _invalid(str(error).replace(" - at `$.", " at `").replace(" - at `$`", "")) from None
    if not query.strip():
        raise _invalid("`query` is empty")
    if len(query) > MAX_QUERY:
        raise _invalid(f"`query` has {len(query)} characters, and may have {MAX_QUERY}")
    return query


def _invalid(why: str) -> Fault:
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "arguments-invalid",
        why,
        hint='send {"query": "what you want, in plain words"}',
    )
