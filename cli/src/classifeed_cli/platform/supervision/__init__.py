"""The supervisor process, which starts, watches, describes and stops the units of an installation."""
