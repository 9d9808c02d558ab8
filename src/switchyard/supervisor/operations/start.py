"""Starting services of a branch: choosing, reserving, and letting them begin."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from switchkit.platform.ports import is_free
from switchkit.suggest import suggestion
from switchyard.config.graph import closure
from switchyard.config.shapes import Config, ServiceProfile
from switchyard.control.protocol import UpAnswer, UpRequest
from switchyard.core.fault import CONFLICT, USAGE, YardFault
from switchyard.project.configuration import check_service, config_for
from switchyard.project.outline import note_outline
from switchyard.project.scope import SHARED_BRANCH, SHARED_SLUG, Target
from switchyard.runtime.definition import has_changed
from switchyard.runtime.hooks import HookSite, run_hooks
from switchyard.runtime.launch import Planner, ServiceLaunch, target_of
from switchyard.runtime.log.hidden import note_hidden
from switchyard.runtime.observed import Observer
from switchyard.runtime.ports import PortTable
from switchyard.runtime.resolving import names_resolve
from switchyard.runtime.runs import RunRecord
from switchyard.supervisor.operations.awaiting import await_ready, await_started
from switchyard.supervisor.operations.checkout import repoint
from switchyard.supervisor.operations.peers import dependencies, end_earlier_run
from switchyard.supervisor.operations.renew import watch
from switchyard.supervisor.operations.stop import stop_run
from switchyard.supervisor.service.service_thread import ServiceThread
from switchyard.supervisor.yard import Emit, Yard

LONGEST_WAIT_S = 600.0


class StartPlan(NamedTuple):
    """What one `up` requests, with every name resolved."""

    config: Config
    target: Target
    profile: ServiceProfile | None
    asked: tuple[str, ...]
    order: tuple[str, ...]
    caller: Mapping[str, str]

    def key(self, name: str) -> tuple[str, str]:
        """The key under which the supervisor keeps the service."""
        return target_of(self.config.services[name], self.target, self.config.root).slug, name


def _plan(yard: Yard, request: UpRequest) -> StartPlan:
    target = yard.scope.target(request.branch)
    config = config_for(yard.scope, target)
    _check_place(yard, target)
    profile = _profile(config, request.profile)
    names = _wanted(config, request.services, profile)
    order = closure(config.services, names, profile.skip_depends if profile else ())
    caller = request.env
    if config.env.inherit == "login":
        from switchyard.supervisor.login import login_environment  # noqa: PLC0415

        caller = login_environment(caller)
    return StartPlan(config, target, profile, request.services, tuple(order), caller)


def _check_place(yard: Yard, target: Target) -> None:
    yard.scope.check_slug(target.branch)
    if not target.worktree.is_dir():
        raise YardFault(
            "no-folder", f"the worktree of `{target.branch}` is gone: {target.worktree}"
        )


def up(yard: Yard, request: UpRequest, emit: Emit) -> UpAnswer:
    """Start services and wait until they are ready. Raises `YardFault` when one is not."""
    plan = _plan(yard, request)
    known = yard.scope.registry.register(yard.scope.root, plan.config.name)
    plan = plan._replace(config=plan.config._replace(slug=known.slug))
    config, target, hooks = plan.config, plan.target, plan.config.hooks
    yard.context.max_log_bytes, yard.context.keep_logs = config.logs.max_bytes, config.logs.keep
    note_hidden(yard.scope.places, config.logs.redact)
    note_outline(yard.scope)
    site = HookSite(target, config, plan.caller)
    run_hooks(hooks.pre_up, site, yard.children.run, fatal=True)
    warnings: list[str] = []
    early = _provide(yard, plan, emit, request, warnings) if config.resources else set[str]()
    # Held only while services are chosen and their threads begin. It is free while this request
    # waits for them, so that another request can stop what this one waits for.
    with yard.holding(_slugs(yard, plan)):
        _clear_folder(yard, plan, recreate=request.recreate)
        outdated = _outdated(yard, plan)
        if request.recreate:
            for run in outdated:
                stop_run(yard, run, keeps_ports=True)
        _clear_removed(yard, plan, warnings, recreate=request.recreate)
        started = _start(yard, plan, warnings)
        repoint(yard, config.families, started)
        waited = [yard.threads[key] for key in started]
    if request.wait:
        rows = await_ready(yard, waited, emit, request.timeout_s or LONGEST_WAIT_S)
        run_hooks(hooks.post_ready, site, yard.children.run, fatal=False)
    else:
        await_started(yard, waited, emit)
        rows = yard.rows(started)
    return {
        "branch": target.branch,
        "worktree": str(target.worktree),
        "profile": plan.profile.name if plan.profile else None,
        "services": rows,
        "started": [key[1] for key, fresh in started.items() if fresh or key[1] in early],
        "already_running": [
            key[1] for key, fresh in started.items() if not fresh and key[1] not in early
        ],
        "warnings": [
            *filter(None, (yard.names_problem, yard.https_problem)),
            *([] if request.recreate else map(_told_old, outdated)),
            *warnings,
        ],
    }


def _provide(
    yard: Yard, plan: StartPlan, emit: Emit, request: UpRequest, warnings: list[str]
) -> set[str]:
    """Make the resources of the branch, and start their servers for it; which were started."""
    # Few projects have any.
    from switchyard.supervisor.operations.resources import (  # noqa: PLC0415
        make_resources,
        server_services,
    )

    servers = server_services(plan.config)
    if not set(plan.order) - servers:
        return set()
    first = plan._replace(order=tuple(closure(plan.config.services, sorted(servers))))
    with yard.holding(_slugs(yard, plan)):
        _clear_folder(yard, plan, recreate=request.recreate)
        started = _start(yard, first, warnings)
        waited = [yard.threads[key] for key in started]
    await_ready(yard, waited, emit, request.timeout_s or LONGEST_WAIT_S)
    make_resources(yard, plan.config, plan.target, plan.caller)
    return {name for (_, name), fresh in started.items() if fresh}


def _told_old(run: RunRecord) -> str:
    return (
        f"`{run.service}` runs as an older configuration said; "
        "`switchyard up --recreate` starts it again"
    )


def _outdated(yard: Yard, plan: StartPlan) -> list[RunRecord]:
    """What runs of the plan, and would be started as something else now."""
    runs = [
        yard.book.get(*plan.key(name)) for name in plan.order if yard.is_watched(plan.key(name))
    ]
    return [run for run in runs if run and has_changed(run, lambda: plan.config)]


def _slugs(yard: Yard, plan: StartPlan) -> set[str]:
    """The branches that a start is about: its own, the shared one, and others in its folder."""
    folder = str(plan.target.worktree)
    there = {run.branch_slug for run in yard.book.all() if run.worktree == folder}
    there |= {run.branch_slug for run in _removed(yard, plan)}
    return {plan.target.slug, *(plan.key(name)[0] for name in plan.order), *there}


def _clear_folder(yard: Yard, plan: StartPlan, *, recreate: bool) -> None:
    """Let no two branches run in one folder: what ran there before a `git switch` has to go first.

    Needs the branches of `_slugs`.
    """
    observer = Observer()
    here = [
        run
        for run in yard.book.all()
        if run.worktree == str(plan.target.worktree)
        and run.branch not in (plan.target.branch, SHARED_BRANCH)
        and observer.observe(run).status == "running"
    ]
    if here and not recreate:
        others = ", ".join(sorted({run.branch for run in here}))
        raise YardFault(
            "branch-switched",
            f"services of `{others}` run in {plan.target.worktree}, which now has "
            f"`{plan.target.branch}` checked out",
            hint="switchyard up --recreate, or switch back",
            exit_code=CONFLICT,
            details={"services": [f"{run.service} of {run.branch}" for run in here]},
        )
    for run in here:
        stop_run(yard, run)


def _clear_removed(yard: Yard, plan: StartPlan, warnings: list[str], *, recreate: bool) -> None:
    """Stop what runs of the branch and is in the configuration no more, or only tell of it.

    Needs the branches of `_slugs`.
    """
    observer = Observer()
    for run in _removed(yard, plan):
        if observer.observe(run).status != "running":
            continue
        told = f"`{run.service}` of `{run.branch}` is no longer in the configuration"
        if recreate and not plan.asked:
            stop_run(yard, run)
            warnings.append(f"{told}, and was stopped")
        else:
            warnings.append(f"{told}; `switchyard up --recreate` stops it")


def _removed(yard: Yard, plan: StartPlan) -> list[RunRecord]:
    """Runs of the branch, and of all branches together, that the configuration has no more.

    Where each branch has a file of its own, none of them speaks for what all share.
    """
    config = plan.config
    branches = {plan.target.branch}
    if config.source != "worktree":
        branches.add(SHARED_BRANCH)
    return [
        run
        for run in yard.book.all()
        if run.branch in branches
        and (run.service not in config.services or plan.key(run.service)[0] != run.branch_slug)
    ]


def _start(yard: Yard, plan: StartPlan, warnings: list[str]) -> dict[tuple[str, str], bool]:
    """Start what is not running yet; returns which services were started. Needs its branch."""
    config = plan.config
    keys = {name: plan.key(name) for name in plan.order}
    fresh = _fresh(yard, plan)
    for name in plan.order:
        if fresh[name]:
            end_earlier_run(yard, keys[name])
    ports = _reserve(yard, config, plan.target)
    has_names = any(one.has_port and one.protocol == "http" for one in config.services.values())
    if any(config.services[name].protocol == "http" for name in plan.order):
        yard.serve_names(config)
    planner = Planner(
        config,
        plan.target,
        yard.places,
        ports,
        profile=plan.profile,
        caller=plan.caller,
        named=yard.names_problem is None,
        resolves=not has_names or names_resolve(config.proxy.tld),
    )
    launches = {name: planner.launch(name) for name in plan.order if fresh[name]}
    warnings += planner.warnings
    for launch in launches.values():
        _check_canonical(launch)
    # Dependencies come first in this order, so each thread finds those of its peers.
    for name, launch in launches.items():
        peers = [
            (yard.threads[keys[peer]], condition)
            for peer, condition in config.services[name].depends_on.items()
            if peer in keys
        ]
        waits_for = dependencies(name, lambda peers=peers: peers)
        yard.threads[launch.key] = ServiceThread(launch, yard.context, waits_for=waits_for)
    watch(yard, launches.values())
    for launch in launches.values():
        yard.threads[launch.key].start()
    return {keys[name]: fresh[name] for name in plan.order}


def _fresh(yard: Yard, plan: StartPlan) -> dict[str, bool]:
    """Which services have to be started. A finished task runs again only for a new dependent."""
    services = plan.config.services
    fresh = {name: not yard.is_watched(plan.key(name)) for name in plan.order}
    new = [name for name in plan.order if fresh[name] and services[name].kind != "task"]
    needed = set(closure(services, new))
    for name in plan.order:
        thread = yard.threads.get(plan.key(name))
        done = bool(thread and thread.phase == "completed")
        if done and services[name].kind == "task":
            fresh[name] = name in needed or name in plan.asked
    return fresh


def _check_canonical(launch: ServiceLaunch) -> None:
    binds = launch.service.bind_canonical
    if binds and launch.port and not is_free(launch.port, strict=False):
        raise YardFault(
            "port-taken",
            f"`{launch.service.name}` binds {launch.port} itself, but another process is using it",
            exit_code=CONFLICT,
        )


def _reserve(yard: Yard, config: Config, target: Target) -> dict[tuple[str, str], int]:
    table = PortTable(yard.scope.home)
    made: dict[tuple[str, str], int] = {}
    for where, scope_name in ((target, "branch"), (_shared(config), "project")):
        names = [
            one.name for one in config.services.values() if one.has_port and one.scope == scope_name
        ]
        held = [name for name in names if yard.is_watched((where.slug, name))]
        if names:
            ports = table.reserve(config.root, where.branch, names, config.ports, held=held)
            made |= {(where.slug, name): port for name, port in ports.items()}
    for key, thread in list(yard.threads.items()):
        if thread.is_alive and thread.launch.port:
            made[key] = thread.launch.port
    return made


def _shared(config: Config) -> Target:
    return Target(SHARED_BRANCH, SHARED_SLUG, config.root)


def _profile(config: Config, name: str | None) -> ServiceProfile | None:
    chosen = name or config.default_profile
    if chosen is None:
        return None
    if chosen not in config.profiles:
        raise YardFault(
            "unknown-profile",
            f"unknown profile `{chosen}`; {suggestion(chosen, config.profiles)}",
            exit_code=USAGE,
        )
    return config.profiles[chosen]


def _wanted(config: Config, names: Iterable[str], profile: ServiceProfile | None) -> list[str]:
    """Requested names take precedence over the profile's list; its variables still apply."""
    asked = list(names)
    for name in asked:
        check_service(config, name)
    return asked or list(profile.services if profile else ()) or list(config.services)
