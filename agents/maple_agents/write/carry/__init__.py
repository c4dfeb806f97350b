"""A script of one cluster carried to another, or mended for its own: edits of spans, the user's lines kept."""
