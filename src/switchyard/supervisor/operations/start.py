"""Starting services of a branch: choosing, reserving, waiting, and saying what went wrong."""

import importlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from switchkit.suggest import suggestion
from switchyard.config.graph import closure
from switchyard.config.shapes import Config, Profile
from switchyard.core.fault import CONFLICT, NOT_READY, USAGE, Fault
from switchyard.proc.port_probe import is_bindable
from switchyard.project.configuration import check_service, config_for
from switchyard.project.scope import SHARED_BRANCH, SHARED_SLUG, Target
from switchyard.runtime.hooks import HookSite, run_hooks
from switchyard.runtime.launch import Launch, Planner, target_of
from switchyard.runtime.logs import Sift, tail
from switchyard.runtime.ports import PortTable
from switchyard.supervisor.service_thread import BAD, SETTLED, STOP_SLACK_S, Keeper, end_run
from switchyard.supervisor.yard import Emit, Yard


class Wish(NamedTuple):
    """What one `up` asks for, with everything looked up."""

    config: Config
    target: Target
    profile: Profile | None
    asked: tuple[str, ...]
    order: tuple[str, ...]
    caller: Mapping[str, str]

    def key(self, name: str) -> tuple[str, str]:
        """What the supervisor knows the service by."""
        return target_of(self.config.services[name], self.target, self.config.root).slug, name


def _wish(yard: Yard, request: Mapping[str, Any]) -> Wish:
    target = yard.scope.target(request.get("branch"))
    config = config_for(yard.scope, target)
    _check_place(yard, target)
    profile = _profile(config, request.get("profile"))
    asked = tuple[str, ...](request.get("services") or ())
    names = _wanted(config, asked, profile)
    order = closure(config.services, names, profile.skip_depends if profile else ())
    caller: Mapping[str, str] = request.get("env") or {}
    if config.env.inherit == "login":
        login = importlib.import_module("switchyard.supervisor.login")
        caller = login.login_environment(caller)
    return Wish(config, target, profile, asked, tuple(order), caller)


def _check_place(yard: Yard, target: Target) -> None:
    for one in yard.scope.targets():
        if one.slug == target.slug and one.branch != target.branch:
            raise Fault(
                "slug-taken",
                f"`{target.branch}` and `{one.branch}` have the same short name `{one.slug}`",
                hint="rename one of the branches",
                exit_code=CONFLICT,
            )
    if not target.worktree.is_dir():
        raise Fault("no-folder", f"the worktree of `{target.branch}` is gone: {target.worktree}")


