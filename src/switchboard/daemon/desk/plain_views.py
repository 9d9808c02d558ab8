"""The settings as commands ask by them: what is told is for people and programs."""

from msgspec.structs import replace

from switchboard.children.exposure import SuiteSettings
from switchboard.settings.sections import Settings


def as_suites(settings: Settings) -> Settings:
    """Every server a suite, also one that shows its tools to clients under their own names.

    What is told of them is for people and programs, and as long as it is.
    """
    servers = tuple(replace(entry, expose="suite") for entry in settings.servers)
    introspection = replace(settings.introspection, is_bounded=False, format="json")
    if introspection.mode == "auto":
        introspection = replace(introspection, mode="summary")
    return replace(settings, servers=servers, introspection=introspection)


def in_full(settings: Settings) -> Settings:
    """Every introspection with schemas."""
    return replace(settings, introspection=replace(settings.introspection, mode="full"))


def unopened(settings: Settings) -> Settings:
    """Every suite passes its child's results on as they are."""
    suites = {
        entry.name: replace(
            settings.suites.get(entry.name, SuiteSettings()), result_mode="passthrough"
        )
        for entry in settings.servers
    }
    return replace(settings, suites={**settings.suites, **suites})
