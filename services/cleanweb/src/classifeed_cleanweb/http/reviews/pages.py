"""The pages of reviewers; a visitor who has not signed in gets the sign-in form instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from classifeed_cleanweb.app.claim_review import claim_review
from classifeed_cleanweb.app.describe_queues import DAYS, describe_queues
from classifeed_cleanweb.domain.projects import PROJECTS, Project
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.http.reviews.fragments import choice_rows, day_rows, duration, project_rows
from classifeed_cleanweb.http.reviews.rendering import PAGES, instructions_of
from classifeed_cleanweb.store.reviews import ClaimedReview
from classifeed_common.db import Database
from classifeed_common.http.pages.guarding import page_not_found
from classifeed_common.http.pages.templates import Html

API: Final = "reviews"


@dataclass(frozen=True, slots=True)
class ReviewPages:
    """Handlers of GET requests.

    Attributes:
        database: database of the reviews.
        terms: terms of reviews.
    """

    database: Database
    terms: ReviewTerms

    async def projects(self, _: Request, reviewer: str) -> Response:
        """Show the projects: waiting texts of each, and opinions by day."""
        queues = await describe_queues(self.database, self.terms)
        with_cost = self.terms.opinion_cost > 0
        pieces = {
            "projects": project_rows(queues.projects),
            "days": day_rows(queues.days, with_cost=with_cost),
            "cost": Html('<th scope="col" class="number">Cost</th>') if with_cost else Html(""),
        }
        main = PAGES.html_of("projects.html", pieces, deadline=duration(self.terms.deadline_s), number_of_days=DAYS)
        return PAGES.page("Projects", main, who=reviewer)

    async def review(self, request: Request, reviewer: str) -> Response:
        """Lease a text to the reviewer and show it; a repeated request shows the same text."""
        project = _project_of(request)
        given = request.query_params.get("after", "")
        after = int(given) if given.isdecimal() and len(given) < 19 else 0
        claim = await claim_review(self.database, project.name, reviewer, lease_s=self.terms.lease_s, after=after)
        if claim.review is None:
            again = "Refresh, with skipped texts" if after else "Refresh"
            main = PAGES.html_of("nothing_waits.html", title=project.title, project=project.name, again=again)
        else:
            main = self._text(project, claim.review, after)
        return PAGES.page(project.title, main, who=reviewer)

    def _text(self, project: Project, review: ClaimedReview, after: int) -> Html:
        pieces = {"choices": choice_rows(project.choices), "instructions": instructions_of(project.name)}
        return PAGES.html_of(
            "review.html",
            pieces,
            title=project.title,
            project=project.name,
            summary=project.instructions,
            text=review.text,
            review_id=review.review_id,
            lease_s=int(self.terms.lease_s),
            after=after,
        )

    async def instructions(self, request: Request, reviewer: str) -> Response:
        """Show the instructions of a project."""
        project = _project_of(request)
        pieces = {"instructions": instructions_of(project.name)}
        main = PAGES.html_of("instructions.html", pieces, title=project.title, project=project.name)
        return PAGES.page(f"Instructions: {project.title}", main, who=reviewer)


def _project_of(request: Request) -> Project:
    project = PROJECTS.get(request.path_params["project"])
    if project is None:
        raise page_not_found(request)
    return project
