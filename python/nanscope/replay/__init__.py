"""Runs a recorded step again and writes the ledger of its operators."""
