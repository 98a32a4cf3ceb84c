"""One file per family of edits; every file here is a family."""
