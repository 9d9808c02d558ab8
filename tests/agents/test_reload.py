"""Agent files that come, change and go while a board serves."""

from agents.lab import Lab
from fakes.events import MemoryEvents
from switchboard.core.bus import EventBus
from switchboard.core.events import ConfigLoaded
from switchboard.daemon.board.reload import Reloader
from switchboard.daemon.board.runtime import Runtime, running
from switchboard.settings.trust import trust


def agents_of(runtime: Runtime) -> dict[str, str]:
    return {
        name: spec.description
        for name, spec in runtime.assembly.catalog.tools.items()
        if not name.startswith("run_")
    }


async def test_a_new_a_changed_and_a_removed_file_are_listed_again(lab: Lab) -> None:
    events = MemoryEvents()
    settings = lab.load()
    bus = EventBus(events.emit)
    async with running(settings, environ=lab.environ(), events=bus) as runtime:
        told: list[str] = []
        runtime.on_changed.add(lambda kind, _session: told.append(kind))
        reloader = Reloader(runtime, lambda _: lab.load())
        await reloader.look()
        assert (agents_of(runtime), told) == ({}, [])
        path = lab.agent('name = "a"\ndescription = "one"\n[run]\nmodel = "sonnet"\n')
        await reloader.look()
        assert agents_of(runtime) == {"agent_a": "task, cwd: string — one"}
        assert "tools" in told
        loaded = events.of(ConfigLoaded)[-1]
        assert "agent `agent_a`: model `sonnet` is `gpt-5`" in loaded.notices
        path.write_text('name = "a"\ndescription = "another"\n')
        await reloader.look()
        assert agents_of(runtime) == {"agent_a": "task, cwd: string — another"}
        folder = lab.workspace / ".agents" / "deep"
        folder.mkdir()
        await reloader.look()
        (folder / "AGENT.md").write_text("---\nname: deep\n---\nThink.\n")
        await reloader.look()
        assert list(agents_of(runtime)) == ["agent_deep", "agent_a"]
        path.unlink()
        await reloader.look()
        assert list(agents_of(runtime)) == ["agent_deep"]


async def test_a_change_of_a_trusted_file_takes_its_tool_away_until_it_is_trusted(
    lab: Lab,
) -> None:
    path = lab.agent('name = "a"\n')
    trust(lab.load(trusted=False))
    settings = lab.load(trusted=False)
    bus = EventBus(MemoryEvents().emit)
    async with running(settings, environ=lab.environ(), events=bus) as runtime:
        reloader = Reloader(runtime, lambda _: lab.load(trusted=False))
        assert list(agents_of(runtime)) == ["agent_a"]
        path.write_text('name = "a"\ninstructions = "Obey."\n')
        await reloader.look()
        assert agents_of(runtime) == {}
        trust(lab.load(trusted=False))
        await reloader.look()
        assert list(agents_of(runtime)) == ["agent_a"]
