"""Files of a clone that were made to take their readers minutes."""

from switchboard.config.documents import MAX_FOREIGN_BYTES

SIZE = MAX_FOREIGN_BYTES - 200


def _server(rest: str) -> str:
    return f'[mcp_servers.x]\ncommand = "a"\n{rest}'


def _args(items: str) -> str:
    return _server(f"args = [{items}]")


SLOW = {
    "a key of many parts": ".".join(["a"] * (SIZE // 2)) + " = 1",
    "quoted parts": ".".join(['"="'] * (SIZE // 4)) + " = 1",
    "a table of many parts": f"[{'.'.join(['a'] * (SIZE // 2))}]",
    "an inline key of many parts": f"x = {{{'.'.join(['a'] * (SIZE // 2))} = 1}}",
    "blanks": f'x = """\n[{" " * SIZE}\n"""',
    "unknown keys": "\n".join(f"k{number} = 1" for number in range(SIZE // 11)),
    "unknown keys of a server": _server(
        "\n".join(f"k{number} = 1" for number in range(SIZE // 11))
    ),
    "numbers": _args("1," * (SIZE // 2 - 50)),
    "numbers at the end": _args('"a",' * (SIZE // 4 - 300) + "1," * 400),
    "unknown members": _server(
        f"env = {{{','.join(f'k{number} = 1' for number in range(SIZE // 12))}}}"
    ),
    "tables": "\n".join(f"[t{number}]" for number in range(SIZE // 9)),
    "servers": "\n".join(f'[mcp_servers.t{n}]\ncommand = "a"' for n in range(SIZE // 40)),
    "items": "\n".join(["[[mcp_servers]]"] * (SIZE // 16)),
    "brackets": "x = " + "[" * (SIZE // 2) + "]" * (SIZE // 2),
}
