"""`switchboard worker`: does the runs of agents that the gateways of a team take in."""

from collections.abc import Iterator
from functools import partial

from switchboard.cli.render import hint
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import followed_settings
from switchboard.cli.verbs.parts.team.numbers import whole_number
from switchboard.cli.verbs.parts.team.team_database import team_database
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError

_QUEUE = "default"
_MOST_RUNS = 64
_BY_VARIABLE = "SWITCHBOARD_DB=postgresql://… switchboard worker"

USAGE = Usage(
    verb="worker",
    summary="Do the runs of agents that the gateways of a team take in, in this workspace.",
    options=(
        Option(name="db", value="URL", about="the PostgreSQL of the team"),
        Option(
            name="queue",
            value="NAME",
            many=True,
            about=f"take runs of this queue, too; without any, of `{_QUEUE}`",
        ),
        Option(name="max-runs", value="N", about="do so many at once, whatever they are"),
        Option(
            name="drain",
            value="SECONDS",
            about="let runs go on for so long after it is asked to stop (600)",
        ),
        Option(
            name="metrics",
            value="PLACE",
            about="show metrics at this port of the machine, or at HOST:PORT",
        ),
    ),
    details="It always takes what is bound to its own machine, the queue `host:NAME`. Stop it with"
    " SIGTERM: it takes no more, and ends with its last run; a second one ends at once, and what"
    " may be taken up again waits for another worker. It ends with 75 when it was out of reach of"
    " the database for too long, and is then to be started again.",
    examples=("switchboard worker", "switchboard worker --queue default --queue big --max-runs 2"),
)


class WorkerReport(Report, frozen=True, kw_only=True, tag="switchboard.worker/1"):
    """A worker that takes runs from now on."""

    worker: str
    queues: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        yield f"{style.bold(self.worker)} takes runs of {', '.join(self.queues)}"

    def notes(self, style: Style) -> Iterator[str]:
        yield hint(style, "Ctrl-C stops it")


def run(request: CommandRequest) -> Report:
    database = team_database(request, _BY_VARIABLE)
    if not database:
        raise UsageError(
            "a worker belongs to a team, whose database it has to know",
            _BY_VARIABLE,
        )
    max_runs = whole_number(request, "max-runs", otherwise=0, most=_MOST_RUNS)
    drain = whole_number(request, "drain", otherwise=600, least=0, most=86_400)
    settings, load = followed_settings(request)
    # Few have a team, and the driver of a database takes a while to load.
    from switchboard.daemon.serve import run as run_loop  # noqa: PLC0415
    from switchboard.daemon.team.working import work_for_team  # noqa: PLC0415

    def show(worker: str, queues: tuple[str, ...]) -> None:
        request.show(WorkerReport(worker=worker, queues=queues))

    working = work_for_team(
        settings,
        request.environ,
        database,
        queues=request.arguments.all("queue") or (_QUEUE,),
        max_runs=max_runs,
        drain_s=float(drain),
        metrics=request.arguments.one("metrics") or "",
        ready=show,
        load=partial(load, settings.workspace),
    )
    return Silent(code=run_loop(working))
