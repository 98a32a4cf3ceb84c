"""The whole program once more, in a process of its own, from the state it began in."""
