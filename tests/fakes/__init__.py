"""Small stand-ins for the ports of `core`, and short ways to make its values."""
