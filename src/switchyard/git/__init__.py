"""Git: what its files say, and what its command line tool answers."""
