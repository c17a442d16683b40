"""Mistakes of a program whose syntax is right: names, calls, labels, and what may be changed where.

Begin with `program_checking`.
"""
