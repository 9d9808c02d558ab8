"""Search over tools: words, an index of them, and what is told of the tools that were found.

Nothing but the standard library and without I/O: whoever searches brings the tools. It does not
know who offers them, nor who may see them.
"""
