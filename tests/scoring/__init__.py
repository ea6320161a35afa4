"""Tests of what calls, asks and scores, room by room."""
