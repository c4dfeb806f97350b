"""A request as words: what is read of any text before it means anything."""
