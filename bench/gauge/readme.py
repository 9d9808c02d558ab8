"""The place in the README that a run fills with its tables."""

from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- figures: written by run.py --readme -->\n"
END = "<!-- end of figures -->\n"


def write_between(path: Path, report: str, begins: str = BEGIN, ends: str = END) -> None:
    """Replace what stands between the two marks."""
    text = path.read_text("utf-8")
    before, begin, rest = text.partition(begins)
    _, end, after = rest.partition(ends)
    if not begin or not end:
        raise ValueError(f"{path.name} has lost its marks")
    path.write_text(f"{before}{begins}\n{report}\n\n{ends}{after}", "utf-8")
