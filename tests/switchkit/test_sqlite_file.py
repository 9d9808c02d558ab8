"""A file that several make at the same moment is made once, and nobody is turned away."""

import threading
from pathlib import Path

from switchkit.sqlite_file import SqliteFile

STEPS = ("CREATE TABLE notes (text TEXT) STRICT;\n",)
MAKERS = 8
# One round alone goes well nearly always.
ROUNDS = 60


def test_nobody_is_turned_away_while_another_makes_the_file(tmp_path: Path) -> None:
    refused: list[Exception] = []
    for number in range(ROUNDS):
        path = str(tmp_path / str(number) / "notes.db")
        together = threading.Barrier(MAKERS)

        def make(path: str = path, together: threading.Barrier = together) -> None:
            together.wait()
            try:
                file = SqliteFile(path, steps=STEPS, busy_s=20, failure=RuntimeError)
                file.change("INSERT INTO notes VALUES ('one')")
                file.close()
            except RuntimeError as error:
                refused.append(error)

        makers = [threading.Thread(target=make) for _ in range(MAKERS)]
        for each in makers:
            each.start()
        for each in makers:
            each.join()
        file = SqliteFile(path, steps=STEPS, busy_s=20, failure=RuntimeError)
        assert [row["count"] for row in file.rows("SELECT count(*) AS count FROM notes")] == [
            MAKERS
        ]
        file.close()
    assert refused == []
