"""What the boards of one daemon share, and with whom."""
