"""macOS: a limit can be set by its owner alone."""


def set_limit(pid: int, kind: int, limits: "tuple[int, int]") -> None:
    """A process keeps ours: code between fork and exec is not safe in a program with threads."""
    del pid, kind, limits


def lower_limit(pid: int, kind: int, most: int) -> None:
    del kind, most
    raise OSError(f"a limit of process {pid} cannot be set from outside")
