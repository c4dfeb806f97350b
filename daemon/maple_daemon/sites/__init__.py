"""The site this installation serves: its facts as the snapshot that the submit path reads."""
