"""What is known of causes: `templates/knowledge/`, read and checked."""

from .entries import Entry, Family, Remedy
from .loading import anchors, entries, mistakes

__all__ = ["Entry", "Family", "Remedy", "anchors", "entries", "mistakes"]
