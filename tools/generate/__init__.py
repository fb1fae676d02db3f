"""Files that are generated from other files of the repository; `make stubs` writes them."""
