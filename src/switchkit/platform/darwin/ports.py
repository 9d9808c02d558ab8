"""macOS: what is known of ports today."""

from switchkit.platform import Unknown


def listening() -> dict[int, set[int]]:
    raise Unknown("the system does not tell who listens")


def addresses(port: int) -> set[str]:
    raise Unknown(f"the system does not tell who listens on {port}")


def connected_user(port: int, to_port: int) -> int:
    raise Unknown(f"the system does not tell whose connection from {port} to {to_port} it is")


def holds(pid: int, sockets: set[int]) -> bool:
    del pid, sockets
    return False
