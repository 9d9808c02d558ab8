"""Which files, in which order, for home, workspace, agent and skill."""

import os
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from switchboard.config.problems import Problem
from switchboard.core.origins import Scope
from switchkit.platform.paths import true_path

FileKind = Literal["toml", "foreign_toml", "sidecar", "suites", "child", "given"]

# Names the workspace where no flag does.
WORKSPACE_VARIABLE = "WORKSPACE_DIR"
# Of whoever tries a server in a home that was made for it: the home that is left alone meanwhile.
TRIED_FROM = "SWITCHBOARD_TRIED_FROM"
DEFAULT_GLOBS = (".switchboard/mcps/*/.mcp.json",)


class Places(Struct, frozen=True, kw_only=True):
    """The directories that everything else is found from. All are absolute."""

    user_home: str
    home: str
    agh_home: str
    workspace: str
    # The user's own, where `home` was made to try a server in it.
    tried_from: str = ""

    @property
    def private(self) -> tuple[str, ...]:
        """The homes beside `home`: what lies in them is not for confined programs either."""
        return (self.agh_home, *((self.tried_from,) if self.tried_from else ()))


class File(Struct, frozen=True, kw_only=True):
    """A file to look for. Its kind is decided by its place, never by its contents."""

    kind: FileKind
    path: str
    scope: Scope
    # Links in the path may not lead out of this directory.
    within: str = ""


def find_places(
    environ: Mapping[str, str], workspace: str | None, problems: list[Problem]
) -> Places:
    """The home of Switchboard, of AGH, and the workspace."""
    user_home = environ.get("HOME") or os.path.expanduser("~")
    # An absolute home only: `~` must mean the same from every directory.
    user_home = os.path.abspath(user_home)
    where = workspace or environ.get(WORKSPACE_VARIABLE) or os.getcwd()
    where = true_path(expand_user(where, user_home))
    if not os.path.isdir(where):
        problems.append(
            Problem(
                path=where,
                message="the workspace is not a directory",
                hint="name an existing directory with `--workspace` or `WORKSPACE_DIR`",
            )
        )
    shown = where.encode("utf-8", "backslashreplace").decode()
    if shown != where:
        # Nothing that travels as JSON could name it: no question, no answer, no record.
        problems.append(
            Problem(
                path=shown,
                message="the name of the workspace is not UTF-8 text",
                hint="rename the folder, or one of those above it",
            )
        )
    return Places(
        user_home=user_home,
        home=_home(environ, "SWITCHBOARD_HOME", ".switchboard", user_home),
        agh_home=_home(environ, "AGH_HOME", ".agh", user_home),
        workspace=where,
        tried_from=environ.get(TRIED_FROM, ""),
    )


def home_files(places: Places) -> tuple[File, ...]:
    """Lowest first. Each AGH file stands just below its counterpart: TOML comes before JSON."""
    home, agh = places.home, places.agh_home
    join = os.path.join
    return (
        File(kind="foreign_toml", path=join(agh, "config.toml"), scope=Scope.HOME),
        File(kind="toml", path=join(home, "config.toml"), scope=Scope.HOME),
        File(kind="sidecar", path=join(agh, "mcp.json"), scope=Scope.HOME),
        File(kind="sidecar", path=join(home, "mcp.json"), scope=Scope.HOME),
        File(kind="suites", path=join(home, "switchboard.config.json"), scope=Scope.HOME),
    )


def workspace_files(places: Places) -> tuple[File, ...]:
    """Lowest first. Nothing when the workspace is the directory that holds the home itself."""
    workspace = places.workspace
    join = os.path.join
    own, agh = join(workspace, ".switchboard"), join(workspace, ".agh")
    kinds: tuple[tuple[FileKind, str, str], ...] = (
        ("foreign_toml", agh, "config.toml"),
        ("toml", own, "config.toml"),
        ("sidecar", agh, "mcp.json"),
        ("sidecar", own, "mcp.json"),
        ("suites", workspace, "switchboard.config.json"),
    )
    # Started in `$HOME`, `~/.switchboard` is the home, and must not be read a second time as a
    # workspace that nobody trusts.
    homes = {true_path(places.home), true_path(places.agh_home)}
    foreign = {folder for folder in (own, agh, workspace) if true_path(folder) not in homes}
    return tuple(
        File(kind=kind, path=join(folder, name), scope=Scope.WORKSPACE, within=workspace)
        for kind, folder, name in kinds
        if folder in foreign
    )


def agent_files(agent: str) -> tuple[str, str]:
    """The file of an agent and its sidecar.

    A directory is an agent with `AGENT.md`; a flat file has its sidecar beside it, by its stem.
    """
    if os.path.isdir(agent):
        return os.path.join(agent, "AGENT.md"), os.path.join(agent, "mcp.json")
    folder, name = os.path.split(agent)
    for ending in (".agent.md", ".chatmode.md", ".toml", ".md"):
        if name.endswith(ending):
            name = name.removesuffix(ending)
            break
    return agent, os.path.join(folder, f"{name}.mcp.json")


def skill_files(skill: str) -> tuple[str, str]:
    """The file of a skill and its sidecar."""
    return os.path.join(skill, "SKILL.md"), os.path.join(skill, "mcp.json")


def expand_user(path: str, user_home: str) -> str:
    """`~` and `~/…` from the given home; other users' homes are not looked up."""
    if path == "~" or path.startswith("~/"):
        return user_home + path[1:]
    return path


def _home(environ: Mapping[str, str], variable: str, name: str, user_home: str) -> str:
    chosen = environ.get(variable)
    if chosen:
        return os.path.abspath(expand_user(chosen, user_home))
    return os.path.join(user_home, name)
