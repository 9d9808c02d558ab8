"""The settings that a command line asks for."""

import os
from collections.abc import Callable
from typing import Any

from switchboard.cli.request import CommandRequest
from switchboard.config.locate import Places, find_places
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings


def settings_for(request: CommandRequest, **flags: Any) -> Settings:
    """Read the configuration. Raises `ConfigInvalid` with every problem."""
    request.check_directory()
    settings = load_settings(
        workspace=request.workspace,
        environ=request.environ,
        flags=flags,
        config=request.config,
    )
    if request.talk.is_read and not settings.guard_is_chosen:
        # No client that waits for its listing reads along.
        from switchboard.cli.guard_notice import tell_once  # noqa: PLC0415

        tell_once(settings.home, request.talk.say)
    return settings


def followed_settings(
    request: CommandRequest, **flags: Any
) -> tuple[Settings, Callable[[], Settings]]:
    """The settings, and a way to read those of the very same workspace again later."""
    settings = settings_for(request, **flags)
    config = request.config
    if config is not None and not config.startswith("~"):
        config = os.path.abspath(config)

    def load() -> Settings:
        return load_settings(
            workspace=settings.workspace, environ=request.environ, flags=flags, config=config
        )

    return settings, load


def places_for(request: CommandRequest) -> Places:
    """Where home and workspace are. Raises `ConfigInvalid` when the workspace is no directory."""
    request.check_directory()
    problems: list[Problem] = []
    places = find_places(request.environ, request.workspace, problems)
    if problems:
        raise ConfigInvalid(problems)
    return places
