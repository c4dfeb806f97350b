"""The script played through: the shell, what small commands print, and what the scheduler grants."""
