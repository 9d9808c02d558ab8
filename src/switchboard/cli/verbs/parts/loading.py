"""The settings that a command line asks for."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from switchboard.cli.request import CommandRequest
from switchboard.config.locate import Places, find_places
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings
from switchboard.settings.usable import StandIns, usable_settings


def settings_for(request: CommandRequest, **flags: Any) -> Settings:
    """Read the configuration. Raises `ConfigInvalid` with every problem."""
    request.check_directory()
    return _noticed(request, _loader(request, flags)())


def usable_for(request: CommandRequest, **flags: Any) -> Settings:
    """The same without the files that cannot be used, as clients are served."""
    request.check_directory()
    return _noticed(request, usable_settings(_loader(request, flags)))


def _loader(request: CommandRequest, flags: dict[str, Any]) -> "partial[Settings]":
    return partial(
        load_settings,
        workspace=request.workspace,
        environ=request.environ,
        flags=flags,
        config=request.config,
    )


def _noticed(request: CommandRequest, settings: Settings) -> Settings:
    if request.talk.is_read and request.had_home and settings.guard_from is None:
        # No client that waits for its listing reads along.
        from switchboard.cli.guard_notice import tell_once  # noqa: PLC0415

        tell_once(settings.home, request.talk.style, request.talk.say)
    return settings


def followed_settings(
    request: CommandRequest, **flags: Any
) -> tuple[Settings, Callable[[str, StandIns], Settings]]:
    """The settings, and a way to read those of a workspace later, this one or another.

    That way is given what the files held when they could last be used.
    """
    return usable_for(request, **flags), settings_of_trees(request, **flags)


def settings_of_trees(request: CommandRequest, **flags: Any) -> Callable[[str, StandIns], Settings]:
    """Reads the settings of a folder as this command would if it were typed there."""
    config = request.config
    if config is not None and not config.startswith("~"):
        config = os.path.abspath(config)

    def load(workspace: str, last_good: StandIns) -> Settings:
        again = partial(
            load_settings,
            workspace=workspace,
            environ=request.environ,
            flags=flags,
            config=config,
        )
        return usable_settings(again, last_good)

    return load


def places_for(request: CommandRequest) -> Places:
    """Where home and workspace are. Raises `ConfigInvalid` when the workspace is no directory."""
    request.check_directory()
    problems: list[Problem] = []
    places = find_places(request.environ, request.workspace, problems)
    if problems:
        raise ConfigInvalid(problems)
    return places
