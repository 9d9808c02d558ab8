"""The variables that clients of models look up, for who has to bring them along or hide them."""

KEY_NAME = "ANTHROPIC_API_KEY"
URL_NAME = "ANTHROPIC_BASE_URL"
