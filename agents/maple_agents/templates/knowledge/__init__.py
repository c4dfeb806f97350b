"""What is known of causes: `templates/knowledge/`, read and checked."""

from .entries import Entry, Family, Remedy
from .entries_in_force import anchors, entries, mistakes

__all__ = ["Entry", "Family", "Remedy", "anchors", "entries", "mistakes"]
