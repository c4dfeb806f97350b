"""What every part of the service shares: its settings, its log, who calls, what goes on beside the answers."""
