"""Export all issues of a load as one file, piece by piece."""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Final

from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import EXPORT_FORMAT_XLSX, ExportFormat
from classifeed_common.errors import ResourceExhausted
from classifeed_common.spool import run_folder
from classifeed_feeds.issue_words import IssueWords
from classifeed_processor.app.issues.make_sheets import CsvSheet, XlsxSheet
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.domain.issue_blocks import IssueFilter
from classifeed_processor.domain.tasks import TaskKey

MAX_EXPORTS: Final = 8
"""Maximum number of files that one process writes at a time."""
MAX_EXPORTS_OF_SELLER: Final = 2
_ROWS: Final = 1000
_PIECE_BYTES: Final = 256 << 10


class ExportIssues:
    """Writes files of issues, a few at a time, in threads. It holds 1,000 rows of each file in memory.

    Args:
        read_issues: reader of the issues.
        spool_dir: folder for workbooks and their temporary, uncompressed sheets.
    """

    def __init__(self, read_issues: ReadIssues, spool_dir: Path) -> None:
        self._read_issues = read_issues
        self._spool_dir = spool_dir
        self._of_seller: Counter[str] = Counter()

    async def __call__(
        self, task: Task, export_format: ExportFormat, wanted: IssueFilter
    ) -> AsyncGenerator[tuple[bytes, int], None]:
        """Yield the file in pieces, each with the number of issues in the file so far.

        Raises:
            FailedPrecondition: ISSUES_GONE, the file with the issues is missing or damaged.
            ResourceExhausted: EXPORTS_FULL, the process or the seller has reached its limit of exports.
            Unavailable: the object store does not respond.
        """
        with self._hold(task.seller_id):
            rows = self._rows(task, wanted)
            pieces = self._write_xlsx(rows) if export_format == EXPORT_FORMAT_XLSX else _write_csv(rows)
            async with aclosing(rows), aclosing(pieces):
                async for piece in pieces:
                    yield piece

    @contextmanager
    def _hold(self, seller_id: str) -> Iterator[None]:
        if self._of_seller.total() >= MAX_EXPORTS or self._of_seller[seller_id] >= MAX_EXPORTS_OF_SELLER:
            raise ResourceExhausted(
                "EXPORTS_FULL",
                f"{self._of_seller.total()} files of issues are being written by this process, "
                f"{self._of_seller[seller_id]} of them for seller {seller_id}; the limits are {MAX_EXPORTS} and "
                f"{MAX_EXPORTS_OF_SELLER}. Try again in some seconds.",
                retry_after_s=5,
            )
        self._of_seller[seller_id] += 1
        try:
            yield
        finally:
            self._of_seller[seller_id] -= 1
            if not self._of_seller[seller_id]:
                del self._of_seller[seller_id]

    async def _rows(self, task: Task, wanted: IssueFilter) -> AsyncGenerator[list[OfferError], None]:
        """Yield the issues with their texts, 1,000 at a time."""
        words = IssueWords.of_format(task.format)
        batch: list[OfferError] = []
        async with aclosing(self._read_issues(TaskKey.parse(task.name), task.run, wanted)) as found:
            async for error, _ in found:
                words.describe(error)
                batch.append(error)
                if len(batch) == _ROWS:
                    yield batch
                    batch = []
        if batch:
            yield batch

    async def _write_xlsx(self, rows: AsyncIterator[list[OfferError]]) -> AsyncGenerator[tuple[bytes, int], None]:
        count = 0
        with run_folder(self._spool_dir) as folder:
            path = folder / "issues.xlsx"
            sheet = XlsxSheet(path, folder)
            async for batch in rows:
                await asyncio.to_thread(sheet.add, batch)
                count += len(batch)
            await asyncio.to_thread(sheet.end)
            with path.open("rb") as file:
                while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
                    yield piece, count


async def _write_csv(rows: AsyncIterator[list[OfferError]]) -> AsyncGenerator[tuple[bytes, int], None]:
    buffer, count = io.BytesIO(), 0
    sheet = CsvSheet(buffer)
    async for batch in rows:
        await asyncio.to_thread(sheet.add, batch)
        count += len(batch)
        yield buffer.getvalue(), count
        buffer.seek(0)
        buffer.truncate()
    sheet.end()
    if content := buffer.getvalue():
        yield content, count
