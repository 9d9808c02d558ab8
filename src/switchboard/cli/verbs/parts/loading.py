"""The settings that a command line asks for."""

from typing import Any

from switchboard.cli.request import Request
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings


def settings_for(request: Request, **flags: Any) -> Settings:
    """Read the configuration. Raises `ConfigInvalid` with every problem."""
    return load_settings(
        workspace=request.workspace,
        environ=request.environ,
        flags=flags,
        config=request.config,
    )
