"""What of a session's environment counts on the way out: its own proxy, and whom it believes."""

import os
from collections.abc import Iterable, Mapping

from msgspec import Struct

from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.egress.variables import AUTHORITY_NAMES
from switchkit.platform.paths import true_path

_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class SessionVariables(Struct, frozen=True, kw_only=True):
    """The variables by which connections go on from us."""

    # Of the session, with what the entry in the home says of proxies.
    environ: Mapping[str, str] = {}
    # The proxies that the home, or the daemon's own environment, names.
    own: Mapping[str, str] = {}
    # The files of authorities that the process itself believes, by the variables that name them.
    believed: Mapping[str, str] = {}
    # A variable that named authorities in a workspace, and is not heeded.
    left_out: str = ""


def session_variables(
    environ: Mapping[str, str],
    entry_env: Mapping[str, str],
    *,
    # Of this process, where the person started it and not a client.
    own: Mapping[str, str],
    workspaces: Iterable[str],
) -> SessionVariables:
    """What counts of an environment.

    A client hands on what a project's file sets, so a repository can name both: an authority of its
    own, and a proxy. Neither may see a credential.
    """
    written = {name: value for name, value in entry_env.items() if "${" not in value}
    proxies = _only(written, PROXY_NAMES)
    heeded = {**environ, **proxies, **_only(written, _AUTHORITIES)}
    left_out = ""
    folders = [true_path(each) for each in workspaces if each]
    user_home = true_path(environ.get("HOME") or os.path.expanduser("~"))
    for name in _AUTHORITIES:
        value = heeded.get(name)
        if value and name not in written and _is_inside(value, folders, user_home):
            left_out = left_out or name
            del heeded[name]
    believed = _only({**environ, **written}, AUTHORITY_NAMES)
    return SessionVariables(
        environ=heeded,
        own={**_only(own, PROXY_NAMES), **proxies},
        believed={
            name: value
            for name, value in believed.items()
            if name in written or not _is_inside(value, folders, user_home)
        },
        left_out=left_out,
    )


def _only(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: environ[name] for name in names if environ.get(name)}


def _is_inside(path: str, folders: Iterable[str], user_home: str) -> bool:
    """Whether a path lies in one of the folders, by its name or by where it leads."""
    places = {os.path.abspath(path), true_path(path)}
    for folder in folders:
        # Whoever works in their home as a whole has no repository there.
        if f"{user_home}/".startswith(f"{folder.rstrip('/')}/"):
            continue
        if any(f"{place}/".startswith(f"{folder}/") for place in places):
            return True
    return False
