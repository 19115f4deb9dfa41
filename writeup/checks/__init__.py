"""The rules, by what they look at; `writeup.check` runs them all."""
