"""The way out of one process: its proxy, what the process is told of it, and its end."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from msgspec import Struct

from switchboard.core.channels.channel import Channel
from switchboard.core.events import EgressRefused
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.network.egress import EgressHost, shown_host
from switchboard.core.ports import Events
from switchboard.egress.allowed import AllowedHosts
from switchboard.egress.believed import certificates_in
from switchboard.egress.blackout import HiddenForms
from switchboard.egress.credentials import Credential, new_placeholder
from switchboard.egress.dialing import Dialer
from switchboard.egress.doors.door import Door
from switchboard.egress.doors.own_network import OwnNetworkDoor
from switchboard.egress.doors.shared_network import SharedNetworkDoor
from switchboard.egress.limits import LIMITS, EgressLimits
from switchboard.egress.proxy import ChildProxy, Noted
from switchboard.egress.record import EgressRecord
from switchboard.egress.refusals import Unreached
from switchboard.egress.resolving import HostResolver
from switchboard.egress.session_variables import SessionVariables
from switchboard.egress.variables import (
    AUTHORITY_FILE,
    BUNDLE_FILE,
    authority_variables,
    proxy_variables,
    shown_authorities,
)
from switchboard.procs.outlet import Outlet

# The values of what is injected now, by their references. Raises a fault.
LookUp = Callable[[], Awaitable[Mapping[str, str]]]
_MOST_TOLD = 5


class Questions(Protocol):
    """Asks a person about hosts that are not on the list."""

    async def ask(self, host: str, port: int) -> None:
        """Return once it may be reached. Raises an `EgressRefusal` that says why not."""
        ...

    async def aclose(self) -> None:
        """The process has ended: nothing that it asked waits any more."""
        ...

    # The call that the process works for, where that is plain.
    channel: Callable[[], Channel | None]


class _Refused(Struct, frozen=True):
    """What was refused, in words, and where its name leads if that was why."""

    says: str
    address: str = ""


class WayOutSpec(Struct, frozen=True, kw_only=True, eq=False):
    """Whose way out it is, and where it leads."""

    server: str
    hosts: tuple[EgressHost, ...]
    # Of the session: its own proxy, and whom it believes.
    variables: SessionVariables
    look_up: LookUp
    questions: Questions | None = None
    # Whether the process is on the network of the machine, and its sandbox opens one port of it.
    on_shared_network: bool = False
    limits: EgressLimits = LIMITS


def _door(spec: WayOutSpec) -> Door:
    return SharedNetworkDoor() if spec.on_shared_network else OwnNetworkDoor()


class ProxiedWayOut:
    """Made before the process starts, closed when it has ended."""

    def __init__(
        self, spec: WayOutSpec, resolver: HostResolver, record: EgressRecord, events: Events
    ) -> None:
        self._spec = spec
        self._record = record
        self._events = events
        self._door = _door(spec)
        self._refused: dict[tuple[str, int, str], _Refused] = {}
        self._hidden: dict[str, HiddenForms] = {}
        # By variable: what one stands for is decided at each host, by the reference there.
        self._placeholders = {
            each.variable: new_placeholder() for each in spec.hosts if each.inject
        }
        authority = None
        believed = {
            name: content
            for name, path in spec.variables.believed.items()
            if (content := certificates_in(path))
        }
        if any(each.is_inspected for each in spec.hosts):
            # Ciphers take a while to load, and most lists need none.
            from switchboard.egress.certificates import ChildAuthority, bundle  # noqa: PLC0415

            authority = ChildAuthority()
            # Hosts that nobody looks into are reached as ever, also behind a proxy that does.
            ours = b"".join((authority.pem, *dict.fromkeys(believed.values())))
            files = {AUTHORITY_FILE: ours, BUNDLE_FILE: bundle(ours, spec.variables.environ)}
            variables = authority_variables()
        else:
            files = {shown_authorities(name): content for name, content in believed.items()}
            variables = {name: shown_authorities(name) for name in believed}
        self.env: Mapping[str, str] = {
            **proxy_variables(spec.hosts, self._door),
            **variables,
            **self._placeholders,
        }
        allowed = AllowedHosts(spec.hosts)
        self._proxy = ChildProxy(
            allowed,
            Dialer(allowed, resolver, spec.variables, spec.limits),
            note=self._note,
            credential_of=self._credential_of,
            limits=spec.limits,
            authority=authority,
            ask=None if spec.questions is None else spec.questions.ask,
            password=self._door.password,
        )
        self.outlet = Outlet(
            handover=self._door.handover,
            port=self._door.port,
            files=files,
            refused=self.refused,
        )
        self._door.open(self._proxy.serve)

    async def _credential_of(self, rule: EgressHost) -> Credential | None:
        if not rule.inject:
            return None
        try:
            values = await self._spec.look_up()
        except Fault as fault:
            raise Unreached("credential", fault.message, rule.host, rule.port) from None
        value = values[rule.inject]
        hidden = self._hidden.get(rule.inject)
        if hidden is None or hidden.value != value:
            hidden = self._hidden[rule.inject] = HiddenForms(value)
        return Credential(self._placeholders[rule.variable], value, hidden)

    def _note(self, noted: Noted) -> None:
        server, meter = self._spec.server, noted.meter
        self._record.note(
            server,
            noted.host,
            noted.port,
            noted.outcome,
            why=noted.why,
            address=noted.address,
            times=noted.times,
            bytes_up=meter.up,
            bytes_down=meter.down,
        )
        key = (noted.host, noted.port, noted.why)
        if noted.outcome != "refused" or key in self._refused:
            return
        if len(self._refused) >= self._spec.limits.events:
            return
        self._refused[key] = _Refused(noted.says, noted.address)
        self._events.emit(
            EgressRefused(server=server, host=noted.host, port=noted.port, reason=noted.why)
        )

    def refused(self) -> Fault | None:
        """What was refused so far, as a fault; nothing where nothing was."""
        if not self._refused:
            return None
        refused = [(*key[:2], told) for key, told in self._refused.items() if key[0]][:_MOST_TOLD]
        named = [f"{host}:{port}" for host, port, _ in refused]
        # A name that leads into a network is on the list already; where it leads is not.
        missing = dict.fromkeys(
            shown_host(told.address or host, port) for host, port, told in refused
        )
        return Fault(
            FaultCode.PERMISSION_DENIED,
            "egress-refused",
            f"it was refused a connection: {next(iter(self._refused.values())).says}",
            # What could not be judged names no host.
            hint=(
                f"if it may reach it, add it to `egress` in your home: {', '.join(missing)}"
                if missing
                else ""
            ),
            details={"refused": named},
        )

    def attend(self, channel: Callable[[], Channel | None]) -> None:
        """The call that the process works for now is told where it waits for a person."""
        if self._spec.questions is not None:
            self._spec.questions.channel = channel

    async def aclose(self) -> None:
        """End every connection, and the proxy. Once is enough; twice does no harm."""
        await self._door.aclose()
        await self._proxy.aclose()
        if self._spec.questions is not None:
            await self._spec.questions.aclose()
