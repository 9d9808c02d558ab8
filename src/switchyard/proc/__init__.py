"""The processes of a run: who belongs to it, and how it is stopped."""
