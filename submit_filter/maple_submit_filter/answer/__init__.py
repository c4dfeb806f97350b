"""A decision, and how it is told: to the front, to the terminal, to who keeps it."""
