"""Modules of commands and command groups, with the same names. main.py calls `register(app)` of each module.

Only the module of the called command is imported; `--help` imports all modules.
"""
