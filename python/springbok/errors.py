"""What Springbok raises: one sentence with the fix, never a Java stack trace."""

from __future__ import annotations


class SpringbokError(Exception):
    """Springbok cannot do what was asked; the message says why and what to do."""


class CheckFailed(SpringbokError):
    """A plan has what it must not have; the message has a sentence for each violation."""
