"""Containers that we had an engine (Docker, Podman) start, and how they are removed by their label.

A container is no process of ours: it goes on when the command that started it is killed. So each is
marked at its start with a label that no other has, and whoever ends it asks the engine for those
that bear it. A name proves nothing: it may be somebody else's. Light: the reaper imports it.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from threading import Thread
from time import monotonic, sleep

LABEL = "switchboard.owner"
# An engine that hangs is not waited for any longer.
_ANSWER_S = 15.0
# While a container is being removed already, a request to remove it fails.
_WITHIN_S = 20.0
_STEP_S = 0.2
_ID = re.compile(r"[0-9a-f]{8,64}")
_STAMP = tuple[int, ...]


class Containers:
    """Those of one start: at most one container, and the engine that has it."""

    def __init__(
        self, engine: Sequence[str], env: Mapping[str, str], owner: str, stamp: _STAMP | None = None
    ) -> None:
        """`engine` is its file and the options that say which engine is meant. Raises OSError."""
        self.owner = owner
        self._engine = tuple(engine)
        self._env = dict(env)
        self._stamp = _stamp(self._engine[0]) if stamp is None else stamp

    @classmethod
    def read(cls, text: "str | bytes") -> "Containers":
        """As `written` tells it. Raises ValueError."""
        from json import loads  # noqa: PLC0415 - few have servers in containers

        try:
            engine, env, owner, stamp = loads(text)
            return cls([*map(str, engine)], dict(env), str(owner), tuple(map(int, stamp)))
        except (TypeError, IndexError) as error:
            raise ValueError("not a note of containers") from error

    @property
    def written(self) -> str:
        """One line that tells everything that is needed to remove them."""
        from json import dumps  # noqa: PLC0415 - as above

        return dumps([self._engine, self._env, self.owner, self._stamp])

    def remove(self, looks: int = 1) -> bool:
        """Have the engine remove them. Says whether none is left.

        An engine may still be making a container when its client is killed; a second look, a
        second later, finds that one.
        """
        until = monotonic() + _WITHIN_S
        while monotonic() < until:
            found = self._listed()
            if found is None:
                return False
            if found:
                if not self._ask("rm", "-f", *self._at_once, *found):
                    self._ask("rm", "-f", *found)
                    sleep(_STEP_S)
                continue
            looks -= 1
            if looks <= 0:
                return True
            sleep(1.0)
        return False

    @property
    def _at_once(self) -> tuple[str, ...]:
        # Podman gives ten seconds otherwise. Older ones do not know it, and are asked again.
        return ("-t", "0") if "podman" in os.path.basename(self._engine[0]) else ()

    def _listed(self) -> "list[str] | None":
        """The numbers of those that bear our label, or nothing where the engine does not say."""
        said = self._ask("ps", "-aq", "--filter", f"label={LABEL}={self.owner}")
        return None if said is None else _ID.findall(said.stdout)

    def _ask(self, *words: str) -> "subprocess.CompletedProcess[str] | None":
        try:
            if _stamp(self._engine[0]) != self._stamp:
                # It is not the program any more that the start was judged by.
                return None
            said = subprocess.run(
                (*self._engine, *words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._env,
                cwd="/",
                timeout=_ANSWER_S,
                text=True,
                errors="replace",
                start_new_session=True,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return said if said.returncode == 0 else None


def begin_removal(notes: "Iterable[str | bytes]") -> list[Thread]:
    """Remove all that were noted, side by side: an engine that hangs keeps nobody waiting."""
    removing = [Thread(target=Containers.read(note).remove, args=(2,)) for note in notes]
    for each in removing:
        each.start()
    return removing


def _stamp(path: str) -> _STAMP:
    """By which a file is known again."""
    found = os.stat(path)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
