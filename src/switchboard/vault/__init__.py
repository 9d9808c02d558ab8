"""Secrets, kept encrypted under references: the engines behind `core.stores.VaultStore`."""
