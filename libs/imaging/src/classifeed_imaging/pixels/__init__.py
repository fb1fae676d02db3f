"""Images made from decoded pictures: colours, sizes, formats, hashes and previews."""
