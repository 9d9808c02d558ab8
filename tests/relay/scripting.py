"""Children that say word for word what a test wants, true or not."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fakes.boards import server
from fakes.nursery import SCRIPTED
from relay.bridges import EraName
from support.workspace import Json
from switchboard.children.schema import ServerEntry

OFFERED: Json = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
}
_SCHEMA: Json = {"type": "object"}


def result(text: str) -> list[str]:
    """The answer with this text as its result."""
    return ['{"jsonrpc":"2.0","id":$id,"result":', text, "}\n"]


def scripted(
    era: EraName,
    script: Mapping[str, list[str]],
    name: str = "script",
    notes: Path | None = None,
    **more: Any,
) -> ServerEntry:
    """A child with a tool `t`, a resource `a://1` and a prompt `p`, and what the script says."""
    hello: Json = {"capabilities": OFFERED, "serverInfo": {"name": name, "version": "1"}}
    usual: dict[str, Json] = {
        "initialize": {"protocolVersion": "2025-11-25", **hello},
        "server/discover": {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            **hello,
        },
        "tools/list": {"tools": [{"name": "t", "inputSchema": _SCHEMA}]},
        "resources/list": {"resources": [{"uri": "a://1", "name": "one"}]},
        "resources/templates/list": {"resourceTemplates": []},
        "prompts/list": {"prompts": [{"name": "p"}]},
    }
    words = {method: result(json.dumps(said)) for method, said in usual.items()}
    if era == "modern":
        words["subscriptions/listen"] = ["hush"]
    command = [sys.executable, str(SCRIPTED), json.dumps({**words, **script})]
    settings: Json = {"expose": "tools", "protocol": era, **more}
    return server(name, [*command, *([str(notes)] if notes else [])], **settings)
