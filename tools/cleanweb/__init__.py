"""Data of cleanweb's automatic rules: the file of rules, and the training of the model."""
