"""Builders and the catalogue of message types."""
