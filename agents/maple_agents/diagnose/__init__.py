"""Why a job failed: its evidence found, its logs read, causes ranked, fixes checked."""
