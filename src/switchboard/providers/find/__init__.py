"""Tools that find and call other tools, so that a client need not list all of them."""
