"""A result of a tool as people read it."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from switchboard.cli.render import as_json
from switchkit.cli.style import Style

NULL = Raw(b"null")


class _Block(Struct, rename="camel"):
    type: str = "text"
    text: str = ""
    mime_type: str = ""
    data: str = ""
    uri: str = ""


class ReadResult(Struct, rename="camel"):
    """What of a result is shown."""

    content: tuple[_Block, ...] = ()
    # Not `Raw | None`: msgspec reads only `null` into that.
    structured_content: Raw = NULL
    is_error: bool = False

    def blocks(self, style: Style) -> Iterator[str]:
        """Each block in words."""
        return (_shown(block, style) for block in self.content)

    def lines(self, style: Style) -> Iterator[str]:
        """Its blocks, or its structured content where it has none."""
        yield from self.blocks(style)
        if not self.content and self.structured_content != NULL:
            yield as_json(self.structured_content, indent=2)


def read_result(result: Raw) -> ReadResult:
    """A result; what is none stands for itself."""
    try:
        return msgspec.json.decode(result, type=ReadResult)
    except msgspec.MsgspecError:
        return ReadResult(structured_content=result)


def _shown(block: _Block, style: Style) -> str:
    if block.type == "text":
        return block.text
    about = ", ".join(filter(None, (block.type, block.mime_type, block.uri)))
    size = f", {len(block.data) * 3 // 4:,} bytes" if block.data else ""
    return style.dim(f"[{about}{size}]")
