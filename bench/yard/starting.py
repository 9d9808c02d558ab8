"""T1-T4, T15, T16: bringing ten services up and down, flat and in levels; the price of staying."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from stage import (
    SOCAT,
    Row,
    Stage,
    accepts,
    await_ports,
    clocked,
    end,
    free_port,
    header,
    middle,
    staged,
)

LEVELS = (4, 4, 2)
COUNT = Path(__file__).with_name("count.py")


def flat(count: int = 10) -> str:
    """Ten services that wait for nobody."""
    return "".join(f'[services.s{n}]\ncommand = "{SOCAT}"\nport = 0\n' for n in range(count))


def chain() -> str:
    """Ten services in three levels, each ready before the next begins."""
    text, before, number = "", [], 0
    for size in LEVELS:
        names = [f"s{number + n}" for n in range(size)]
        number += size
        for name in names:
            text += f'[services.{name}]\ncommand = "{SOCAT}"\nport = 0\n'
            text += f"depends_on = {before!r}\n"
        before = names
    return text


def spawn(ports: list[int]) -> list[subprocess.Popen[bytes]]:
    """Start the same program without anybody in between."""
    return [
        subprocess.Popen(SOCAT.format(port=port).split(), start_new_session=True) for port in ports
    ]


def raw_flat() -> float:
    ports = [free_port() for _ in range(10)]
    began = time.perf_counter()
    made = spawn(ports)
    await_ports(ports)
    took = (time.perf_counter() - began) * 1000
    end(made)
    return took


def raw_chain() -> float:
    began = time.perf_counter()
    made: list[subprocess.Popen[bytes]] = []
    for size in LEVELS:
        ports = [free_port() for _ in range(size)]
        made += spawn(ports)
        await_ports(ports)
    took = (time.perf_counter() - began) * 1000
    end(made)
    return took


def supervisor_of(stage: Stage) -> int:
    """The pid of the supervisor, from the process table."""
    home = f"SWITCHYARD_HOME={stage.env['SWITCHYARD_HOME']}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                if b"switchyard.supervisor" in words and home in (entry / "environ").read_bytes():
                    return int(entry.name)
            except OSError:
                continue
    raise RuntimeError("there is no supervisor")


def await_gone(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


def ours(config: str) -> tuple[float, float, float]:
    """Cold up, down, and up again with the supervisor there."""
    with staged(header() + config + '[services.stay]\ncommand = "sleep 1000"\n') as stage:
        names = [f"s{n}" for n in range(10)]
        cold = clocked(lambda: stage.sy("up", "-b", "default", *names))
        down = clocked(lambda: stage.sy("down", "-b", "default", *names))
        stage.sy("up", "-b", "default", "stay")
        warm = clocked(lambda: stage.sy("up", "-b", "default", *names))
        return cold, warm, down


def original(program: str) -> tuple[float, float]:
    """The original: its `up` does not wait, so ports are watched from outside."""
    ports = [free_port() for _ in range(10)]
    text = "".join(
        f'[services.s{n}]\ncommand = "{SOCAT}"\nport = {port}\n' for n, port in enumerate(ports)
    )
    with staged(header() + text) as stage:
        began = time.perf_counter()
        stage.run([program, "up"])
        await_ports(ports)
        took = (time.perf_counter() - began) * 1000
        down = clocked(lambda: stage.run([program, "down"]))
        for port in ports:
            while accepts(port):
                time.sleep(0.005)
        stage.run([program, "proxy", "stop"], check=False)
        return took, down


def honcho(program: str) -> tuple[float, float]:
    ports = [free_port() for _ in range(10)]
    with staged(header() + flat()) as stage:
        text = "".join(f"s{n}: exec {SOCAT.format(port=port)}\n" for n, port in enumerate(ports))
        (stage.root / "Procfile").write_text(text)
        began = time.perf_counter()
        made = subprocess.Popen(
            [program, "start"], cwd=stage.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        await_ports(ports)
        took = (time.perf_counter() - began) * 1000
        time.sleep(0.3)
        began = time.perf_counter()
        made.send_signal(signal.SIGTERM)
        made.wait(30)
        return took, (time.perf_counter() - began) * 1000


def mprocs(program: str) -> float:
    """Shows its processes at a terminal, which it therefore gets; it waits for nothing."""
    ports = [free_port() for _ in range(10)]
    with staged(header() + flat()) as stage:
        text = "procs:\n" + "".join(
            f"  s{n}:\n    shell: exec {SOCAT.format(port=port)}\n" for n, port in enumerate(ports)
        )
        (stage.root / "mprocs.yaml").write_text(text)
        ours, theirs = os.openpty()
        began = time.perf_counter()
        made = subprocess.Popen(
            [program],
            cwd=stage.root,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        reader = threading.Thread(target=drained, args=(ours,), daemon=True)
        reader.start()
        await_ports(ports)
        took = (time.perf_counter() - began) * 1000
        os.write(ours, b"q")
        made.wait(30)
        reader.join()
        os.close(ours)
        return took


def drained(terminal: int) -> None:
    """Read what a terminal shows, so that nobody waits for it."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


