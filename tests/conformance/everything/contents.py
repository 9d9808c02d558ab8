"""The smallest picture and the smallest sound that are still valid, and words for short results."""

import base64
import struct
import zlib
from typing import Any

import mcp_types as types


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def _red_dot() -> bytes:
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\xff\x00\x00")
    parts = _chunk(b"IHDR", header), _chunk(b"IDAT", pixel), _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _silence() -> bytes:
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    data = b"\x80" * 8
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data"
    body += struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


PICTURE = base64.b64encode(_red_dot()).decode()
SOUND = base64.b64encode(_silence()).decode()


def image() -> types.ImageContent:
    return types.ImageContent(data=PICTURE, mime_type="image/png")


def embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def showed(*content: types.ContentBlock) -> types.CallToolResult:
    return types.CallToolResult(content=list(content))


def prompted(*content: types.ContentBlock) -> types.GetPromptResult:
    messages = [types.PromptMessage(role="user", content=block) for block in content]
    return types.GetPromptResult(messages=messages)


def no_arguments() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


def strings(**about: str) -> dict[str, Any]:
    """Give the schema of an object whose members are strings, all of them needed."""
    properties = {name: {"type": "string", "description": text} for name, text in about.items()}
    return {"type": "object", "properties": properties, "required": list(about)}
