"""Every pattern of the sources, texts that are hard for it, and how its cost grows with them."""
