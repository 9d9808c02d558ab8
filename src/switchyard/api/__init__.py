"""The tools, resources and prompts that a server offers, whichever server that is."""
