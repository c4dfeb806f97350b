"""A script as byte spans: its nodes, how they are read, and what bash itself says of a script."""
