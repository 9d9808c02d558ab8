"""The variables that package runners obey: which registry, which cache, which login there.

They are the user's own, and go to the runners alone that they are for. What makes a runner load
code, or was set by npm for whatever it started, goes to nobody.
"""

from collections.abc import Iterator, Mapping, Sequence

from switchboard.children.starting.runners import name_of
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.ipc.environment import FAMILY_END

_NPM = ("NPM_CONFIG_", "npm_config_")
_FAMILIES = {
    **dict.fromkeys(("npm", "npx", "corepack", "deno"), _NPM),
    **dict.fromkeys(("pnpm", "pnpx"), (*_NPM, "PNPM_")),
    **dict.fromkeys(("bun", "bunx"), (*_NPM, "BUN_CONFIG_")),
    "yarn": (*_NPM, "YARN_"),
    **dict.fromkeys(("uv", "uvx"), ("UV_",)),
    "pip": ("PIP_",),
    "pipx": ("PIP_", "PIPX_"),
}
_ALL = tuple({start for family in _FAMILIES.values() for start in family})
# Those that start what stands behind them, with their own words before it.
_STARTERS = frozenset(
    {
        *("chrt", "corepack", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "taskset"),
        *("time", "timeout"),
    }
)
_LOADING = ("NODE_OPTIONS", "SCRIPT_SHELL", "CONFIG_SHELL", "CONFIG_GIT", "ENV_FILE", "PLUGINS")
# What npm tells everything that it starts. A host that was started by `npx` has them too.
_OF_NPM = frozenset(
    f"npm_config_{name}"
    for name in (
        *("cache", "global_prefix", "globalconfig", "init_module", "local_prefix", "node_gyp"),
        *("noproxy", "npm_version", "prefix", "user_agent", "userconfig"),
    )
)


def families_of(words: Sequence[str]) -> frozenset[str]:
    """The beginnings of the names that the program of a command line obeys, if it is a runner.

    A word further on is an argument, which anybody may choose.
    """
    return frozenset(start for name in _programs(words) for start in _FAMILIES.get(name, ()))


def _programs(words: Sequence[str]) -> Iterator[str]:
    """The program of a command line, after those that only start it."""
    at = 0
    while at < len(words):
        name = name_of(words[at])
        yield name
        at += 1
        if name not in _STARTERS:
            return
        # Options, variables and numbers of the starter: `env A=1`, `timeout 30`, `nice -n 5`.
        while at < len(words) and (words[at][:1] in "-0123456789" or "=" in words[at]):
            at += 1


def carries_login(name: str, value: str) -> bool:
    """Whether a variable that tells how something is reached also tells a login there."""
    upper = name.upper()
    if is_secret_name(name) or upper.endswith(("_AUTH", "_USERNAME", "_OTP", "_KEY")):
        return True
    # `user:password@host`, with a scheme before it or without.
    return "@" in value


def patterns_of(words: Sequence[str]) -> Iterator[str]:
    """The same as a client is asked for them."""
    return (f"{start}{FAMILY_END}" for start in families_of(words))


def all_patterns() -> Iterator[str]:
    """Those of all runners."""
    return (f"{start}{FAMILY_END}" for start in _ALL)


def runner_variables(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a command line obeys as a package runner."""
    starts = tuple(families_of(words))
    return {
        name: value
        for name, value in environ.items()
        if starts and name.startswith(starts) and is_harmless(name)
    }


def is_of_runner(name: str) -> bool:
    """Whether some package runner obeys a variable of this name."""
    return name.startswith(_ALL)


def is_harmless(name: str) -> bool:
    """Whether a variable of a runner makes it load nothing, and is not npm's own."""
    return not name.upper().endswith(_LOADING) and name not in _OF_NPM
