"""Where the key comes from that opens the vault file."""
