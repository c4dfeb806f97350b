"""Launchers. Each module says what its launcher starts; `*_options` say how it reads words."""