def staying() -> list[Row]:
    """What the supervisor costs while nothing happens, and what its death costs."""
    with staged(header() + flat()) as stage:
        stage.sy("up")
        pid = supervisor_of(stage)
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        resident = int(found[1]) / 1000 if found else 0.0

        def woken() -> int:
            text = "".join(
                (one / "status").read_text() for one in Path(f"/proc/{pid}/task").iterdir()
            )
            return sum(map(int, re.findall(r"\nvoluntary_ctxt_switches:\s+(\d+)", text)))

        time.sleep(0.5)
        before = woken()
        time.sleep(5.0)
        wakes = (woken() - before) / 5
    text = "".join(
        f'[services.c{n}]\ncommand = ["{sys.executable}", "-S", "-E", "{COUNT}"]\n'
        for n in range(10)
    )
    with staged(header() + text) as stage:
        stage.sy("up")
        pid = supervisor_of(stage)
        time.sleep(1.0)
        os.kill(pid, signal.SIGKILL)
        await_gone(pid)
        time.sleep(0.5)
        took = clocked(lambda: stage.sy("up"))
        alive = stage.sy("status", "--json").count('"running"')
        stage.sy("down")
        logs = list(Path(stage.env["SWITCHYARD_HOME"]).glob("projects/*/logs/*/*.log"))
        lost = lines = 0
        for log in logs:
            seen = [int(line.split()[1]) for line in log.read_text().splitlines()[:-1]]
            lines += len(seen)
            lost += sum(1 for at, number in enumerate(seen) if at != number)
    return [
        Row("supervisor idle with 10 services, resident", "switchyard", resident, "MB"),
        Row("supervisor idle with 10 services, wake-ups", "switchyard", wakes, "1/s"),
        Row("kill -9 of the supervisor: lost lines", "switchyard", lost, f"of {lines}"),
        Row("kill -9 of the supervisor: living services", "switchyard", alive, "of 10"),
        Row("kill -9 of the supervisor: next command", "switchyard", took, "ms"),
    ]


def rows(rounds: int, anchors: Path) -> list[Row]:
    """Everything about starting, interleaved."""
    seen: dict[tuple[str, str], list[float]] = {}

    def note(measure: str, contender: str, value: float) -> None:
        seen.setdefault((measure, contender), []).append(value)

    for _ in range(rounds):
        note("up 10 flat to ready", "raw spawn", raw_flat())
        cold, warm, down = ours(flat())
        note("up 10 flat to ready", "switchyard, cold", cold)
        note("up 10 flat to ready", "switchyard, supervisor there", warm)
        note("down 10", "switchyard", down)
        note("up 10 in 3 levels to ready", "raw critical path", raw_chain())
        cold, warm, _ = ours(chain())
        note("up 10 in 3 levels to ready", "switchyard, cold", cold)
        note("up 10 in 3 levels to ready", "switchyard, supervisor there", warm)
        if (anchors / "switchyard").exists():
            took, stopped = original(str(anchors / "switchyard"))
            note("up 10 flat to ready", "switchyard-dev 0.1.1", took)
            note("down 10", "switchyard-dev 0.1.1", stopped)
        if (anchors / "honcho").exists():
            took, stopped = honcho(str(anchors / "honcho"))
            note("up 10 flat to ready", "honcho", took)
            note("down 10", "honcho", stopped)
        if (anchors / "mprocs").exists():
            took = mprocs(str(anchors / "mprocs"))
            note("up 10 flat to ready", "mprocs", took)
    made = [Row(measure, who, middle(values), "ms") for (measure, who), values in seen.items()]
    return made + staying()
