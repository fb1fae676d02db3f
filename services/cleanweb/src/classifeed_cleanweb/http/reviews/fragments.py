"""Repeated parts of pages: projects, days, choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from classifeed_cleanweb.app.describe_queues import DayOfProject
from classifeed_cleanweb.domain.choices import choice_of
from classifeed_cleanweb.domain.projects import PROJECTS
from classifeed_cleanweb.http.reviews.rendering import PAGES
from classifeed_cleanweb.store.reviews import QueueFigures
from classifeed_common.http.pages.templates import Html, markup


def project_rows(projects: Sequence[QueueFigures]) -> Html:
    """Return a row for each project, numbered for the keyboard."""
    return _joined(
        PAGES.html_of(
            "project_row.html",
            {"lateness": _lateness(figures)},
            key=key,
            project=figures.project,
            title=PROJECTS[figures.project].title,
            waiting=figures.waiting,
            oldest=duration(figures.oldest_s) if figures.waiting else "–",
            reviewers=figures.reviewers,
        )
        for key, figures in enumerate(projects, 1)
    )


def _lateness(figures: QueueFigures) -> Html:
    if figures.late:
        return markup('<span class="late">$late late</span>', late=figures.late)
    return Html('<span class="calm">in time</span>' if figures.waiting else '<span class="calm">empty</span>')


def day_rows(days: Sequence[DayOfProject], *, with_cost: bool) -> Html:
    """Return a row for each day and project with opinions."""
    if not days:
        return markup('<tr><td colspan="$columns" class="calm">No opinions yet.</td></tr>', columns=3 + with_cost)
    cost = '<td class="number">$cost</td>' if with_cost else ""
    return _joined(
        markup(
            f'<tr><td>$day</td><td>$title</td><td class="number">$opinions</td>{cost}</tr>',
            day=each.day.isoformat(),
            title=PROJECTS[each.project].title if each.project in PROJECTS else each.project,
            opinions=each.opinions,
            **({"cost": f"{each.cost:,.2f}"} if with_cost else {}),
        )
        for each in days
    )


def choice_rows(choices: Sequence[str]) -> Html:
    """Return a checkbox for each verdict, numbered for the keyboard."""
    return _joined(
        PAGES.html_of("choice.html", key=key, verdict=verdict, **choice_of(verdict)._asdict())
        for key, verdict in enumerate(choices, 1)
    )


def duration(seconds: float) -> str:
    """Return a duration in its two largest units, such as `2 h 5 min`."""
    minutes, rest_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (rest_s, "s")]
    first = next((at for at, (number, _) in enumerate(units) if number), len(units) - 1)
    return " ".join(f"{number} {unit}" for number, unit in units[first : first + 2] if number) or "0 s"


def _joined(parts: Iterable[Html]) -> Html:
    return Html("".join(parts))
