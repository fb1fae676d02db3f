"""Write the generated files that are not up to date (`make stubs`); `--check` lists them.

The stubs of libs/contracts have their own command, `python -m tools.generate.stubs`.
"""

from __future__ import annotations

import sys
from itertools import chain

from tools import import_contracts
from tools.cleanweb import rules
from tools.generate import dockerfiles, sql, sync_client
from tools.generate.charts import dashboards, readmes, schemas, suite
from tools.generate.files import write_or_check

_GENERATORS = (sql, schemas, suite, dockerfiles, import_contracts, readmes, dashboards, sync_client, rules)


def main() -> int:
    """Run the command line; return the exit code."""
    files = chain.from_iterable(generator.list_files() for generator in _GENERATORS)
    return write_or_check(files, "make stubs")


if __name__ == "__main__":
    sys.exit(main())
