"""One gateway of a team: what it shares with the others, how it is served, what commands ask."""
