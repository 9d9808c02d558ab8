"""What `doctor` finds in the servers of the home, as they are written there."""

from collections.abc import Iterator

from switchboard.cli.verbs.parts.hosts.plan import own_servers
from switchboard.cli.verbs.parts.importing.open_secrets import open_secrets
from switchboard.config.locate import Places
from switchboard.providers.source import Finding


def about_open_secrets(places: Places) -> Iterator[Finding]:
    """Secrets in arguments and addresses, which every program can read there."""
    for name, fields in own_servers(places).items():
        for each in open_secrets(name, fields):
            yield Finding(severity="warning", subject=name, message=each.told, hint=each.remedy)
