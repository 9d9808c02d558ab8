"""Checkout and uncheckout: canonical ports pointed at a branch, and released."""

from collections.abc import Container
from typing import cast

from switchyard.control.protocol import (
    CheckoutAnswer,
    CheckoutRequest,
    CheckoutRow,
    UncheckoutAnswer,
    UncheckoutRequest,
)
from switchyard.core.fault import CONFLICT, YardFault
from switchyard.project.configuration import check_service, config_for
from switchyard.project.scope import SHARED_BRANCH, Target
from switchyard.runtime.checkouts import Checkout
from switchyard.runtime.launch import target_of
from switchyard.runtime.observed import Observer
from switchyard.supervisor.yard import Yard


def checkout(yard: Yard, request: CheckoutRequest) -> CheckoutAnswer:
    """Point the canonical ports at one branch; those of shared services at what all share."""
    target = yard.scope.target(request.branch)
    config = config_for(yard.scope, target)
    asked = request.services
    for name in asked:
        check_service(config, name)
    chosen: list[Checkout] = []
    observer = Observer()
    for service in config.services.values():
        if asked and service.name not in asked:
            continue
        place = target_of(service, target, config.root)
        run = yard.book.get(place.slug, service.name)
        running = bool(run and observer.observe(run).status == "running")
        if run and running and run.port and service.canonical_port and not service.bind_canonical:
            chosen.append(
                Checkout(
                    service.canonical_port,
                    service.name,
                    place.branch,
                    place.slug,
                    run.host,
                    run.port,
                )
            )
        elif service.name in asked:
            why = "is not running" if service.canonical_port else "has no canonical port"
            raise YardFault(
                "cannot-checkout",
                f"`{service.name}` {why} on `{target.branch}`",
                hint=f"switchyard up {target.branch}",
                exit_code=CONFLICT,
            )
    if not chosen:
        raise YardFault(
            "cannot-checkout",
            f"nothing with a canonical port runs on `{target.branch}`",
            hint=f"switchyard up {target.branch}",
            exit_code=CONFLICT,
        )
    _check_single(chosen)
    # No other request may open or close a port until all are open, or all are restored.
    with yard.lock:
        opened: list[tuple[Checkout, str]] = []
        try:
            opened.extend((one, yard.forwarders.open(one, config.families)) for one in chosen)
        except (YardFault, OSError):
            for one, how in opened:
                if how == "opened":
                    yard.forwarders.close(one.port)
            raise
    rows = [cast("CheckoutRow", {**one._asdict(), "result": how}) for one, how in opened]
    return {
        "branch": target.branch,
        "checkouts": rows,
        "warnings": [] if asked else [_told_other(one, target) for one in _others(yard, target)],
    }


def _others(yard: Yard, target: Target) -> list[Checkout]:
    """The ports that still lead to another branch."""
    return [
        one for one in yard.forwarders.all() if one.branch not in (target.branch, SHARED_BRANCH)
    ]


def _told_other(one: Checkout, target: Target) -> str:
    return (
        f"{one.port} still leads to `{one.service}` of `{one.branch}`: "
        f"it does not run on `{target.branch}`"
    )


def repoint(yard: Yard, families: tuple[str, ...], keys: Container[tuple[str, str]]) -> None:
    """Have the open canonical ports of these services lead to where they listen from now on."""
    with yard.lock:
        for one in yard.forwarders.all():
            key = one.branch_slug, one.service
            thread = yard.threads.get(key) if key in keys else None
            if thread is None:
                continue
            service, port = thread.launch.service, thread.launch.port
            if service.canonical_port != one.port or service.bind_canonical or not port:
                yard.forwarders.close(one.port)
            else:
                yard.forwarders.open(one._replace(host=service.host, target_port=port), families)


def _check_single(chosen: list[Checkout]) -> None:
    """Refuse two services that want one port: only one of them could have it."""
    wanted: dict[int, str] = {}
    for one in chosen:
        if one.port in wanted:
            raise YardFault(
                "port-wanted-twice",
                f"`{wanted[one.port]}` and `{one.service}` both have the canonical port {one.port}",
                hint=f"switchyard checkout {one.branch} {one.service}",
                exit_code=CONFLICT,
            )
        wanted[one.port] = one.service


def uncheckout(yard: Yard, request: UncheckoutRequest) -> UncheckoutAnswer:
    """Close canonical ports: those of one branch, or all."""
    branch, names = request
    with yard.lock:
        chosen = [
            one
            for one in yard.forwarders.all()
            if (branch is None or one.branch == branch) and (not names or one.service in names)
        ]
        for one in chosen:
            yard.forwarders.close(one.port)
        if not chosen:
            yard.forwarders.forget_lost()
    return {"closed": [cast("CheckoutRow", one._asdict()) for one in chosen]}
