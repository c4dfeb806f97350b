"""`maple mcp`: the commands as tools of a person's assistant."""
