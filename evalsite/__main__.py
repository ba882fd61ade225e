"""`python -m evalsite` is the command `touchstone`."""

from evalsite.command_line import main

main()
