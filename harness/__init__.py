"""Measures subjects and records what it saw: gate, sample, record."""
