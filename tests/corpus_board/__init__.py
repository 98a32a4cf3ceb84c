"""Runs every program of `corpus/` under nanscope and compares what is found with the truth."""
