"""Why a file cannot be changed."""


class UnfitFile(Exception):
    """The file is not what its host would read, or the change has no place in it."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
