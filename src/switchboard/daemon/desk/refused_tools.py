"""Tools whose schemas hosts would refuse, as their servers last listed them."""

from collections.abc import Iterator, Mapping

from switchboard.children.listings.kept_words import kept_words
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings
from switchkit.cli.columns import visible


def refused_findings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """One for each of them, with the rule that it breaks. Starts nothing."""
    kept = kept_words(settings.home).known()
    for entry in settings.servers:
        words = kept.of(entry, environ)
        for tool, rule in sorted(words.refused.items()) if words is not None else ():
            is_listed = entry.expose == "tools"
            what = "it is not listed" if is_listed else "it is called through its suite alone"
            yield Finding(
                severity="warning" if is_listed else "note",
                subject=entry.name,
                message=f"hosts would refuse the tool `{visible(tool)}`, so {what}: {rule}",
                hint="tell the author of the server",
            )
