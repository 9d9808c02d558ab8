"""What a call of a tool would run, for whoever is asked to agree to it."""

from shlex import join
from typing import Any

from switchyard.config.graph import closure
from switchyard.config.shapes import Config
from switchyard.core.fault import YardFault
from switchyard.project.configuration import config_for
from switchyard.project.scope import ProjectScope

_STARTS = ("switchyard_up", "switchyard_restart")
_STOPS = ("switchyard_down", "switchyard_restart")


def planned_commands(scope: ProjectScope, tool: str, given: dict[str, Any]) -> list[str]:
    """Each command with what it is for, as the configuration has it; nothing where it has none.

    Placeholders are shown as they stand there: what they mean is decided when it runs.
    """
    try:
        config = config_for(scope, scope.target(given.get("branch")))
        names = closure(config.services, _asked(config, given))
    except (YardFault, KeyError):
        return []
    made: list[str] = []
    hooks = config.hooks
    if tool in _STOPS:
        made += [f"before it stops: {join(one)}" for one in hooks.pre_down]
        stops = {name: config.services[name].stop.command for name in names}
        made += [f"to stop {name}: {join(one)}" for name, one in stops.items() if one]
    if tool in _STARTS:
        made += [f"before it starts: {join(one)}" for one in hooks.pre_up]
        for resource in config.resources.values():
            told = join(resource.create) if resource.create else f"makes a {resource.kind}"
            made.append(f"{resource.name}: {told}")
        made += [f"{name}: {join(config.services[name].command)}" for name in names]
        made += [f"when it is ready: {join(one)}" for one in hooks.post_ready]
    if tool == "switchyard_create":
        made += [f"in the new worktree: {join(one)}" for one in hooks.post_create]
    return made


def _asked(config: Config, given: dict[str, Any]) -> list[str]:
    chosen = given.get("profile") or config.default_profile
    profile = config.profiles.get(chosen) if chosen else None
    return list(given.get("services") or (profile.services if profile else ()) or config.services)
