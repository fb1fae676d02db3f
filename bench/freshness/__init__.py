"""Time from the download of a feed until a search finds its offers."""
