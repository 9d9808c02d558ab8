"""The results of tools and resources, the same for every server that offers them."""

import json
from typing import Any

from switchyard.api.catalogue import RESOURCES
from switchyard.api.texts import GUIDE
from switchyard.api.tools import CALLS
from switchyard.core.fault import YardFault
from switchyard.project.scope import ProjectScope, within
from switchyard.queries.brief import brief
from switchyard.queries.doctor import doctor

Json = dict[str, Any]


def seen_from(scope: ProjectScope, given: Json) -> ProjectScope:
    """The project as the call sees it. Raises `YardFault` when its `cwd` lies outside."""
    return within(scope, scope.root / given["cwd"]) if "cwd" in given else scope


def call_tool(scope: ProjectScope, name: str, given: Json) -> Json:
    """The result of `tools/call` for a checked call. A failure is part of the result."""
    try:
        found = CALLS[name](scope, given)
    except YardFault as fault:
        error = {"error": fault.as_json()}
        return {
            "content": [{"type": "text", "text": json.dumps(error)}],
            "isError": True,
            "_meta": {"switchyard/error": error["error"]},
        }
    return {
        "content": [{"type": "text", "text": json.dumps(found)}],
        "structuredContent": found,
        "isError": False,
    }


def read_resource(scope: ProjectScope, uri: str) -> Json | None:
    """The result of `resources/read`; nothing when there is no such resource.

    Raises `YardFault` when it cannot be read.
    """
    kinds = {one["uri"]: one["mimeType"] for one in RESOURCES}
    if uri not in kinds:
        return None
    if uri.endswith("/guide"):
        text = GUIDE
    else:
        text = json.dumps(brief(scope) if uri.endswith("/brief") else doctor(scope))
    return {"contents": [{"uri": uri, "mimeType": kinds[uri], "text": text}]}
