"""What a user's jobs were: heard, read, put into versions, and kept."""
