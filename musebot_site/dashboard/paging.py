"""How long a page of a list is."""

PAGE_SIZE = 30
"""Rows. Long enough to read, and a page with long names and texts stays under 60 kB and 50 ms."""
