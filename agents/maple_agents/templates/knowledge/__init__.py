"""What is known of causes: `templates/knowledge/`, read and checked."""

from .entries import Entry, Meaning, Remedy
from .entries_in_force import anchors, entries, meanings, mistakes

__all__ = ["Entry", "Meaning", "Remedy", "anchors", "entries", "meanings", "mistakes"]
