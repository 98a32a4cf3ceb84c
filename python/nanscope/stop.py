"""The exception that ends a watched run."""


class Stop(BaseException):
    """Raised through the training loop after a trip was diagnosed, so that the bad update never happens.

    A `BaseException`, so that a loop's own `except Exception` does not swallow it; `finally` blocks run.
    """
