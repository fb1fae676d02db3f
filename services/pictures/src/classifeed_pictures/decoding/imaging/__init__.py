"""Images made of decoded pictures: colours, sizes, formats, hashes and previews."""
