"""Slips: one mistake of a kind that a rule knows, put into right scripts in the ways people write it.

A rule may know a mistake and miss it all the same, because its gate asks for one way of writing. So each mistake is
written in several spellings, each spelling in lines of several shapes (`dressings.py`), and counted. Twins are
the same words where they do no harm, which must stay silent. `python -m tests.reality.slips [SEED [EACH [WORD]]]`.

A module `of_IDEA.py` holds the slips of one idea as data (`SLIPS`), and is found by its name. `forms.py` has the
ways of writing a variable and an option, `script.py` what a script's text says, where a slip asks if it breaks there.
"""
