"""Why a service is not up: the commonest causes, from what the kernel says of its processes."""

from switchkit.platform import Unknown
from switchkit.platform.ports import addresses, holder, holds, listening
from switchyard.runtime.family import members
from switchyard.runtime.runs import RunRecord


def diagnose(run: RunRecord) -> str | None:
    """One sentence with the cause and what to write, if the cause is a known one."""
    if run.kin and run.exit_code == 0:
        pids = ", ".join(str(pid) for pid, _ in run.kin)
        return (
            f"it became a daemon: process {pids} goes on; have it stay in the foreground "
            "(such as `daemon off`, `--no-daemon`, `--nodaemonize`)"
        )
    if run.port is None or not run.pid:
        return None
    try:
        sockets = listening()
    except Unknown:
        return None
    pids = [one.pid for one in members(run.leader)]
    inodes = sockets.get(run.port, set())
    return _of_own_port(run, inodes, pids) if inodes else _of_other_ports(run, sockets, pids)


def _of_own_port(run: RunRecord, inodes: set[int], pids: list[int]) -> str | None:
    """Somebody listens on its port; maybe not the service, or not where it is looked for."""
    if not any(holds(pid, inodes) for pid in pids):
        found = holder(inodes)
        who = f"process {found.pid} ({found.command})" if found else "another process"
        return f"its port {run.port} is held by {who}, which is not ours"
    if run.host == "127.0.0.1" and _listens_on(run.port or 0) == {"::1"}:
        return f'it listens on [::1]:{run.port} only; add `host = "::1"`, or have it use {{host}}'
    return None


def _listens_on(port: int) -> set[str]:
    try:
        return addresses(port)
    except Unknown:
        return set()


def _of_other_ports(run: RunRecord, sockets: dict[int, set[int]], pids: list[int]) -> str | None:
    """Nobody listens on its port; maybe the service listens elsewhere."""
    others = sorted(p for p, there in sockets.items() if any(holds(pid, there) for pid in pids))
    if others:
        return (
            f"it listens on {', '.join(map(str, others))} instead of {run.port}; pass "
            "`{port}` in its command, or let it read the variable PORT"
        )
    return f"it runs, but listens on no port; its own is {run.port}" if pids else None
