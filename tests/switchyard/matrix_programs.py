"""Rows of the matrix with real programs, which write over their variables or become daemons."""

import json
import os
import random
import signal
import sys
from pathlib import Path

from matrix_case import READY, Case, Expected, end
from yardlab import Json, Lab, at_work, is_alive, suspend, wait_for

BIN = Path(sys.executable).parent


def _workers_left(lab: Lab, web: Json, chance: random.Random) -> Expected:
    """The master is killed; its two workers keep the port under other titles."""
    workers: set[int] = wait_for(
        lambda: len(found := at_work(lab.worktree()) - {web["pid"]}) == 2 and found
    )
    suspend(workers)  # or some notice that their master is gone, and end
    if chance.random() < 0.5:
        lab.kill_supervisor()
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(web["pid"]))
    wait_for(lambda: lab.web()["phase"] == "orphaned")
    assert set(lab.web()["pids"]) == workers
    return Expected("stale", ("orphaned",), "leader-gone")


def _became_daemon(lab: Lab, _: Json, chance: random.Random) -> Expected:
    """The first process is gone on purpose; a master with two workers goes on somewhere else."""
    wait_for(lambda: len(at_work(lab.worktree())) == 3)
    wait_for(lambda: set(lab.web().get("pids", ())) == at_work(lab.worktree()))
    if chance.random() < 0.5 and (supervisor := lab.supervisor()):
        end(supervisor)
    return Expected("stale", ("orphaned",), "leader-gone")


def _variables_hidden(lab: Lab, web: Json, _: random.Random) -> Expected:
    """It wrote over its variables, was adopted, and dies: it starts again with all of them."""
    wait_for(lambda: b"SWITCHYARD_PORT" not in Path(f"/proc/{web['pid']}/environ").read_bytes())
    lab.kill_supervisor()
    lab.json("up", lab.branch)
    os.kill(web["pid"], signal.SIGKILL)
    wait_for(
        lambda: (found := lab.web())["phase"] == "ready" and found["pid"] not in (None, web["pid"])
    )
    assert lab.web()["port"] == web["port"]
    return READY


def _command(*words: str) -> str:
    return json.dumps(words)


def _config(command: str, *more: str) -> str:
    lines = ("[services.web]", f"command = {command}", *more, 'stop = { grace = "300ms" }')
    return "".join(f"{line}\n" for line in lines)


_NGINX = (
    "printf 'daemon off; worker_processes 2; pid n.pid; error_log stderr; events {} "
    "http { access_log off; server { listen 127.0.0.1:%s; } }' $PORT > $SWITCHYARD_HOME/n.conf; "
    "exec nginx -p $SWITCHYARD_HOME/ -c $SWITCHYARD_HOME/n.conf"
).replace("{", "{{")
NGINX = _command("/bin/sh", "-c", _NGINX.replace("}", "}}"))
_APP = (
    'printf \'def app(e, s):\\n s("200 OK", [])\\n return [b"hello"]\\n\' '
    "> $SWITCHYARD_HOME/app.py; "
    f"exec {BIN}/gunicorn -b $HOST:$PORT -w 2 --pythonpath $SWITCHYARD_HOME app:app"
)
_TASKS = (
    "printf 'from celery import Celery\\napp = Celery(broker=\"memory://\")\\n' "
    "> $SWITCHYARD_HOME/tasks.py; export PYTHONPATH=$SWITCHYARD_HOME PYTHONDONTWRITEBYTECODE=1; "
    f"exec {BIN}/celery -A tasks worker -c 2 --detach "
    "--pidfile $SWITCHYARD_HOME/c.pid --logfile $SWITCHYARD_HOME/c.log"
)
_RACK = (
    "printf 'run lambda {{ |env| [200, {{}}, [\"hello\"]] }}' > $SWITCHYARD_HOME/config.ru; "
    "exec puma -b tcp://$HOST:$PORT -w 2 $SWITCHYARD_HOME/config.ru"
)
REDIS = _command("/bin/sh", "-c", "exec redis-server --port $PORT --save ''")
PROGRAM_CASES: dict[str, Case] = {
    "nginx-workers-left": Case(_workers_left, _config(NGINX, "port = 0")),
    "gunicorn-workers-left": Case(
        _workers_left, _config(_command("/bin/sh", "-c", _APP), "port = 0")
    ),
    "puma-workers-left": Case(
        _workers_left,
        _config(_command("/bin/sh", "-c", _RACK), "port = 0", 'ready = { http = "/" }'),
    ),
    "gunicorn-daemon": Case(
        _became_daemon,
        _config(_command("/bin/sh", "-c", f"{_APP} --daemon"), "port = 0"),
        waits=False,
    ),
    "celery-daemon": Case(_became_daemon, _config(_command("/bin/sh", "-c", _TASKS)), waits=False),
    "redis-variables-hidden": Case(
        _variables_hidden,
        _config(
            REDIS,
            "port = 0",
            'protocol = "tcp"',
            'restart = { policy = "always", backoff = "10ms" }',
        ),
    ),
}
