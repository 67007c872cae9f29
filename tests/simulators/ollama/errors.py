"""What a handler raises."""

from __future__ import annotations


class ApiError(Exception):
    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status, self.message = status, message


class Drop(Exception):
    """Cut the connection without finishing the response."""
