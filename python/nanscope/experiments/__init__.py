"""One change, one replay, its outcome."""
