"""What was verified here: its records, where they lie, and the mini-apps that they hold for."""
