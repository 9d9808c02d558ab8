"""What the records say of how tools are used."""
