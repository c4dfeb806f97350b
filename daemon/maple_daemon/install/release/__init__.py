"""One release below the prefix: what it is made of, built, put in force, taken back."""
