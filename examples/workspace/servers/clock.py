"""Times and dates, in any zone."""

import calendar
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from serving import Server, Wrong, integer, string

server = Server("clock")

_ZONE = "An IANA zone such as `Europe/Berlin` or `UTC`."
_MOST_ZONES = 50


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Wrong(f"there is no time zone `{name}`; `list_zones` finds them") from None


def _moment(text: str, zone: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Wrong(f"`{text}` is not a time like `2026-03-29T14:30`") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=_zone(zone))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Wrong(f"`{text}` is not a date like `2026-03-29`") from None


def _shown(moment: datetime) -> dict[str, Any]:
    return {
        "time": moment.isoformat(timespec="seconds"),
        "weekday": calendar.day_name[moment.weekday()],
        "unix": int(moment.timestamp()),
    }


@server.tool(
    "Tell the current date and time in a time zone, with the day of the week and the Unix time. "
    "Call it whenever today's date matters instead of assuming one.",
    optional=("zone",),
    zone=string(_ZONE + " UTC when it is left out."),
)
def now(zone: str = "UTC") -> dict[str, Any]:
    return _shown(datetime.now(_zone(zone)))


@server.tool(
    "Tell what the clocks of another time zone show at a given moment, summer time included.",
    time=string("The moment in ISO 8601, for example `2026-03-29T14:30`."),
    source=string("The zone that the moment is meant in, unless it carries an offset. " + _ZONE),
    target=string("The zone to convert to. " + _ZONE),
)
def convert_zone(time: str, source: str, target: str) -> dict[str, Any]:
    return _shown(_moment(time, source).astimezone(_zone(target)))


@server.tool(
    "Add a span of days, hours and minutes to a moment, or subtract it when the numbers are "
    "negative. The span is real time: a change to summer time in between is taken into account.",
    optional=("days", "hours", "minutes", "zone"),
    time=string("The moment in ISO 8601, for example `2026-03-29T14:30`."),
    days=integer("How many days to add."),
    hours=integer("How many hours to add."),
    minutes=integer("How many minutes to add."),
    zone=string("The zone of the moment, unless it carries an offset. " + _ZONE),
)
def add_span(
    time: str, days: int = 0, hours: int = 0, minutes: int = 0, zone: str = "UTC"
) -> dict[str, Any]:
    moment = _moment(time, zone)
    span = timedelta(days=days, hours=hours, minutes=minutes)
    try:
        return _shown((moment.astimezone(UTC) + span).astimezone(moment.tzinfo))
    except OverflowError:
        raise Wrong("that moment lies outside the calendar") from None


@server.tool(
    "Measure the time between two moments, in seconds and as days, hours and minutes. The result "
    "is negative when the second moment comes first.",
    optional=("zone",),
    start=string("The first moment in ISO 8601."),
    end=string("The second moment in ISO 8601."),
    zone=string("The zone of both, unless they carry an offset. " + _ZONE),
)
def difference(start: str, end: str, zone: str = "UTC") -> dict[str, Any]:
    seconds = int((_moment(end, zone) - _moment(start, zone)).total_seconds())
    minutes, _ = divmod(abs(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return {"seconds": seconds, "days": days, "hours": hours, "minutes": minutes}


@server.tool(
    "Count the working days between two dates, the first included and the last not. Saturdays and "
    "Sundays do not count; public holidays do, because they differ from place to place.",
    start=string("The first date, for example `2026-03-02`."),
    end=string("The date after the last one."),
)
def working_days(start: str, end: str) -> int:
    first, last = _day(start), _day(end)
    if abs((last - first).days) > 366 * 200:
        raise Wrong("the dates are more than two centuries apart")
    days = (first + timedelta(days=count) for count in range((last - first).days))
    return sum(day.weekday() < calendar.SATURDAY for day in days)


@server.tool(
    "Show the calendar of one month as text, weeks beginning on Monday, for questions such as "
    "which date the third Friday has.",
    year=integer("The year, for example 2026.", minimum=1, maximum=9999),
    month=integer("The month, 1 for January to 12 for December.", minimum=1, maximum=12),
)
def month_calendar(year: int, month: int) -> str:
    if not (1 <= month <= 12 and 1 <= year <= 9999):  # noqa: PLR2004 - the calendar's own limits
        raise Wrong("there is no such month")
    return calendar.TextCalendar().formatmonth(year, month)


@server.tool(
    "Find IANA time zones whose name contains a text, for example a city. Use it when a zone's "
    "exact name is not known; at most 50 names are given.",
    contains=string("A part of the name, such as `york` or `Asia/`."),
)
def list_zones(contains: str) -> list[str]:
    wanted = contains.casefold().replace(" ", "_")
    return sorted(name for name in available_timezones() if wanted in name.casefold())[:_MOST_ZONES]


if __name__ == "__main__":
    server.run()
