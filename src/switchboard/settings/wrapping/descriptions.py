"""`mcp-descriptions.json`: what is said of children, to clients and to the model of a wrapper."""

import os

import msgspec
from msgspec import Struct

from switchboard.config.documents import read_json_document
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.core.origins import Scope

DESCRIPTIONS = "mcp-descriptions.json"


class Descriptions(Struct, frozen=True):
    """What is said of one child."""

    # In brief, for the clients of Switchboard.
    switchboard: str = ""
    # In detail, for the model of its wrapper.
    claude: str = ""


class _File(Struct):
    mcps: dict[str, Descriptions]


def read_descriptions(name: str, *, workspace: str, home: str) -> Descriptions:
    """What the first file says that speaks of a child. Raises `ConfigInvalid`."""
    for scope, folder in (
        (Scope.WORKSPACE, os.path.join(workspace, ".switchboard")),
        (Scope.WORKSPACE, workspace),
        (Scope.HOME, home),
    ):
        path = os.path.join(folder, DESCRIPTIONS)
        problems: list[Problem] = []
        within = workspace if scope is Scope.WORKSPACE else ""
        document = read_json_document(path, scope, problems, within=within)
        if problems:
            raise ConfigInvalid(problems, workspace=workspace)
        if document is None:
            continue
        try:
            found = msgspec.convert(document.tree, _File).mcps.get(name)
        except msgspec.ValidationError as error:
            problem = Problem(
                path=path,
                message=f"the file has another shape: {error}",
                hint='write {"mcps": {"NAME": {"switchboard": "…", "claude": "…"}}}',
            )
            raise ConfigInvalid([problem], workspace=workspace) from None
        if found is not None:
            return found
    return Descriptions()
