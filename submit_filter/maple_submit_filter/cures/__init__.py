"""The edits that a rule may propose."""
