"""The hosts that we know, by what they are."""
