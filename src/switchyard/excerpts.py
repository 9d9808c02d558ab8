"""How many lines of a log are shown when nobody says, and at most."""

LINES = 80
MOST_LINES = 300
