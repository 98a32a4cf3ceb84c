"""Attention in a replay: which calls are one, what their heads see, and whether a kernel gives what the formula gives."""
