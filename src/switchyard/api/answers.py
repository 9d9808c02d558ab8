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
    return scope if given.get("cwd") is None else within(scope, scope.root / given["cwd"])


def call_tool(scope: ProjectScope, name: str, given: Json) -> Json:
    """The result of `tools/call` for a checked call. A failure is part of the result."""
    wanted = {
        key: int(value) if isinstance(value, float) else value
        for key, value in given.items()
        if value is not None
    }
    try:
        found = CALLS[name](scope, wanted)
    except YardFault as fault:
        return failed_result(fault)
    return {
        "content": [{"type": "text", "text": json.dumps(found)}],
        "structuredContent": found,
        "isError": False,
    }


def failed_result(fault: YardFault) -> Json:
    """A failure as a result, so that a model sees it and can do better."""
    error = {"error": fault.as_json()}
    return {
        "content": [{"type": "text", "text": json.dumps(error)}],
        "isError": True,
        "_meta": {"switchyard/error": error["error"]},
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
