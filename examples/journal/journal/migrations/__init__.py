"""How the tables came about."""
