"""What `init --import` makes of the files of other clients."""
