"""What a buyer finds first: labelled queries over real feeds."""
