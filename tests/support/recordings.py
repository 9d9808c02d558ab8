"""Answers of real kernels, as `tools/record-platform` wrote them down, told again.

`tests/recorded` has one file for each system that somebody ran it on. No Mac has been among them.
"""

import base64
import json
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

FOLDER = Path(__file__).parent.parent / "recorded"
_OF_PROC = re.compile(r"/proc/(\w+/)*\w+", re.ASCII)


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if set(fields) == {"base64"}:
            return base64.b64decode(fields["base64"])
        return {name: _read(each) for name, each in fields.items()}
    return [*map(_read, cast("list[Any]", value))] if isinstance(value, list) else value


class Recording:
    """One file."""

    def __init__(self, written: Any) -> None:
        read = _read(written)
        self.system: str = read["system"]
        self.source: str = read["source"]
        self.facts: dict[str, Any] = read["facts"]
        self.answers: list[dict[str, Any]] = read["answers"]
        self.peer: bytes = read.get("peer", b"")

    def unfold(self, folder: Path) -> None:
        """Make the files and links below `/proc` that were read, in a folder, and nowhere else.

        Raises `ValueError` for a recording that names another place: anybody can write one.
        """
        for each in self.answers:
            if not _OF_PROC.fullmatch(each["path"]):
                raise ValueError(f"a recording has no answer of {each['path']}")
            place = folder / each["path"].removeprefix("/proc/")
            if "refused" in each:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.parent.resolve() != folder.resolve() / place.parent.relative_to(folder):
                raise ValueError(f"a recording leads by {each['path']} to elsewhere")
            if "link" in each:
                place.symlink_to(os.fsdecode(each["link"]))
            else:
                with place.open("xb") as made:
                    made.write(each["answer"])


class ToldAgain:
    """Stands for `calls` of macOS: what was asked is answered as it was then."""

    def __init__(self, recording: Recording) -> None:
        self._answers = {
            (each["call"], _key(each["arguments"])): each for each in recording.answers
        }

    def __getattr__(self, call: str) -> Any:
        def answer(*arguments: Any) -> Any:
            found = self._answers[call, _key(arguments)]
            if number := found.get("refused"):
                raise OSError(number, os.strerror(number))
            return found["answer"] if "answer" in found else found["value"]

        return answer


def _key(arguments: Sequence[Any]) -> str:
    return json.dumps([each.decode() if isinstance(each, bytes) else each for each in arguments])


def judge(recording: Recording, processes: Any, facts: Any) -> None:
    """The same for both systems."""
    known = recording.facts
    program, ended, living = (known[name] for name in ("program", "ended", "living"))
    found = processes.vitals(program)
    assert found is not None
    assert (found.parent, found.group, found.session) == (known["parent"], program, program)
    assert found.name.lower().startswith("python")
    assert not found.is_dead
    assert found.terminal == 0
    dead = processes.vitals(ended)
    assert dead is not None
    assert dead.is_dead
    assert (dead.parent, dead.group) == (program, program)
    assert dead.began >= found.began
    child = processes.vitals(living)
    assert child is not None
    assert (child.parent, child.session) == (program, program)
    assert living in processes.first_children(program)
    assert list(facts.command_words(program)) == known["words"]
    assert facts.working_folder(program) == known["folder"]
    assert facts.user_of(program) == facts.user_of(living) == known["user"]
    size = facts.resident_bytes(program)
    assert size is not None
    assert 1 << 20 < size < 1 << 30
    variables = [f"{name}={value}".encode() for name, value in known["variables"].items()]
    assert {*variables} <= {*processes.raw_environment(program).split(b"\0")}
    assert processes.boot()


@cache
def recordings(system: str) -> tuple[Recording, ...]:
    """Those of real kernels of a system."""
    if not FOLDER.is_dir():
        return ()
    found = (Recording(json.loads(each.read_text("utf-8"))) for each in _files(system))
    return tuple(each for each in found if each.source == "kernel")


def _files(system: str) -> Iterator[Path]:
    return iter(sorted(FOLDER.glob(f"{system}-*.json")))


@cache
def recorded_bytes(system: str, call: str, question: int) -> bytes | None:
    """The first answer that a real kernel gave to a question, or None where nobody recorded one."""
    for recording in recordings(system):
        for each in recording.answers:
            # The question stands behind whom, or behind whom and which file, it is about.
            at = 1 if call == "process_info" else 2
            if each.get("call") == call and each["arguments"][at] == question and "answer" in each:
                return bytes(each["answer"])
    return None
