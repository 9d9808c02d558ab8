"""Who is connected: with which environment, from which program, and with which children."""
