"""A program in a terminal of its own (tmux), as a person sees it and types into it."""

import asyncio
import shlex
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

_COLUMNS, _ROWS = 120, 45
_LOOK_AGAIN_S = 0.2


class Terminal:
    """The screen and the keys of one program."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]

    def start(self, command: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> None:
        words = [f"{name}={value}" for name, value in env.items()]
        line = shlex.join(["env", "-i", *words, "TERM=xterm-256color", *map(str, command)])
        size = ("-x", str(_COLUMNS), "-y", str(_ROWS))
        self._run("new-session", "-d", *size, "-c", str(cwd), line)
        self._run("set-option", "-g", "remain-on-exit", "on")

    @property
    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-S", "-200")

    def press(self, *keys: str) -> None:
        """Press keys by their names."""
        self._run("send-keys", *keys)

    async def enter(self, text: str) -> None:
        """Type a line."""
        self._run("send-keys", "-l", text)
        # Typed at once with its end, it would be taken for a paste.
        await asyncio.sleep(0.5)
        self.press("Enter")

    async def shows(self, *texts: str, patience: float = 60.0) -> str:
        """Wait until one of these is on the screen; gives which."""
        until = monotonic() + patience
        while monotonic() < until:
            screen = self.screen
            for text in texts:
                if text in screen:
                    return text
            await asyncio.sleep(_LOOK_AGAIN_S)
        raise AssertionError(f"none of {texts} within {patience:g} s on\n{self.screen}")

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True)
        return done.stdout


@contextmanager
def terminal() -> Generator[Terminal]:
    """A terminal that ends with the test, and whatever runs in it."""
    with TemporaryDirectory(prefix="tty-") as folder:
        found = Terminal(Path(folder) / "tmux")
        try:
            yield found
        finally:
            found.close()
