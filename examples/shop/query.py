"""One query through psql. The variables PGHOST, PGPORT, PGUSER and PGDATABASE say where to."""

import subprocess


def query(sql: str, **values: str) -> list[list[str]]:
    """Run the statement; `:'name'` in it stands for a value, quoted by psql itself."""
    given = [word for key, one in values.items() for word in ("-v", f"{key}={one}")]
    asked = ["psql", "-X", "-q", "-t", "-A", "-F", "\t", "-v", "ON_ERROR_STOP=1", *given]
    done = subprocess.run(asked, input=sql, capture_output=True, text=True, check=True)  # noqa: S603 - psql, with values it quotes itself
    return [line.split("\t") for line in done.stdout.splitlines() if line]
