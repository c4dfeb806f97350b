"""What kind of job a submission is: of the script alone first, of the program's files next.

Each value has the place it was read from. Nothing is guessed: what is unknown is absent.
`analysis` reads no file; `files` reads as the user, within bounds, and runs and imports nothing of what it reads.
"""