def up(yard: Yard, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Start services and wait until they are ready. Raises `Fault` when one is not."""
    wish = _wish(yard, request)
    config, target, hooks = wish.config, wish.target, wish.config.hooks
    yard.board.max_log_bytes, yard.board.keep_logs = config.logs.max_bytes, config.logs.keep
    yard.scope.registry.register(yard.scope.root, config.name)
    site = HookSite(target, config, wish.caller)
    run_hooks(hooks.pre_up, site, yard.children.run, fatal=True)
    with yard.lock:
        started = _start(yard, wish)
        waited = [yard.keepers[key] for key in started]
    if request.get("wait", True):
        _await(yard, waited, emit, float(request.get("timeout_s") or 600.0))
        run_hooks(hooks.post_ready, site, yard.children.run, fatal=False)
    else:
        _await_started(yard, waited, emit)
    return {
        "branch": target.branch,
        "worktree": str(target.worktree),
        "profile": wish.profile.name if wish.profile else None,
        "services": yard.views(key for key in started),
        "started": [key[1] for key, fresh in started.items() if fresh],
        "already_running": [key[1] for key, fresh in started.items() if not fresh],
        "warnings": [yard.names_problem] if yard.names_problem else [],
    }


def _start(yard: Yard, wish: Wish) -> dict[tuple[str, str], bool]:
    config = wish.config
    keys = {name: wish.key(name) for name in wish.order}
    fresh = _fresh(yard, wish)
    for name in wish.order:
        if fresh[name]:
            _clear(yard, keys[name])
    ports = _reserve(yard, config, wish.target)
    if any(config.services[name].protocol == "http" for name in wish.order):
        yard.serve_names(config)
    planner = Planner(
        config,
        wish.target,
        yard.places,
        ports,
        profile=wish.profile,
        caller=wish.caller,
        named=yard.names_problem is None,
    )
    launches = {name: planner.launch(name) for name in wish.order if fresh[name]}
    for launch in launches.values():
        _check_canonical(launch)
    for name, launch in launches.items():
        peers = {
            keys[peer]: condition
            for peer, condition in config.services[name].depends_on.items()
            if peer in keys
        }
        yard.keepers[launch.key] = Keeper(launch, yard.board, waits_for=_gate(yard, name, peers))
    for launch in launches.values():
        yard.keepers[launch.key].start()
    return {keys[name]: fresh[name] for name in wish.order}


def _fresh(yard: Yard, wish: Wish) -> dict[str, bool]:
    """Which services have to be started. A task that is done runs again only for somebody new."""
    services = wish.config.services
    fresh = {name: not yard.is_kept(wish.key(name)) for name in wish.order}
    new = [name for name in wish.order if fresh[name] and services[name].kind != "task"]
    needed = set(closure(services, new))
    for name in wish.order:
        keeper = yard.keepers.get(wish.key(name))
        done = bool(keeper and keeper.phase == "completed")
        if done and services[name].kind == "task":
            fresh[name] = name in needed or name in wish.asked
    return fresh


def _clear(yard: Yard, key: tuple[str, str]) -> None:
    """Nothing of an earlier run may be left when a new one starts."""
    old = yard.keepers.get(key)
    if old and not old.has_ended:
        old.join(old.launch.service.stop.grace_s + STOP_SLACK_S)
    run = yard.book.get(*key)
    if run:
        end_run(run, yard.children)


def _check_canonical(launch: Launch) -> None:
    binds = launch.service.bind_canonical
    if binds and launch.port and not is_bindable(launch.port, strict=False):
        raise Fault(
            "port-taken",
            f"`{launch.service.name}` binds {launch.port} itself, and somebody holds it",
            exit_code=CONFLICT,
        )


def _gate(yard: Yard, name: str, peers: Mapping[tuple[str, str], str]) -> Callable[[], str | None]:
    """Says nothing while a dependency is awaited, "" when all are there, else what is wrong."""

    def waits() -> str | None:
        for key, condition in peers.items():
            keeper = yard.keepers[key]
            phase = keeper.phase
            if phase in BAD and not (phase == "exited" and condition == "started"):
                return f"`{name}` needs `{key[1]}`, which is {phase}"
            reached = ("ready", "completed", "unhealthy")
            if condition == "started":
                reached = (*reached, "starting", "late")
            elif condition == "completed":
                reached = ("completed",)
            if phase not in reached:
                return None
        return ""

    return waits


def _reserve(yard: Yard, config: Config, target: Target) -> dict[tuple[str, str], int]:
    table = PortTable(yard.scope.home)
    made: dict[tuple[str, str], int] = {}
    for where, scope_name in ((target, "branch"), (_shared(config), "project")):
        names = [
            one.name for one in config.services.values() if one.has_port and one.scope == scope_name
        ]
        held = [name for name in names if yard.is_kept((where.slug, name))]
        if names:
            ports = table.reserve(config.root, where.branch, names, config.ports, held=held)
            made |= {(where.slug, name): port for name, port in ports.items()}
    for key, keeper in yard.keepers.items():
        if keeper.is_alive and keeper.launch.port:
            made[key] = keeper.launch.port
    return made


def _await_started(yard: Yard, keepers: list[Keeper], emit: Emit) -> None:
    with yard.board.changed:
        until = time.monotonic() + 2.0
        while any(one.phase == "waiting" and not one.has_ended for one in keepers):
            if time.monotonic() > until:
                break
            yard.board.changed.wait(0.05)
    emit({"event": "started"})


def _await(yard: Yard, keepers: list[Keeper], emit: Emit, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    told: dict[tuple[str, str], str] = {}
    with yard.board.changed:
        while True:
            news = [one for one in keepers if told.get(one.launch.key) != one.phase]
            for one in news:
                told[one.launch.key] = one.phase
                emit(
                    {
                        "event": "phase",
                        "service": one.launch.service.name,
                        "phase": one.phase,
                        "waits_for": list(one.launch.service.depends_on),
                    }
                )
            waiting = [one for one in keepers if one.phase not in SETTLED]
            left = until - time.monotonic()
            if not waiting or left <= 0:
                break
            yard.board.changed.wait(left)
    failed = [one for one in keepers if one.phase in BAD or one.phase not in SETTLED]
    if failed:
        raise _not_up(yard, failed)


def _not_up(yard: Yard, failed: list[Keeper]) -> Fault:
    culprit = next((one for one in failed if one.phase != "blocked"), failed[0])
    late = all(one.phase in ("late", "blocked", "starting", "waiting") for one in failed)
    start = culprit.run.log_start if culprit.run else 0
    lines = tail(culprit.launch.log, 20, Sift(), start=start)
    name = culprit.launch.service.name
    told = culprit.reason or culprit.phase
    return Fault(
        "not-ready" if late else "service-failed",
        f"`{name}` is {'not ready in time' if late else culprit.phase} ({told})",
        hint=f"switchyard logs {name}",
        exit_code=NOT_READY if late else 1,
        details={
            "service": name,
            "log_path": str(culprit.launch.log),
            "log_tail": lines,
            "services": yard.views(one.launch.key for one in failed),
        },
    )


def _shared(config: Config) -> Target:
    return Target(SHARED_BRANCH, SHARED_SLUG, config.root)


def _profile(config: Config, name: str | None) -> Profile | None:
    chosen = name or config.default_profile
    if chosen is None:
        return None
    if chosen not in config.profiles:
        raise Fault(
            "unknown-profile",
            f"unknown profile `{chosen}`; {suggestion(chosen, config.profiles)}",
            exit_code=USAGE,
        )
    return config.profiles[chosen]


def _wanted(config: Config, names: Iterable[str], profile: Profile | None) -> list[str]:
    """Names asked for win over the profile's list; its variables still apply."""
    asked = list(names)
    for name in asked:
        check_service(config, name)
    return asked or list(profile.services if profile else ()) or list(config.services)
