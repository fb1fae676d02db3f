"""The pages: whoever has not signed in gets the form for it in place of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4

import structlog
from starlette.requests import Request
from starlette.responses import Response

from classifeed_cleanweb.app.claim_review import claim_review
from classifeed_cleanweb.app.describe_queues import DAYS, describe_queues
from classifeed_cleanweb.domain.projects import PROJECTS, Project
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.http.reviews.fragments import choice_rows, day_rows, duration, project_rows
from classifeed_cleanweb.http.reviews.rendering import STATIC_FILES, Html, html_of, instructions_of, page, static_file
from classifeed_cleanweb.http.reviews.sessions import COOKIE, SignIn, forget, remember
from classifeed_cleanweb.store.reviews import ClaimedReview
from classifeed_common.db import Database
from classifeed_common.errors import DomainError, NotFound, PermissionDenied, Unauthenticated
from classifeed_common.http.api.bodies import Body
from classifeed_common.http.api.callers import CallerCheck
from classifeed_common.http.api.checking import checked
from classifeed_common.http.app import require_open
from classifeed_common.http.problems import problem_of
from classifeed_common.rpc.call import enter_call
from classifeed_common.rpc.faults import explain
from classifeed_common.rpc.own_names import person_name
from classifeed_common.telemetry.metrics import HTTP_REFUSALS

API = "reviews"
_MAX_TOKEN_BYTES = 16 << 10
_log = structlog.get_logger("classifeed_cleanweb.reviews")
_Show = Callable[[Request, str], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ReviewPages:
    """Handlers of GET requests, and of signing in and out.

    Attributes:
        database: where reviews are.
        callers: who may review, by the token in the cookie.
        terms: of reviews.
    """

    database: Database
    callers: CallerCheck
    terms: ReviewTerms

    def guarded(self, show: _Show) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that lets reviewers in, and shows others the form, and errors as pages."""

        async def respond(request: Request) -> Response:
            try:
                reviewer = self._admit(request)
                require_open(request)
                return await show(request, reviewer)
            except Exception as error:  # noqa: BLE001 - a person gets a page, whatever happens
                return _refusal(request, explain(error, f"{request.method} {request.url.path}"))

        return respond

    def _admit(self, request: Request) -> str:
        client = request.client.host if request.client is not None else "-"
        caller = self.callers.admit("ClaimReview", request.headers, client)
        enter_call(request.url.path, caller=caller, request_id=uuid4().hex, time_left_s=None)
        return person_name(caller)

    async def projects(self, _: Request, reviewer: str) -> Response:
        """Show the projects: what waits in each, and what was done by day."""
        queues = await describe_queues(self.database, self.terms)
        with_cost = self.terms.opinion_cost > 0
        pieces = {
            "projects": project_rows(queues.projects),
            "days": day_rows(queues.days, with_cost=with_cost),
            "cost": Html('<th scope="col" class="number">Cost</th>') if with_cost else Html(""),
        }
        main = html_of("projects.html", pieces, deadline=duration(self.terms.deadline_s), number_of_days=DAYS)
        return page("Projects", main, who=reviewer)

    async def review(self, request: Request, reviewer: str) -> Response:
        """Lease a text to the reviewer and show it; once more, it is the same one."""
        project = _project_of(request)
        given = request.query_params.get("after", "")
        after = int(given) if given.isdecimal() and len(given) < 19 else 0
        claim = await claim_review(self.database, project.name, reviewer, lease_s=self.terms.lease_s, after=after)
        if claim.review is None:
            again = "Refresh, with skipped texts" if after else "Refresh"
            main = html_of("nothing_waits.html", title=project.title, project=project.name, again=again)
        else:
            main = self._text(project, claim.review, after)
        return page(project.title, main, who=reviewer)

    def _text(self, project: Project, review: ClaimedReview, after: int) -> Html:
        pieces = {"choices": choice_rows(project.choices), "instructions": instructions_of(project.name)}
        return html_of(
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
        main = html_of("instructions.html", pieces, title=project.title, project=project.name)
        return page(f"Instructions: {project.title}", main, who=reviewer)

    async def sign_in(self, request: Request) -> Response:
        """Keep a token that is good for reviews in the cookie.

        Raises:
            Unauthenticated: it is no token, or none for this service.
            PermissionDenied: it is for other methods.
        """
        given = checked(SignIn, await Body(request, _MAX_TOKEN_BYTES).read())
        client = request.client.host if request.client is not None else "-"
        try:
            reviewer = self.callers.admit("ClaimReview", given.headers, client)
            self.callers.admit("SubmitOpinion", given.headers, client)
        except DomainError as error:
            HTTP_REFUSALS.labels(API, error.reason).inc()
            return problem_of(error, instance=request.url.path)
        _log.info("reviews.reviewer.signed_in", reviewer=reviewer, client=client)
        response = Response(status_code=204)
        remember(response, request, given.token)
        return response

    async def sign_out(self, request: Request) -> Response:
        """Throw the token away."""
        response = Response(status_code=204)
        forget(response, request)
        return response


async def static(request: Request) -> Response:
    """Respond with a file of the pages; anybody may have it.

    Raises:
        NotFound: there is none of this name.
    """
    name = request.path_params["name"]
    if name not in STATIC_FILES:
        raise NotFound("PAGE_NOT_FOUND", f"There is no page {request.url.path}.")
    return static_file(name)


def _project_of(request: Request) -> Project:
    project = PROJECTS.get(request.path_params["project"])
    if project is None:
        raise NotFound("PAGE_NOT_FOUND", f"There is no page {request.url.path}.")
    return project


def _refusal(request: Request, error: DomainError) -> Response:
    HTTP_REFUSALS.labels(API, error.reason).inc()
    status = problem_of(error, instance=request.url.path).status_code
    if not isinstance(error, Unauthenticated | PermissionDenied):
        return page("Reviews", html_of("fault.html", message=error.message, reason=error.reason), status=status)
    message = error.message if COOKIE in request.cookies else ""
    response = page("Sign in", html_of("sign_in.html", message=message), status=status)
    if message:
        forget(response, request)
    return response
