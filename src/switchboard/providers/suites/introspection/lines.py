"""The answer of `introspect` as lines: a signature and a summary of each subtool.

It says what the JSON says, for a third of the tokens. Whole schemas are JSON in every format.
"""

import json
import re

import msgspec
from msgspec import UNSET, Raw

from switchboard.providers.suites.introspection.answer import IntrospectionText, ShownSubtool
from switchboard.search.signature import parameter_docs, returned, signature, written_name

_SCHEMA_HINT = (
    'Whole schemas: {"action": "introspect", "subtool": NAME, "args": {"detail": "schema"}}.'
)
# What a signature writes for something that did not fit it.
_CUT = re.compile(r"…|\b(?:any|object)\b")


def as_lines(answer: IntrospectionText, *, with_docs: bool) -> str:
    """The answer as text; with what each parameter is for, where that is wanted."""
    # What follows the tools is set apart, so that nothing a server says passes for a tool of it.
    lines: list[str] = []
    is_cut = False
    for tool in answer.tools:
        head = _head(tool)
        is_cut = is_cut or _CUT.search(head) is not None
        summary = _indented(tool.summary or "")
        lines.append(head + (f" - {summary}" if summary else ""))
        lines += (f"  {line}" for line in _details(tool, with_docs=with_docs))
    notes = [answer.note] if answer.note is not UNSET else []
    if is_cut:
        notes.append(_SCHEMA_HINT)
    if answer.refused is not UNSET:
        named = "; ".join(f"{json.dumps(name)}: {rule}" for name, rule in answer.refused.items())
        notes.append(
            f"Hosts would refuse these if they were listed; call them as all others. {named}"
        )
    if answer.instructions is not UNSET:
        notes.append(f"Instructions of the server:\n  {_indented(answer.instructions)}")
    return "\n\n".join(["\n".join(lines), *notes] if lines else notes)


def _head(tool: ShownSubtool) -> str:
    if tool.input_schema is UNSET:
        return written_name(tool.name)
    head = signature(tool.name, msgspec.json.decode(tool.input_schema))
    if isinstance(tool.output_schema, Raw):
        head += f" -> {returned(msgspec.json.decode(tool.output_schema))}"
    return head


def _details(tool: ShownSubtool, *, with_docs: bool) -> list[str]:
    said: list[str] = []
    if with_docs and isinstance(tool.input_schema, Raw):
        said += parameter_docs(msgspec.json.decode(tool.input_schema))
    if tool.title:
        said.append(f"title: {' '.join(tool.title.split())}")
    if isinstance(tool.annotations, Raw):
        said.append(f"annotations: {json.dumps(msgspec.json.decode(tool.annotations))}")
    return said


def _indented(text: str) -> str:
    """A text whose further lines cannot be taken for lines of ours."""
    return "\n  ".join(line.rstrip() for line in text.strip().splitlines() if line.strip())
