"""Settings that a git obeys before those of a repository, by its environment."""

from collections.abc import Iterable, Mapping

FSMONITOR = ("core.fsmonitor", "false")
# Whoever only looks writes no index, which would start a hook.
NO_REFRESH = ("diff.autoRefreshIndex", "false")
VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    # An object that is missing is fetched by a program that the repository names.
    "GIT_NO_LAZY_FETCH": "1",
}


def with_settings(env: Mapping[str, str], settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The environment of a git that obeys these settings before those of a repository."""
    try:
        count = int(env.get("GIT_CONFIG_COUNT", "0"))
    except ValueError:
        count = 0
    obeying = dict(env)
    for name, value in settings:
        obeying[f"GIT_CONFIG_KEY_{count}"] = name
        obeying[f"GIT_CONFIG_VALUE_{count}"] = value
        count += 1
    obeying["GIT_CONFIG_COUNT"] = str(count)
    return obeying
