"""From what was found to what runs: the provider of one board."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from switchboard.config.locate import WORKSPACE_VARIABLE
from switchboard.providers.agents.calls.agent_tools import AgentGround
from switchboard.providers.agents.calls.runnable import RunnableAgent
from switchboard.providers.agents.calls.waiters import Waiters
from switchboard.providers.agents.provider import PROVIDER, AgentsProvider, RoadOptions
from switchboard.providers.agents.servers.agent_servers import AgentServers
from switchboard.providers.agents.work.agent_worker import WorkPlace
from switchboard.providers.agents.work.conversation_folders import ConversationFolders
from switchboard.providers.agents.work.engine_approvals import EngineActions, EngineApprovals
from switchboard.providers.agents.work.engine_set import EngineSet
from switchboard.providers.agents.work.engine_trust import EngineTrust
from switchboard.runs.places import has_unfinished

if TYPE_CHECKING:
    from switchboard.providers.agents.found_agents import FoundAgents
    from switchboard.providers.agents.servers.known_server import Attachments
    from switchboard.providers.context import Context, GuardedRoad
    from switchboard.runs.run import RunSpec


def build_agents(context: Context, found: FoundAgents) -> AgentsProvider:
    """The provider of a board. Starts nothing but what a daemon before us left."""
    settings, options, environ = context.settings, found.options, context.environ
    specs = {spec.name: spec for spec in context.listed[PROVIDER].specs}
    limit_s = options.run_minutes * 60.0
    agents: dict[str, RunnableAgent] = {}
    for tool, agent in found.usable.items():
        plan = found.plan(agent)
        if tool in specs:
            agents[tool] = RunnableAgent(
                agent=agent,
                spec=specs[tool],
                engine=plan.engine,
                profile=plan.profile,
                # Bare names too: a server may have a tool of the name.
                references=(*plan.tools.references, *plan.tools.bare),
                injected=plan.injected,
                limit_s=limit_s,
            )
    runs, road = context.runs, context.guarded_road
    assert runs is not None, "a board that runs calls has runs"
    assert road is not None, "and a road on which a person is asked"

    def guarded(actions: EngineActions) -> GuardedRoad:
        return road(actions, float(options.approval_timeout))

    ground = AgentGround(
        workspace=settings.workspace,
        is_pinned=options.stay_in_workspace or bool(environ.get(WORKSPACE_VARIABLE)),
        programs=options.programs,
        trust=EngineTrust(settings, found),
    )
    place = WorkPlace(
        runs=runs,
        engines=partial(
            context.state.of(EngineSet).get,
            home=settings.home,
            reaper=context.reaper,
            programs=options.programs,
            acp=options.acp,
        ),
        approvals=EngineApprovals(guarded),
        waiters=context.state.of(Waiters),
        folders=ConversationFolders(settings.home),
        environ=environ,
        reaper=context.reaper,
        hide=context.book,
        learn=context.book.learn,
        pass_env=options.pass_env,
    )
    servers = AgentServers(context, options)

    async def attach(runnable: RunnableAgent, spec: RunSpec) -> Attachments:
        return await servers.attached(
            runnable.agent,
            references=runnable.references,
            injected=runnable.injected,
            depth=spec.depth,
        )

    provider = AgentsProvider(
        tuple(specs.values()),
        agents,
        ground=ground,
        place=place,
        attach=attach,
        options=RoadOptions(
            patience=options.patience,
            on_disconnect=options.on_disconnect,
            is_guarded=settings.is_guarded,
            limit_s=limit_s,
            kept_s=settings.runs.retention_days * 86_400.0,
        ),
        has_codex=options.codex_tools,
    )
    is_left = context.takes_up_runs and has_unfinished(settings.home, settings.workspace)
    if is_left or context.executes_runs:
        # Whoever waits for such a run need not make a call first.
        provider.attach()
    return provider
