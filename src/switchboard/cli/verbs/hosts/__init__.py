"""Verbs about the files of other hosts: what is taken over from them, and written into them."""
