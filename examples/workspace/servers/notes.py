"""Notes in one JSON file."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from serving import Server, Wrong, boolean, integer, string, strings

server = Server("notes")

FILE = Path(os.environ.get("NOTES_FILE") or "notes.json")
_ID = "The number of the note, as `list_notes` and `search_notes` give it."

Note = dict[str, Any]


def _read() -> list[Note]:
    try:
        return json.loads(FILE.read_text("utf-8"))
    except FileNotFoundError:
        return []


def _write(notes: list[Note]) -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    draft = FILE.with_name(f".{FILE.name}.new")
    draft.write_text(json.dumps(notes, indent=2, ensure_ascii=False) + "\n", "utf-8")
    draft.replace(FILE)


def _find(notes: list[Note], number: int) -> Note:
    for note in notes:
        if note["id"] == number:
            return note
    raise Wrong(f"there is no note {number}")


def _head(note: Note) -> Note:
    return {key: note[key] for key in ("id", "title", "tags", "changed")}


def _change(number: int, **fields: Any) -> Note:
    notes = _read()
    note = _find(notes, number)
    note.update(fields, changed=_now())
    _write(notes)
    return _head(note)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@server.tool(
    "Write a new note down and give its number. Use it to remember decisions, findings and open "
    "questions across conversations.",
    optional=("tags",),
    read_only=False,
    title=string("A short title that says what the note is about."),
    body=string("The text of the note; Markdown is welcome."),
    tags=strings("Words to find the note by, such as `decision` or `todo`."),
)
def add_note(title: str, body: str, tags: list[str] | None = None) -> Note:
    notes = _read()
    note: Note = {
        "id": max((each["id"] for each in notes), default=0) + 1,
        "title": title,
        "tags": sorted(set(tags or [])),
        "changed": _now(),
        "body": body,
    }
    _write([*notes, note])
    return _head(note)


@server.tool("Read one note as a whole, with its title, text and tags.", number=integer(_ID))
def read_note(number: int) -> Note:
    return _find(_read(), number)


@server.tool(
    "List notes without their text, the one that was changed last first.",
    optional=("tag", "limit"),
    tag=string("Only notes that carry this tag."),
    limit=integer("How many notes to list at most; 20 when it is left out.", minimum=1),
)
def list_notes(tag: str = "", limit: int = 20) -> list[Note]:
    found = [note for note in _read() if not tag or tag in note["tags"]]
    found.sort(key=lambda note: (note["changed"], note["id"]), reverse=True)
    return [_head(note) for note in found[: max(limit, 1)]]


@server.tool(
    "Search the titles and texts of all notes for a phrase and give each match with the line in "
    "which it was found.",
    optional=("match_case",),
    phrase=string("The words to look for, exactly as they follow each other."),
    match_case=boolean("Tell upper from lower case; off when it is left out."),
)
def search_notes(phrase: str, match_case: bool = False) -> list[Note]:
    def folded(text: str) -> str:
        return text if match_case else text.casefold()

    matches: list[Note] = []
    for note in _read():
        lines = [note["title"], *note["body"].splitlines()]
        line = next((line for line in lines if folded(phrase) in folded(line)), None)
        if line is not None:
            matches.append({**_head(note), "line": line})
    return matches


@server.tool(
    "Replace the title or the text of a note. What is left out stays as it is.",
    optional=("title", "body"),
    read_only=False,
    number=integer(_ID),
    title=string("The new title."),
    body=string("The new text, which replaces the old one as a whole."),
)
def change_note(number: int, title: str | None = None, body: str | None = None) -> Note:
    fields = {"title": title, "body": body}
    return _change(number, **{key: value for key, value in fields.items() if value is not None})


@server.tool(
    "Add a paragraph to the end of a note and leave the rest of it alone.",
    read_only=False,
    number=integer(_ID),
    text=string("The paragraph to add."),
)
def append_to_note(number: int, text: str) -> Note:
    body = _find(_read(), number)["body"]
    return _change(number, body=f"{body.rstrip()}\n\n{text}")


@server.tool(
    "Set the tags of a note. Tags that it had before and that are not given are taken away.",
    read_only=False,
    number=integer(_ID),
    tags=strings("All tags that the note has from now on."),
)
def tag_note(number: int, tags: list[str]) -> Note:
    return _change(number, tags=sorted(set(tags)))


@server.tool(
    "Delete a note for good. There is no way back, so read it first when in doubt.",
    read_only=False,
    number=integer(_ID),
)
def delete_note(number: int) -> str:
    notes = _read()
    note = _find(notes, number)
    _write([each for each in notes if each is not note])
    return f"note {number} is deleted"


@server.tool(
    "Give all notes as one Markdown document, each under a heading with its title, for sharing "
    "or for reading them in one go.",
    optional=("tag",),
    tag=string("Only notes that carry this tag."),
)
def export_notes(tag: str = "") -> str:
    chosen = [note for note in _read() if not tag or tag in note["tags"]]
    return "\n\n".join(f"## {note['title']}\n\n{note['body']}" for note in chosen) or "no notes"


if __name__ == "__main__":
    server.run()
