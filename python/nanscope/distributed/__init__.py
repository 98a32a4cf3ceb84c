"""Ranks: processes that train one model together, how they are watched, met and ended."""
