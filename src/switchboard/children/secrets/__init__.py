"""The secrets of servers: how they are named, and how they are looked up."""
