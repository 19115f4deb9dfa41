"""`python -m writeup`."""

from writeup.cli import main

main()
