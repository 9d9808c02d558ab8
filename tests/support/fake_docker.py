"""A fake `docker`: no engine, no image, no isolation.

It behaves as the documented one does where a server in a container is started, goes on and is
removed:

- `run` makes a container, attaches to it, passes SIGTERM on, and ends with its status;
- a container is no child of its client, and goes on when that is killed, with its input closed;
- its first process does not heed SIGTERM, unless there is `--init`;
- `ps -q --no-trunc` lists what runs, and `inspect` tells of it what the documented one does, as far
  as we read it; its only context is on this machine;
- a name is used once; `--rm` removes the container with its end; `ps -aq --filter label=…` lists
  those that run and those that do not; `rm -f` kills and removes.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.processes import alive

_PROGRAM = r'''
import datetime, json, os, select, signal, subprocess, sys
STATE = {state!r}
# What every image runs of which nobody says what to run: it heeds nothing.
DEFAULT = [sys.executable, "-c", "import signal\nwhile True: signal.pause()"]
words = sys.argv[1:]
if words[0] != "engine":
    with open(STATE + "/asked", "a") as log:
        log.write(json.dumps(words) + "\n")

def records():
    for name in sorted(os.listdir(STATE)):
        if name.endswith(".json"):
            try:
                with open(os.path.join(STATE, name)) as file:
                    yield json.load(file)
            except OSError:
                pass

def forget(number):
    try:
        os.unlink(f"{{STATE}}/{{number}}.json")
    except OSError:
        pass

def hold(record):
    """The engine's side of a container: the parent of its first process."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not record["init"]:
        before = None
    else:
        before = lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL)
    first = subprocess.Popen(record["command"], env=record["env"], preexec_fn=before)
    with open(f"{{STATE}}/{{record['id']}}.tmp", "w") as file:
        json.dump({{**record, "group": os.getpid(), "first": first.pid, "env": {{}}}}, file)
    os.rename(file.name, f"{{STATE}}/{{record['id']}}.json")
    os.write(record["told"], b"started\n")
    status = first.wait()
    if record["rm"]:
        forget(record["id"])
    os.write(record["told"], b"%d\n" % status)

def run(words):
    record = dict(id=os.urandom(32).hex(), name="", labels={{}}, rm=False, init=False, env={{}},
                  input=False, names=[], binds=[])
    record["made"] = datetime.datetime.now(datetime.UTC).isoformat()
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--name":
            record["name"] = words.pop(0)
        elif option == "--label":
            key, _, value = words.pop(0).partition("=")
            record["labels"][key] = value
        elif option == "-e":
            name = words.pop(0)
            record["env"][name] = os.environ.get(name, "")
            record["names"].append(name)
        elif option == "-v":
            record["binds"].append(words.pop(0).partition(":")[0])
        elif option == "--restart":
            words.pop(0)
        elif option in ("--rm", "--init"):
            record[option[2:]] = True
        elif option in ("-i", "--interactive"):
            record["input"] = True
        else:
            sys.exit(f"unknown flag: {{option}}")
    record["image"], record["command"] = words[0], words[1:] or DEFAULT
    if record["name"] and any(each["name"] == record["name"] for each in records()):
        sys.stderr.write("Conflict. The container name is already in use\n")
        sys.exit(125)
    told, telling = os.pipe()
    inside, to_inside = os.pipe()
    from_inside, outside = os.pipe()
    between = os.fork()
    if between == 0:
        if os.fork():
            os._exit(0)
        for each in (told, to_inside, from_inside):
            os.close(each)
        os.dup2(inside, 0)
        os.dup2(outside, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        # An engine does not look like its client.
        os.set_inheritable(telling, True)
        held = json.dumps({{**record, "told": telling}})
        os.execve(sys.executable, [sys.executable, "-IS", __file__, "engine"], {{"HELD": held}})
    os.waitpid(between, 0)
    for each in (telling, inside, outside):
        os.close(each)

    def pass_on(number, frame):
        for each in records():
            if each["id"] == record["id"] and each["init"]:
                os.kill(each["first"], number)

    signal.signal(signal.SIGTERM, pass_on)
    open_ones, last = {{0, from_inside, told}}, b""
    while told in open_ones:
        for each in select.select(list(open_ones), [], [])[0]:
            data = os.read(each, 65536)
            if not data:
                open_ones.discard(each)
                if each == 0:
                    os.close(to_inside)
            elif each == told:
                last += data
            else:
                os.write(to_inside if each == 0 else 1, data)
    ended = last.split()
    sys.exit(abs(int(ended[-1])) if len(ended) > 1 else 137)

if words[0] == "run":
    run(words[1:])
elif words[0] == "engine":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    hold(json.loads(os.environ["HELD"]))
elif words[:3] == ["ps", "-aq", "--filter"]:
    key, _, value = words[3].partition("=")[2].partition("=")
    for each in records():
        if key in each["labels"] and value in ("", each["labels"][key]):
            print(each["id"][:12])
elif words == ["ps", "--quiet", "--no-trunc"]:
    for each in records():
        print(each["id"])
elif words[:2] == ["context", "inspect"]:
    print("unix:///var/run/docker.sock")
elif words[:2] == ["image", "inspect"]:
    print(json.dumps(DEFAULT))
elif words[0] == "inspect":
    print(json.dumps([
        dict(
            Id=each["id"], Name="/" + each["name"], Created=each["made"], Image="sha256:1",
            State=dict(Pid=each["first"]), HostConfig=dict(AutoRemove=each["rm"]),
            Mounts=[dict(Source=bind) for bind in each["binds"]],
            Config=dict(
                Image=each["image"], Cmd=each["command"], OpenStdin=each["input"],
                Labels=each["labels"], Env=[name + "=x" for name in each["names"]],
            ),
        )
        for each in records() if each["id"] in words
    ]))
elif words[:2] == ["rm", "-f"]:
    for each in records():
        if each["name"] in words[2:] or any(each["id"].startswith(word) for word in words[2:]):
            try:
                os.killpg(each["group"], signal.SIGKILL)
            except OSError:
                pass
            forget(each["id"])
else:
    sys.exit(f"unknown command: {{words[0]}}")
'''


class FakeDocker:
    """The program, its containers, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "fake-bin"
        self._state = folder / "fake-engine"
        for each in (self.bin, self._state):
            each.mkdir()
        self.program = self.bin / "docker"
        start = f"#!{sys.executable} -IS\n"
        self.program.write_text(start + _PROGRAM.format(state=str(self._state)), "utf-8")
        self.program.chmod(0o755)

    @property
    def path(self) -> str:
        """A search path on which it comes first."""
        return os.pathsep.join((str(self.bin), os.environ["PATH"]))

    @property
    def containers(self) -> list[dict[str, Any]]:
        """Those that there are, running or not."""
        found: list[dict[str, Any]] = []
        for each in self._state.glob("*.json"):
            with suppress(FileNotFoundError):
                found.append(json.loads(each.read_text("utf-8")))
        return found

    @property
    def asked(self) -> list[list[str]]:
        """Every command line since the beginning."""
        log = self._state / "asked"
        return [*map(json.loads, log.read_text("utf-8").splitlines())] if log.exists() else []

    def starts(self) -> list[list[str]]:
        """Those that started a container."""
        return [each for each in self.asked if each[0] == "run"]

    def is_empty(self) -> bool:
        """Whether there is no container."""
        return not self.containers

    def close(self) -> None:
        """End what a test has left."""
        for each in self.containers:
            if alive(each["group"]):
                os.killpg(each["group"], signal.SIGKILL)
