"""A skill that is active, and where it came from."""

import os
from typing import Literal

from msgspec import Struct

from switchboard.config.locate import skill_files

SkillSource = Literal["marketplace", "user", "workspace"]

# Written by who installs a skill from a marketplace, and by nobody else.
MARK = ".agh-meta.json"


class Skill(Struct, frozen=True, kw_only=True):
    """An active skill: its directory and where it came from."""

    directory: str
    source: SkillSource = "user"
    # How a marketplace names it: the user may allow a slug, `registry:slug` or a digest.
    slug: str = ""
    registry: str = ""
    digest: str = ""

    def consent_keys(self) -> set[str]:
        """The words by which a user may have allowed it."""
        keys = {self.slug, self.digest, f"{self.registry}:{self.slug}" if self.registry else ""}
        return keys - {""}

    def watched(self) -> tuple[str, ...]:
        """The files that decide what it brings."""
        return (*skill_files(self.directory), os.path.join(self.directory, MARK))
