"""The lines of a script: directives, environment, launch line."""
