"""Reads and writes rows of a backup in local Parquet files, page by page. All calls block: run them in a thread."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from classifeed_pictures.domain.backups import BackupFault, BackupFile

if TYPE_CHECKING:
    import pyarrow

PAGE_ROWS: Final = 2000
Rows: TypeAlias = list[dict[str, Any]]
_CHUNK_BYTES: Final = 1024 * 1024


class RowWriter:
    """Writes the rows of a table into a file, one row group per page.

    Args:
        path: path of the file.
        schema: schema of its columns.
    """

    def __init__(self, path: Path, schema: pyarrow.Schema) -> None:
        from pyarrow import parquet

        self._path = path
        self._schema = schema
        self._file = parquet.ParquetWriter(path, schema, compression="zstd")
        self.rows = 0

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write a page."""
        import pyarrow

        columns = [
            pyarrow.array(values, type=field.type)
            for values, field in zip(zip(*rows, strict=True), self._schema, strict=True)
        ]
        self._file.write_table(pyarrow.Table.from_arrays(columns, schema=self._schema))
        self.rows += len(rows)

    def close(self, table: str, name: str) -> BackupFile:
        """Close the file, and return its entry in the manifest."""
        self._file.close()
        sha256, size_bytes = digest_of(self._path)
        return BackupFile(table, name, sha256, size_bytes, self.rows)


def digest_of(path: Path) -> tuple[str, int]:
    """Return the SHA-256 of a file in hexadecimal, and its size in bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
        return digest.hexdigest(), file.tell()


def check_file(path: Path, file: BackupFile) -> None:
    """Read a whole file, and compare it with the manifest.

    Raises:
        BackupFault: it differs, or cannot be read.
    """
    sha256, size_bytes = digest_of(path)
    if (sha256, size_bytes) != (file.sha256, file.size_bytes):
        raise BackupFault(
            f"{file.name} is damaged: it has {size_bytes} bytes and the hash {sha256}, the manifest says "
            f"{file.size_bytes} and {file.sha256}"
        )
    rows = sum(len(page) for page in read_pages(path, file))
    if rows != file.rows:
        raise BackupFault(f"{file.name} is damaged: it has {rows} rows, the manifest says {file.rows}")


def read_pages(path: Path, file: BackupFile) -> Iterator[Rows]:
    """Yield the rows of a file page by page, in the order of writing.

    Raises:
        BackupFault: it cannot be read.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as opened:
            for batch in opened.iter_batches(PAGE_ROWS, use_threads=False):
                yield batch.to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a fault of this machine, not of the file
        raise BackupFault(f"{file.name} cannot be read: {' '.join(str(error).split())[:300]}") from error
