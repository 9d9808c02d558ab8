"""What a service was started as: whether its configuration says something else by now."""

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from switchyard.core.slugs import digest
from switchyard.project.scope import SHARED_BRANCH
from switchyard.runtime.runs import RunRecord

if TYPE_CHECKING:
    # Not loaded for a status that asks only whether a file is newer.
    from switchyard.config.shapes import Config, Service, ServiceProfile

# A file written in the very moment of a start is read to be sure; the clock has steps.
_STEP_S = 0.01


def definition_of(service: "Service", profile: "ServiceProfile | None", worktree: Path) -> str:
    """A fingerprint of everything in the project's files that makes the process what it is.

    It lists its parts, so that a new field of a later version changes nothing.
    """
    files: list[str] = []
    for name in service.env_file:
        with contextlib.suppress(OSError):
            files.append((worktree / name).read_bytes().decode("utf-8", "replace"))
    parts = [
        service.command,
        service.cwd,
        dict(service.env),
        files,
        service.host,
        service.canonical_port,
        service.bind_canonical,
        dict(profile.env) if profile else {},
        # Only where it is set: a fingerprint of an earlier version still fits without it.
        *(["tty"] if service.tty else []),
    ]
    return digest(json.dumps(parts), 16)


def sources_of(config: "Config", service: "Service", worktree: Path) -> tuple[str, ...]:
    """The files that decide what the service is."""
    return (str(config.path), *(str(worktree / name) for name in service.env_file))


def has_changed(run: RunRecord, configuration: Callable[[], "Config | None"]) -> bool:
    """Whether a start now would make another process of it. Reads files only if one is newer."""
    if not run.definition or not _is_touched(run):
        return False
    config = configuration()
    if config is None:
        return False
    service = config.services.get(run.service)
    if service is None:
        return True
    if (service.scope == "project") != (run.branch == SHARED_BRANCH):
        return True
    profile = config.profiles.get(run.profile or "")
    return definition_of(service, profile, Path(run.worktree)) != run.definition


def stamps_of(sources: Iterable[str]) -> tuple[int, ...]:
    """When each of these files was written; 0 for one that is not there."""
    return tuple(map(_stamp, sources))


def _stamp(path: str) -> int:
    with contextlib.suppress(OSError):
        return Path(path).stat().st_mtime_ns
    return 0


def _is_touched(run: RunRecord) -> bool:
    """Whether a file that decides was written since. A clock that was set back hides nothing."""
    if run.source_stamps:
        return stamps_of(run.sources) != run.source_stamps
    return any(_newer(path, run.started_at) for path in run.sources)


def _newer(path: str, than: float) -> bool:
    with contextlib.suppress(OSError):
        return Path(path).stat().st_mtime >= than - _STEP_S
    return True
