"""The sandbox of a command tool: what its entry opens, and what no entry does."""

import os

from switchboard.config.locate import expand_user
from switchboard.procs.spawn import SpawnSpec, Wrap
from switchboard.procs.wrapped import Wrapped
from switchboard.providers.commands.plans import Ground, Plan
from switchboard.sandbox.confinement import Confinement
from switchboard.sandbox.programs import resolved_command
from switchboard.sandbox.sandbox import Sandbox


def confinement_of(plan: Plan, ground: Ground) -> Confinement:
    """What the process of a plan may touch."""
    entry, cwd = plan.entry, os.path.realpath(plan.place.cwd)
    workspace = os.path.realpath(ground.workspace)
    # A tool that runs in a part of the workspace may read the rest of it.
    around = (workspace,) if cwd.startswith(workspace.rstrip(os.sep) + os.sep) else ()
    return Confinement(
        profile=entry.sandbox_profile,
        cwd=cwd,
        home=ground.user_home,
        allow_network=entry.allow_network,
        only_reads=entry.is_to_only_read,
        read_roots=(*around, *_folders(entry.read_roots, ground)),
        writable_roots=_folders(entry.writable_roots, ground),
        hidden=(ground.home,),
        read_env_files=entry.read_env_files,
        path=ground.path,
    )


def wrap_for(plan: Plan, ground: Ground, sandbox: Sandbox) -> Wrap:
    """Puts the process of a plan into its sandbox. Refuses where none works."""

    def wrap(spec: SpawnSpec) -> Wrapped:
        # From where the configuration stands, not from where a session wants it to run.
        command = resolved_command(spec.argv[0], cwd=plan.place.origin, path=plan.path)
        return sandbox.wrap((command, *spec.argv[1:]), confinement_of(plan, ground), spec.env)

    return wrap


def _folders(written: tuple[str, ...], ground: Ground) -> tuple[str, ...]:
    return tuple(
        os.path.join(ground.workspace, expand_user(each, ground.user_home)) for each in written
    )
