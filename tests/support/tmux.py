"""A terminal of a chosen size in which a real program draws, and what a person sees in it."""

import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0
_LOOK_S = 0.1


class Pane:
    """One program in one terminal of a tmux server of its own."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    @property
    def screen(self) -> str:
        """What a person sees now, without blanks at the ends."""
        lines = [line.rstrip() for line in self.tmux("capture-pane", "-p").splitlines()]
        return "\n".join(lines).strip("\n")

    @property
    def bells(self) -> bool:
        """Whether the program has rung the bell since somebody last looked at its window."""
        return self.tmux("display-message", "-p", "#{window_bell_flag}").strip() == "1"

    def type(self, *texts: str) -> None:
        """Type these, each by itself, one right after the other."""
        words = [word for text in texts for word in (";", "send-keys", "-l", text)]
        self.tmux(*words[1:])

    def type_until_shown(self, text: str, times: int = 5) -> None:
        """Type a text until it shows: a program that is still starting may drop it."""
        for left in reversed(range(times)):
            self.type(text)
            try:
                self.until_shown(text, PATIENCE / times if left else PATIENCE)
            except AssertionError:
                if not left:
                    raise
            else:
                return

    def press(self, *keys: str) -> None:
        """Press keys by their names: `Enter`, `Down`."""
        for key in keys:
            self.tmux("send-keys", key)

    def until(self, fact: Callable[[str], bool], patience: float = PATIENCE) -> str:
        """Wait until the screen is as wanted, and give it."""
        ends = time.monotonic() + patience
        while not fact(shown := self.screen):
            assert time.monotonic() < ends, shown
            time.sleep(_LOOK_S)
        return shown

    def until_ended(self) -> None:
        """Wait until the program has let go of its terminal.

        On a busy machine tmux may miss the end of a process, and then says nothing on the screen.
        """
        is_dead = ("list-panes", "-F", "#{pane_dead}")
        self.until(lambda _: self.tmux(*is_dead).strip() == "1")

    def press_until(self, key: str, text: str, times: int = 5) -> str:
        """Press a key until it shows: a program that is drawing may drop one."""
        return self.press_until_true(key, lambda screen: text in screen, times)

    def press_until_changed(self, key: str, before: str, times: int = 12) -> str:
        """Press a key until something else is on the screen."""
        return self.press_until_true(key, lambda screen: screen != before, times)

    def press_until_true(self, key: str, fact: Callable[[str], bool], times: int = 5) -> str:
        for _ in range(times - 1):
            self.press(key)
            try:
                return self.until(fact, PATIENCE / times)
            except AssertionError:
                continue
        self.press(key)
        return self.until(fact)

    def until_shown(self, text: str, patience: float = PATIENCE) -> str:
        return self.until(lambda screen: text in screen, patience)


@contextmanager
def pane(
    command: Sequence[str | Path],
    socket: Path,
    *,
    cwd: Path,
    env: Mapping[str, str],
    size: tuple[int, int] = (80, 24),
) -> Generator[Pane]:
    """Run a program in a terminal of so many columns and rows, until the block ends."""
    columns, rows = map(str, size)
    # Nothing of the machine's own: neither its variables nor its settings of tmux.
    variables = [f"{key}={value}" for key, value in {"TERM": "tmux-256color", **env}.items()]
    subprocess.run(
        [
            *("tmux", "-f", "/dev/null", "-S", str(socket), "new-session", "-d"),
            *("-x", columns, "-y", rows, "-c", str(cwd), "env", "-i", *variables),
            *map(str, command),
        ],
        check=True,
        capture_output=True,
    )
    shown = Pane(socket)
    try:
        shown.tmux("set-option", "-g", "remain-on-exit", "on")
        yield shown
    finally:
        shown.tmux("kill-server")
