"""Logins as a table."""

import time
from collections.abc import Iterator, Sequence

from switchboard.cli.render import columns
from switchboard.control.status import LoginStatus
from switchkit.cli.style import Style

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_ERROR_CHARS = 60


def login_rows(logins: Sequence[LoginStatus], style: Style) -> Iterator[str]:
    """A table of logins."""
    heads = ("LOGIN", "ACCOUNT", "STATE", "EXPIRES", "RENEWED", "SCOPES", "ISSUER", "LAST ERROR")
    rows = [
        (
            each.server,
            each.account or "-",
            each.state,
            when(each.expires_at),
            when(each.refreshed_at),
            " ".join(each.scopes) or "-",
            each.issuer or "-",
            each.last_error[:_ERROR_CHARS] or "-",
        )
        for each in logins
    ]
    if rows:
        yield from columns(heads, rows, style, elastic=(0, 5, 6, 7), spare=(5, 4))


def when(at: float) -> str:
    """How far away a moment is; when it was."""
    if not at:
        return "-"
    away = at - time.time()
    span = abs(away)
    for unit, name in _UNITS:
        if span >= unit:
            text = f"{span / unit:.0f} {name}"
            break
    else:
        text = f"{span:.0f} s"
    return f"in {text}" if away > 0 else f"{text} ago"
