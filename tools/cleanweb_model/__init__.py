"""The model of cleanweb's automatics, trained on texts from templates."""
