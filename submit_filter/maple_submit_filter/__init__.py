"""What Maple decides on a submit host. Standard library only; runs on Python 3.9 and later."""

__version__ = "0.1.0"
