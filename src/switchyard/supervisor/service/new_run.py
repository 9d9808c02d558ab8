"""The record of a run that is about to start, from its launch."""

import os
import time

from switchyard.runtime.family import boot_id
from switchyard.runtime.launch import ServiceLaunch
from switchyard.runtime.runs import RunRecord


def new_run(launch: ServiceLaunch, restarts: int) -> RunRecord:
    """What is known of a run before it has a process."""
    service = launch.service
    return RunRecord(
        run_id=os.urandom(8).hex(),
        service=service.name,
        branch=launch.target.branch,
        branch_slug=launch.target.slug,
        kind=service.kind,
        pid=0,
        ticks=0,
        boot_id=boot_id(),
        command=launch.command,
        root=str(launch.root),
        worktree=str(launch.target.worktree),
        host=service.host,
        port=launch.port,
        canonical_port=service.canonical_port,
        protocol=service.protocol,
        url=launch.url,
        log=str(launch.log),
        log_start=0,
        started_at=time.time(),
        profile=launch.profile,
        restarts=restarts,
        stop_signal=service.stop.signal,
        stop_grace_s=service.stop.grace_s,
        stop_command=launch.stop_command,
        definition=launch.definition,
        sources=launch.sources,
        source_stamps=launch.source_stamps,
        names_resolve=launch.names_resolve,
    )
