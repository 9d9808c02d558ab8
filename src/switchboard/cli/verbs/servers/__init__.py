"""The verbs that are about one server, or all of them."""
