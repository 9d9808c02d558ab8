"""What commands know of a team."""
