"""Hosts as they are named on a command line."""

from collections.abc import Iterator, Sequence

from switchboard.hosts.table import HOSTS, host_named
from switchkit.cli.usage import UsageError
from switchkit.suggest import did_you_mean


def host_ids(words: Sequence[str]) -> tuple[str, ...]:
    """The hosts that these words mean. Raises `UsageError` for one that nobody knows."""
    for word in words:
        if host_named(word) is None:
            known = [host.id for host in HOSTS]
            meant = did_you_mean(word, known)
            hint = f"did you mean `{meant}`?" if meant else f"one of: {', '.join(known)}"
            raise UsageError(f"there is no host `{word}`", hint)
    return tuple(words)


def all_host_ids() -> Iterator[str]:
    """What a shell may complete."""
    yield from (host.id for host in HOSTS)
