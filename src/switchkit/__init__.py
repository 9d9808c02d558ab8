"""What Switchboard and Switchyard are both built on: standard library only, no product in it."""
