"""Training of the model of cleanweb's automatic rules, on texts from templates."""
