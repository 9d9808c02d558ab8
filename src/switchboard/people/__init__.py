"""People of a team: who they are, by tokens of their issuer. Loaded where one is configured."""
