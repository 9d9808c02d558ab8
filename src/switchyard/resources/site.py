"""Where a resource is made: its branch, its server, and how programs are run there."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from switchkit.platform.files import scratch_file
from switchyard.config.placeholders import fill
from switchyard.config.shapes import Config, Resource
from switchyard.core.environ import base_environment, on_path
from switchyard.core.fault import YardFault
from switchyard.core.slugs import digest, variable
from switchyard.project.home import ProjectPlaces
from switchyard.project.scope import Target
from switchyard.runtime.hooks import Runner
from switchyard.runtime.resource_records import ResourceRecord, mark_of, shown_address

_SHOWN_BYTES = 4000
_LONGEST_NAME = 40


class ResourceSite(NamedTuple):
    """One resource of one branch."""

    resource: Resource
    target: Target
    config: Config
    places: ProjectPlaces
    caller: Mapping[str, str]
    run: Runner
    server: str = ""
    """The address of its server, where it has one."""

    @property
    def mark(self) -> str:
        """What says that it is ours."""
        return mark_of(self.places, self.target.slug, self.resource.name)

    @property
    def name(self) -> str:
        """The name of a database or the like: readable, and no other branch's."""
        words = (self.config.slug, self.target.slug.strip("_"), self.resource.name)
        readable = variable("_".join(words))[:_LONGEST_NAME].strip("_")
        return f"{readable}_{digest(self.mark, 6)}"

    @property
    def data(self) -> Path:
        """A folder of the branch for what is kept in files."""
        return self.places.data(self.target.slug, self.resource.name)

    def values(self, **more: str) -> dict[str, str]:
        """What commands and addresses may ask for."""
        return {
            "name": self.name,
            "branch": self.target.branch,
            "branch_slug": self.target.slug,
            "branch_db": self.target.slug.replace("-", "_").strip("_"),
            "project": self.config.name,
            "project_slug": self.config.slug,
            "root": str(self.config.root),
            "worktree": str(self.target.worktree),
            "data_dir": str(self.data),
            "from": self.resource.source.partition(":")[2],
            **more,
        }

    def filled(self, text: str, **more: str) -> str:
        """The text with its placeholders filled in."""
        return fill(text, self.values(**more))

    def source(self, how: str) -> str | None:
        """What it is made from, if it is this kind of source."""
        kind, _, what = self.resource.source.partition(":")
        return what if kind == how else None

    def record(self, address: str, **extra: str) -> ResourceRecord:
        """The note of what was made."""
        return ResourceRecord(
            self.resource.name,
            self.target.slug,
            self.resource.kind,
            self.resource.env,
            self.name,
            address,
            self.server,
            extra,
        )

    def has_program(self, name: str) -> bool:
        """Whether a program of this name is installed."""
        env = base_environment(self.caller)
        return on_path(name, env.get("PATH", os.defpath)) is not None

    def output(self, command: list[str], variables: Mapping[str, str] | None = None) -> str:
        """What a program prints. Raises `YardFault` with it when the program fails."""
        env = {**base_environment(self.caller), **(variables or {})}
        if os.sep not in command[0] and on_path(command[0], env.get("PATH", os.defpath)) is None:
            raise YardFault(
                "program-missing",
                f"`{self.resource.name}` needs the program `{command[0]}`, which is not installed",
            )
        with os.fdopen(scratch_file("resource"), "rb") as output:
            code = self.run(command, self.config.root, env, output.fileno())
            output.seek(max(0, output.seek(0, os.SEEK_END) - _SHOWN_BYTES))
            told = output.read().decode("utf-8", "replace")
        if code != 0:
            last = told.strip().splitlines()[-1:] or [f"it ended with {code}"]
            raise YardFault(
                "resource-failed",
                f"`{self.resource.name}`: {command[0]}: {shown_address(last[0])}",
                details={"output": [shown_address(one) for one in told.splitlines()[-20:]]},
            )
        return told


def with_path(address: str, name: str) -> str:
    """The address of a database on a server."""
    return urlunsplit(urlsplit(address)._replace(path=f"/{name}"))
