"""In whose name a child acts. A listing asks, so this loads little."""

from collections.abc import Mapping

from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.children.schema import ServerEntry
from switchboard.ipc.environment import OF_ONE_PROCESS, PLACE_NAMES

# By these a program finds the settings and the logins of its user.
OF_THE_USER = ("HOME", "USER", "LOGNAME")
# By these it is told which account, cluster or registry is meant, and how they are reached. Not
# every server is given all of them; a listing that is asked for once more does no harm.
_CHOICES = frozenset({*OF_THE_USER, *PLACE_NAMES, *PROXY_NAMES})
_RUNNERS = ("NPM_CONFIG_", "npm_config_", "PNPM_", "BUN_CONFIG_", "YARN_", "UV_", "PIP_", "PIPX_")
# Other with every window.
_OF_A_DESKTOP = frozenset({"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"})
_OF_A_WINDOW = frozenset({"TERM", *OF_ONE_PROCESS})


def _decides(name: str) -> bool:
    return (name in _CHOICES and name not in _OF_A_DESKTOP) or name.startswith(_RUNNERS)


def account_of(entry: ServerEntry, environ: Mapping[str, str]) -> bytes:
    """What of an environment decides in whose name a child acts: whose lists it would give.

    Holds secrets: it is to be hashed, with a salt, before it is written anywhere. What is looked up
    in a vault is not in it: that is the same for everybody who has the home.
    """
    if entry.inherit_env:
        seen = {name: value for name, value in environ.items() if name not in _OF_A_WINDOW}
    else:
        seen = {name: value for name, value in environ.items() if _decides(name)}
    texts = (*entry.secret_env.values(), *entry.headers.values())
    names = (text.removeprefix("env:") for text in texts if text.startswith("env:"))
    seen |= {name: environ.get(name, "") for name in names}
    # Variables are bytes, and need not be text.
    parts = (f"{name}={value}" for name, value in sorted(seen.items()))
    return "\0".join(parts).encode("utf-8", "surrogateescape")
