"""`python -m classifeed_jobs` is `classifeed-jobs`."""

from classifeed_jobs.command import main

main()
