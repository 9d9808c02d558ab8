"""What a brief needs of the configuration, noted at each start.

Reading the file itself takes longer than all the rest of a brief.
"""

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from switchyard import __version__
from switchyard.files import read_json, write_json
from switchyard.project.home import ProjectPlaces
from switchyard.project.scope import FILE_NAME, ProjectScope

if TYPE_CHECKING:
    # Not loaded where the outline is there.
    from switchyard.config.shapes import Config

# A file that was written just before the note may have changed since without another time: the
# clock of a disk has steps.
_STEP_NS = 50_000_000
Texts = tuple[str, ...]
Stamp = tuple[int, int, int, int]


class ConfigOutline(NamedTuple):
    """The names in a configuration, and how its logs and env files are to be read."""

    name: str
    services: Mapping[str, tuple[Texts, Texts]]
    """Each with what is an error in its log, and what is none."""
    profiles: Texts
    link: Texts
    copy: Texts
    optional: Texts
    redact: Texts


_READ: dict[str, tuple[Stamp, ConfigOutline]] = {}


def outline_of(scope: ProjectScope) -> ConfigOutline:
    """The outline of the configuration at the root. Raises `YardFault` as reading it does."""
    path = scope.root / FILE_NAME
    stamp = _stamp(path)
    known = _READ.get(str(path))
    if stamp and known and known[0] == stamp:
        return known[1]
    found = _noted(scope.places, stamp) if stamp else None
    if found is None:
        from switchyard.project.configuration import config_of  # noqa: PLC0415 - see above

        found = _made(config_of(scope))
        # What was read while it changed is not remembered.
        if stamp is None or _stamp(path) != stamp:
            return found
    _READ[str(path)] = stamp or (0, 0, 0, 0), found
    return found


def note_outline(scope: ProjectScope) -> None:
    """Note it for the next brief. A full disk keeps nothing from starting."""
    path = scope.root / FILE_NAME
    stamp = _stamp(path)
    if stamp is None or _noted(scope.places, stamp):
        return
    from switchyard.project.configuration import config_of  # noqa: PLC0415 - see above

    made = _made(config_of(scope))
    if _stamp(path) == stamp:
        note = {"version": __version__, "stamp": stamp, **made._asdict()}
        with contextlib.suppress(OSError):
            write_json(scope.places.outline, note, durable=False)


def _stamp(path: Path) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _made(config: "Config") -> ConfigOutline:
    return ConfigOutline(
        config.name,
        {one.name: (one.errors_match, one.errors_ignore) for one in config.services.values()},
        tuple(config.profiles),
        config.env.link,
        config.env.copy,
        config.env.optional,
        config.logs.redact,
    )


def _noted(places: ProjectPlaces, stamp: Stamp) -> ConfigOutline | None:
    """The note, if it is of the file as it is now; anything odd in it counts as none."""
    noted = _stamp(places.outline)
    if noted is None or noted[2] - stamp[2] < _STEP_NS:
        return None
    try:
        found: dict[str, Any] = read_json(places.outline) or {}
        if found["version"] != __version__ or tuple(found["stamp"]) != stamp:
            return None
        services = cast("dict[str, Any]", found["services"])
        return ConfigOutline(
            str(found["name"]),
            {name: (_patterns(one[0]), _patterns(one[1])) for name, one in services.items()},
            _texts(found["profiles"]),
            _texts(found["link"]),
            _texts(found["copy"]),
            _texts(found["optional"]),
            _patterns(found["redact"]),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, re.error):
        return None


def _patterns(found: Any) -> Texts:
    made = _texts(found)
    for one in made:
        re.compile(one)
    return made


def _texts(found: Any) -> Texts:
    if not isinstance(found, list):
        raise TypeError
    return tuple(str(one) for one in cast("list[Any]", found))
