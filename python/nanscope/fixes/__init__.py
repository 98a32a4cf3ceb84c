"""Edits of the user's source, and their proof: the program is run with them."""
