"""What kind of job a submission is: of the script alone first, of the program's files next.

Each value has the place it was read from. Nothing is guessed: what is unknown is absent. No file is read by `analysis`; `files` reads as the user, within bounds.
"""
