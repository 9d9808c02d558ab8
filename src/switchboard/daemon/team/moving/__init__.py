"""The state of a home as it goes into the database of a team, and back."""
