"""A real tokenizer, to judge what is estimated elsewhere."""

import warnings

with warnings.catch_warnings():
    # It opens its own vocabulary in a way that Python would have otherwise.
    warnings.simplefilter("ignore", DeprecationWarning)
    from bpe_openai import get_encoding


def tokens(text: str) -> int:
    """Count what a model of today reads."""
    return len(get_encoding("o200k_base").encode_ordinary(text))
