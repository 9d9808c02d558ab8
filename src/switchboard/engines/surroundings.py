"""What an engine's shells and servers see of the environment.

An engine needs credentials; what it starts does not.
"""

from collections.abc import Iterable, Mapping

from switchboard.engines.profile import AttachedServer

# How many runs of agents stand above whoever has it.
DEPTH = "SWITCHBOARD_DEPTH"
# What a program needs to run at all. Everything else a server is given by its own entry.
_FOR_SERVERS = frozenset(
    (
        *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
        *("CURL_CA_BUNDLE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
        *("XDG_DATA_HOME", "XDG_STATE_HOME", "SWITCHBOARD_HOME"),
    )
)
# What commands need besides: where they stand, and the way out.
_FOR_SHELLS = _FOR_SERVERS | {"TMP", "TEMP", DEPTH, "NO_PROXY"}
_WAYS_OUT = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})


def kept_from_shells(env: Mapping[str, str]) -> list[str]:
    """The variables of an engine that are not for the commands of its model.

    All but those that commands are known to need: what a credential is called, nobody can guess.
    """
    return sorted(name for name, value in env.items() if not _is_for_shells(name, value))


def _is_for_shells(name: str, value: str) -> bool:
    upper = name.upper()
    if upper in _WAYS_OUT:
        # With a user in it, there is a password, too.
        return "@" not in value
    return name in _FOR_SHELLS or upper == "NO_PROXY" or name.startswith("LC_")


def without(env: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The environment without these variables."""
    dropped = frozenset(names)
    return {name: value for name, value in env.items() if name not in dropped}


def shielded_command(server: AttachedServer, inherited: Iterable[str]) -> list[str]:
    """The command of a server, started without what its engine would let it inherit.

    Only names are in it, never a value.
    """
    dropped = sorted(
        name
        for name in frozenset(inherited)
        if name not in _FOR_SERVERS and not name.startswith("LC_") and name not in server.env
    )
    words = [server.command, *server.args]
    if server.start_in:
        # Engines have no word for it.
        words = ["/bin/sh", "-c", 'cd -- "$0" && exec "$@"', server.start_in, *words]
    if not dropped:
        return words
    # A name with a blank or a sign of equality cannot be one that a program looks at.
    unset = (word for name in dropped if name and "=" not in name for word in ("-u", name))
    return ["/usr/bin/env", *unset, *words]
