"""What a command wants to know of servers, or has done to them."""
