"""The files of pictures: downloaded, checked, stored, copied, resized, read."""
