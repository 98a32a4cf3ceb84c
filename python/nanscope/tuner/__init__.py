"""`nanscope checkpoint`: what checkpointing which blocks would cost in memory and time, measured on one step."""
