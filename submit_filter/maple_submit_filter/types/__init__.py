"""The nouns: a span and an edit, a value, a submission, its script and settings, the launch plan, a finding."""
