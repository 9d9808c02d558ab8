"""The files that an agent is made of, as they were when they were read."""

import os

from switchboard.config.documents import (
    Document,
    digest_of,
    read_json_document,
    read_text,
    read_toml_document,
)
from switchboard.config.front_matter import read_front_matter
from switchboard.config.problems import Problem
from switchboard.core.origins import Scope
from switchboard.providers.agents.files.agent_file import AgentPart, Signature


def signature_of(path: str) -> Signature | None:
    """What tells whether a file has changed; nothing where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


class Parts:
    """Reads files, and remembers each one, whether it was there or not."""

    def __init__(self, *, within: str) -> None:
        # Links may not lead out of this folder; empty for the user's own files.
        self.within = within
        self._found: dict[str, AgentPart] = {}

    @property
    def found(self) -> tuple[AgentPart, ...]:
        return tuple(self._found.values())

    def text(self, path: str, problems: list[Problem], within: str = "") -> str | None:
        """The text of a file, which may have to lie in another folder; nothing where it is none."""
        before = signature_of(path)
        read = read_text(path, problems, within=within or self.within)
        self._found[path] = AgentPart(path, before, "" if read is None else digest_of(read))
        return read

    def toml(self, path: str, problems: list[Problem]) -> Document | None:
        """A TOML file."""
        before = signature_of(path)
        document = read_toml_document(path, Scope.AGENT, problems, within=self.within)
        return self._kept(path, before, document)

    def json(self, path: str, problems: list[Problem]) -> Document | None:
        """A JSON file."""
        before = signature_of(path)
        document = read_json_document(path, Scope.AGENT, problems, within=self.within)
        return self._kept(path, before, document)

    def front_matter(self, path: str, problems: list[Problem]) -> tuple[Document, str] | None:
        """A file with front matter, and the text below it."""
        before = signature_of(path)
        read = read_front_matter(path, Scope.AGENT, problems, within=self.within)
        self._kept(path, before, None if read is None else read[0])
        return read

    def _kept(
        self, path: str, before: Signature | None, document: Document | None
    ) -> Document | None:
        self._found[path] = AgentPart(path, before, "" if document is None else document.digest)
        return document
