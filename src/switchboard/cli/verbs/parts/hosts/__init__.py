"""What `setup`, `import`, `install`, `uninstall` and `revert` are made of."""
