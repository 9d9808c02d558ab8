"""The tools, resources and prompts that any server of the yard offers."""
