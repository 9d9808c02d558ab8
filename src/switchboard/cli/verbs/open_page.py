"""`switchboard open`: the page that shows what runs, and what waits for an answer."""

from collections.abc import Iterator

from switchboard.cli.render import hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.starting import ready_daemon
from switchboard.cli.verbs.parts.trusting.consent import check_consent, why_no_consent
from switchboard.control.answers import OpenedPage
from switchboard.control.requests import OpenRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.paths import places_from
from switchboard.procs.open_page import open_page
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage

USAGE = Usage(
    verb="open",
    summary="Open the page that shows what runs, and what waits for an answer.",
    options=(
        Option(name="no-browser", about="print the link, and open nothing"),
        Option(name="code", about="print another code for a yes, and nothing else"),
        Option(name="lasting", about="let the code count for a session, or for good"),
    ),
    details=(
        "Starts the daemon if none runs. The link logs a browser in once, within five minutes; the"
        " browser stays logged in for a week. Each yes on the page takes a code, which counts once,"
        " for ten minutes, and for one call unless it is asked for with `--lasting`. Neither is"
        " given to a client of Switchboard, or to what it started."
    ),
    examples=("switchboard open", "switchboard open --no-browser", "switchboard open --code"),
)


class OpenReport(Report, frozen=True, kw_only=True, tag="switchboard.open/1"):
    """Where the page is, the link that logs in, and the code that a yes takes."""

    url: str
    link: str = ""
    code: str = ""
    is_opened: bool = False
    # Why there is no code.
    why_no_code: str = ""

    def lines(self, style: Style) -> Iterator[str]:
        if self.link:
            yield f"page: {self.link}"
        if self.code:
            yield f"code: {style.bold(self.code)}"

    def notes(self, style: Style) -> Iterator[str]:
        if self.link:
            opened = "opened in your browser; " if self.is_opened else ""
            yield f"{opened}the link logs in once, within five minutes"
        if self.code:
            yield "the page asks for the code when you approve; it counts once, for ten minutes"
        else:
            yield f"there is no code, so nothing can be approved on the page: {self.why_no_code}"
        yield hint(style, "another code: switchboard open --code")


def run(request: CommandRequest) -> Report:
    only_code = request.arguments.has("code")
    if only_code:
        check_consent(request)
    why_not = why_no_consent(request)
    client = ready_daemon(places_from(dict(request.environ)), request.environ)
    try:
        is_lasting = request.arguments.has("lasting")
        wanted = OpenRequest(wants_code=not why_not, only_code=only_code, is_lasting=is_lasting)
        found = client.answer(wanted, OpenedPage)
    finally:
        client.close()
    if found is None:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "daemon-of-another-version",
            "the daemon is of an older version, which has no page",
            hint="switchboard daemon restart",
        )
    is_opened = False
    if found.link and not request.arguments.has("no-browser"):
        is_opened = open_page(found.link, request.environ)
    return OpenReport(
        url=found.url,
        link=found.link,
        code=found.code,
        is_opened=is_opened,
        why_no_code=why_not,
    )
