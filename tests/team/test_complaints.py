"""What is passed on of the complaints of DBOS."""

from switchboard.daemon.team.complaints import Complaints
from switchboard.postgres.address import DatabaseAddress


def test_the_first_line_of_each_kind_is_told_once_and_without_the_password() -> None:
    told: list[str] = []
    complain = Complaints(DatabaseAddress("postgresql://sb:canary@h/team"), told.append)
    for number in range(200):
        complain(f"Exception polling schedules: Traceback (most recent):\n  {number}")
        complain(f"Database connection failed for canary: refused, attempt {number}\nmore")
    assert told == [
        "Exception polling schedules",
        "Database connection failed for …: refused, attempt 0",
    ]
