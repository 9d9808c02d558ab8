"""Work on text that has to be exact. Speaks the older framing with Content-Length headers."""

import base64
import difflib
import hashlib
import re
import textwrap
from typing import Any

from serving import Server, Wrong, boolean, integer, string

server = Server("textkit", framing="content-length")

_TEXT = "The text to work on."
_LINK = re.compile(r"https?://[^\s<>\"')\]]+")
_MOST_MATCHES = 200


@server.tool(
    "Count the characters, words, lines and sentences of a text, and estimate the minutes that "
    "reading it takes at 220 words a minute.",
    text=string(_TEXT),
)
def count(text: str) -> dict[str, Any]:
    words = re.findall(r"\w+(?:['’-]\w+)*", text)  # noqa: RUF001 - both apostrophes occur
    return {
        "characters": len(text),
        "words": len(words),
        "lines": len(text.splitlines()),
        "sentences": len(re.findall(r"[.!?]+(?:\s|$)", text)),
        "minutes": round(len(words) / 220, 1),
    }


@server.tool(
    "Rewrite a text in another case: upper, lower, title, sentence, or as an identifier in "
    "snake_case, kebab-case, camelCase or PascalCase.",
    text=string(_TEXT),
    case=string(
        "The case to write it in.",
        enum=["upper", "lower", "title", "sentence", "snake", "kebab", "camel", "pascal"],
    ),
)
def change_case(text: str, case: str) -> str:
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text)]
    match case:
        case "upper" | "lower" | "title":
            return str(getattr(text, case)())
        case "sentence":
            return text[:1].upper() + text[1:].lower()
        case "snake" | "kebab":
            return ("_" if case == "snake" else "-").join(words)
        case _:
            joined = "".join(word.capitalize() for word in words)
            return joined if case == "pascal" else joined[:1].lower() + joined[1:]


@server.tool(
    "Sort the lines of a text, optionally without repeated lines and in reverse order. Numbers "
    "inside lines are compared by value, so `item 2` comes before `item 10`.",
    optional=("unique", "reverse"),
    text=string(_TEXT),
    unique=boolean("Keep only the first of several equal lines."),
    reverse=boolean("Sort in descending order."),
)
def sort_lines(text: str, unique: bool = False, reverse: bool = False) -> str:
    def by_value(line: str) -> list[tuple[int, int, str]]:
        parts = re.split(r"(\d+)", line.casefold())
        return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]

    lines = text.splitlines()
    return "\n".join(
        sorted(dict.fromkeys(lines) if unique else lines, key=by_value, reverse=reverse)
    )


@server.tool(
    "Find every place where a regular expression in Python's syntax matches, with line and column "
    "counted from 1. At most 200 matches are given.",
    text=string(_TEXT),
    pattern=string("The regular expression, for example `\\bTODO\\b.*`."),
)
def find_matches(text: str, pattern: str) -> list[dict[str, Any]]:
    try:
        matches = list(re.finditer(pattern, text, re.MULTILINE))[:_MOST_MATCHES]
    except re.error as error:
        raise Wrong(f"the pattern is wrong: {error}") from None
    return [
        {
            "line": text.count("\n", 0, match.start()) + 1,
            "column": match.start() - text.rfind("\n", 0, match.start()),
            "match": match[0],
        }
        for match in matches
    ]


@server.tool(
    "Replace every match of a regular expression in Python's syntax and tell how many there were.",
    text=string(_TEXT),
    pattern=string("The regular expression to look for."),
    replacement=string("What to put there; \\1 or \\g<name> stand for groups of the pattern."),
)
def replace_matches(text: str, pattern: str, replacement: str) -> dict[str, Any]:
    try:
        changed, number = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    except re.error as error:
        raise Wrong(f"the pattern is wrong: {error}") from None
    return {"replaced": number, "text": changed}


@server.tool(
    "Compare two texts line by line and give a unified diff, as `diff -u` does. An empty answer "
    "means that they are equal.",
    optional=("context",),
    before=string("The first text."),
    after=string("The second text."),
    context=integer("How many equal lines to show around a change; 3 when it is left out."),
)
def diff(before: str, after: str, context: int = 3) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=max(context, 0)
    )
    return "\n".join(lines)


@server.tool(
    "Break the paragraphs of a text into lines of a given width without breaking words. Empty "
    "lines between paragraphs stay where they are.",
    optional=("width",),
    text=string(_TEXT),
    width=integer("The longest line in characters; 80 when it is left out.", minimum=10),
)
def wrap(text: str, width: int = 80) -> str:
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(textwrap.fill(" ".join(each.split()), max(width, 10)) for each in paragraphs)


@server.tool(
    "Collect the web addresses of a text, each once, in the order in which they appear.",
    text=string(_TEXT),
)
def extract_links(text: str) -> list[str]:
    return list(dict.fromkeys(link.rstrip(".,;:!?") for link in _LINK.findall(text)))


@server.tool(
    "Compute the digest of a text in UTF-8, as hexadecimal digits, to compare or to name content.",
    optional=("algorithm",),
    text=string(_TEXT),
    algorithm=string("The function; sha256 when it is left out.", enum=["sha256", "sha1", "md5"]),
)
def digest(text: str, algorithm: str = "sha256") -> str:
    return hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()


@server.tool(
    "Encode a text as Base64 or decode Base64 back to text. Decoding fails with a clear message "
    "when the input is not Base64 or not text.",
    text=string("The text to encode, or the Base64 to decode."),
    direction=string("Which way to go.", enum=["encode", "decode"]),
)
def convert_base64(text: str, direction: str) -> str:
    if direction == "encode":
        return base64.b64encode(text.encode()).decode()
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        raise Wrong("this is not Base64 of UTF-8 text") from None


if __name__ == "__main__":
    server.run()
