"""The user's program out, a mini-app in."""
