"""Which job a submission became, and how it ended."""
