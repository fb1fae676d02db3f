"""One module for each command or group of commands, of the same name; each has `register(app)`, which main.py calls.

Only the module of the command that is called is imported, all of them for `--help`.
"""
