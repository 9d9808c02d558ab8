"""A real tokenizer that works without a network: its vocabulary lies in the package."""

from bpe_openai import get_encoding


def count_tokens(text: str, encoding: str) -> int:
    """How many tokens a model of this encoding reads."""
    return len(get_encoding(encoding).encode_ordinary(text))
