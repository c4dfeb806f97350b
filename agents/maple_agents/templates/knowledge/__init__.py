"""What is known of causes: `templates/knowledge/`, read and checked."""

from .entries import Entry, Family, Meaning, Remedy
from .entries_in_force import anchors, entries, meanings, mistakes

__all__ = ["Entry", "Family", "Meaning", "Remedy", "anchors", "entries", "meanings", "mistakes"]
