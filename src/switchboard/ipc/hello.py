"""The one line that a client begins with, written without loading `json`."""

from _json import encode_basestring_ascii as quoted

from switchboard.ipc.protocol import ABI, MAGIC


def hello_line(
    kind: str,
    *,
    home: str,
    cwd: str = "",
    workspace: str = "",
    config: str = "",
    environ: "dict[str, str] | None" = None,
    abi: str = ABI,
    **more: str,
) -> bytes:
    """A hello of this kind. Paths are as given; the daemon knows the rules for them.

    What else is given is said only where there is something to say.
    """
    members = (
        ("magic", quoted(MAGIC)),
        ("abi", quoted(abi)),
        ("kind", quoted(kind)),
        ("home", quoted(home)),
        ("cwd", quoted(cwd)),
        ("workspace", quoted(workspace)),
        ("config", quoted(config)),
        ("environ", object_text(environ or {})),
        *((name, quoted(text)) for name, text in more.items() if text),
    )
    inside = ",".join(f'"{name}":{text}' for name, text in members)
    return f"{{{inside}}}\n".encode("ascii")


def object_text(values: "dict[str, str]") -> str:
    """A JSON object of strings; bytes that are no UTF-8 travel as lone surrogates."""
    return "{" + ",".join(f"{quoted(name)}:{quoted(text)}" for name, text in values.items()) + "}"
