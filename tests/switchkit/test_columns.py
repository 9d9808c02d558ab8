"""Text that fits a terminal."""

import pytest

from switchkit.cli.columns import fitted


@pytest.mark.parametrize(
    ("text", "width", "fits"),
    [
        ("short", 5, "short"),
        ("too long", 5, "too \N{HORIZONTAL ELLIPSIS}"),
        # Letters that take two columns each.
        ("\u6f22\u5b57\u6f22", 6, "\u6f22\u5b57\u6f22"),
        ("\u6f22\u5b57\u6f22", 5, "\u6f22\u5b57\N{HORIZONTAL ELLIPSIS}"),
        ("\u6f22\u5b57\u6f22", 4, "\u6f22\N{HORIZONTAL ELLIPSIS}"),
    ],
)
def test_text_is_cut_at_the_width_of_a_terminal(text: str, width: int, fits: str) -> None:
    assert fitted(text, width) == fits
