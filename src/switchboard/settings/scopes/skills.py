"""Where skills lie, which of them are active, and what marks one of a marketplace."""

import os
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from switchboard.config.documents import is_inside
from switchboard.config.layers import Layer
from switchboard.config.locate import Places, skill_files
from switchboard.config.problems import Problem
from switchboard.settings.scopes.skill import MARK, Skill, SkillSource
from switchkit.files import open_plain
from switchkit.git.ground import ground_of
from switchkit.platform.paths import true_path
from switchkit.suggest import did_you_mean

# Where skills are chosen.
ACTIVE = ("skills", "active")
_MOST_MARK_BYTES = 1 << 16
# More than this is no skill, and would hold up the load.
_MOST_FILES = 2_000
_MOST_BYTES = 64 << 20
# Later ones win, so that a stranger's skill never takes the place of one's own.
_RISING: tuple[SkillSource, ...] = ("marketplace", "user", "workspace")


class _Mark(Struct):
    slug: str = ""
    registry: str = ""


def active_skills(
    places: Places, names: Sequence[str], chosen_by: Layer, problems: list[Problem]
) -> tuple[Skill, ...]:
    """The skills of these names, those that count most last. What is not found is warned of.

    `chosen_by` is where the names are written.
    """
    found: list[Skill] = []
    for name in dict.fromkeys(names):
        skill = next(_found(places, name), None)
        if skill is not None:
            found.append(skill)
            continue
        meant = did_you_mean(name, _names(places))
        message = f"there is no skill `{name}`"
        hint = (
            f"did you mean `{meant}`?"
            if meant
            else f"put it into `{os.path.join(places.home, 'skills', name)}`"
        )
        problems.append(chosen_by.problem(ACTIVE, message, hint, "warning"))
    return tuple(sorted(found, key=lambda each: _RISING.index(each.source)))


def skill_folders(places: Places) -> tuple[tuple[str, SkillSource], ...]:
    """Where skills lie, one's own first: a repository must not take the place of one of them."""
    return (
        (os.path.join(places.home, "skills"), "user"),
        (os.path.join(places.agh_home, "skills"), "user"),
        (os.path.join(places.workspace, ".switchboard", "skills"), "workspace"),
        (os.path.join(places.workspace, ".agh", "skills"), "workspace"),
    )


def _found(places: Places, name: str) -> Iterator[Skill]:
    # A name is one folder, never a way to somewhere else.
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        return
    for folder, source in skill_folders(places):
        directory = os.path.join(folder, name)
        if any(os.path.lexists(path) for path in skill_files(directory)):
            real = true_path(directory)
            # A link that leads into the workspace is as strange as what it leads to.
            around = (places.workspace, ground_of(places.workspace, places.user_home))
            is_theirs = any(is_inside(real, each) for each in around)
            is_foreign = is_theirs and not is_inside(real, places.home)
            yield _marked(directory, "workspace" if is_foreign else source)


def _marked(directory: str, source: SkillSource) -> Skill:
    path = os.path.join(directory, MARK)
    if not os.path.lexists(path):
        return Skill(directory=directory, source=source)
    try:
        with open(path, "rb", opener=open_plain) as file:
            mark = msgspec.json.decode(file.read(_MOST_MARK_BYTES), type=_Mark)
    except (OSError, msgspec.MsgspecError):
        # It is of a marketplace all the same; only its contents can be allowed.
        mark = _Mark()
    return Skill(
        directory=directory,
        source="marketplace",
        slug=mark.slug,
        registry=mark.registry,
        digest=content_digest(directory),
    )


def content_digest(directory: str) -> str:
    """The digest of everything in a skill but its mark; nothing for one that is too large."""
    # It loads slowly, and few have skills.
    from hashlib import sha256  # noqa: PLC0415

    digest = sha256()
    count = size = 0
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            inner = os.path.relpath(path, directory)
            if inner == MARK:
                continue
            count += 1
            try:
                is_link = os.path.islink(path)
                data = os.readlink(path).encode() if is_link else _read(path, _MOST_BYTES - size)
            except (OSError, ValueError):
                return ""
            size += len(data)
            if count > _MOST_FILES:
                return ""
            for part in (inner.encode("utf-8", "surrogateescape"), b"l" if is_link else b"f", data):
                digest.update(b"%d:" % len(part))
                digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def _read(path: str, most: int) -> bytes:
    with open(path, "rb", opener=open_plain) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError("too large")
    return data


def _names(places: Places) -> list[str]:
    found: list[str] = []
    for folder, _ in skill_folders(places):
        try:
            found += os.listdir(folder)
        except OSError:
            continue
    return found
