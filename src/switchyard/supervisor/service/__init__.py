"""The life of one service under the supervisor, from its start to its end."""
