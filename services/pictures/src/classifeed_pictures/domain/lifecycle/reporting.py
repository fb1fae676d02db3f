"""Reports results to requests: waiting ones, settled ones, and later changes."""

from __future__ import annotations

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.domain.lifecycle.events import Effects, RequestResult, WaitingResult


def report(effects: Effects, namespace: str, attempt: int, result: PictureInfo | LoadFailure) -> None:
    """Report a result to all waiting requests of a namespace: stored ones, and those of these events."""
    is_stored = isinstance(result, PictureInfo)
    known = effects.waiting.get(namespace)
    if namespace not in effects.forgotten and (known is None or isinstance(known.result, LoadFailure)):
        effects.waiting[namespace] = WaitingResult(attempt, result)
    for key, (request, reported) in list(effects.remembered.items()):
        if key[0] != namespace or (reported and not is_stored):
            continue
        effects.results.append(RequestResult(request, attempt, result))
        if is_stored:
            effects.settled.append(request)
            del effects.remembered[key]
        else:
            effects.remembered[key] = (request, attempt)


def report_change(effects: Effects, namespace: str, attempt: int, result: PictureInfo | LoadFailure) -> None:
    """Report the replacement of a picture to all settled requests of a namespace, including stored ones."""
    if namespace not in effects.forgotten:
        effects.changed[namespace] = WaitingResult(attempt, result)
    for request in effects.settled:
        if request.namespace == namespace:
            effects.results.append(RequestResult(request, attempt, result))


def report_end(effects: Effects, namespace: str, attempt: int, failure: LoadFailure) -> None:
    """Report the end of a picture to all requests of a namespace, waiting or settled, and delete them."""
    awaiting = [
        request for key, (request, reported) in effects.remembered.items() if key[0] == namespace and not reported
    ]
    settled = [request for request in effects.settled if request.namespace == namespace]
    effects.results += [RequestResult(request, attempt, failure) for request in [*awaiting, *settled]]
    forget(effects, namespace)
    # Stored requests get the failure, too, before they are deleted.
    effects.waiting[namespace] = effects.changed[namespace] = WaitingResult(attempt, failure)


def report_given_up(effects: Effects, namespace: str, recipient: str, attempt: int, failure: LoadFailure) -> None:
    """Report a failure to a recipient for all of its requests of a namespace, and delete them."""
    remembered = [key for key in effects.remembered if key[:2] == (namespace, recipient)]
    ended = [effects.remembered.pop(key)[0] for key in remembered]
    settled = [each for each in effects.settled if (each.namespace, each.recipient) == (namespace, recipient)]
    effects.settled = [each for each in effects.settled if each not in settled]
    effects.results += [RequestResult(request, attempt, failure) for request in [*ended, *settled]]
    effects.given_up[namespace, recipient] = WaitingResult(attempt, failure)


def forget(effects: Effects, namespace: str) -> None:
    """Delete the requests of a namespace that no longer keeps the picture, including stored ones."""
    effects.forgotten.add(namespace)
    effects.waiting.pop(namespace, None)
    effects.changed.pop(namespace, None)
    effects.settled = [request for request in effects.settled if request.namespace != namespace]
    for key in [key for key in effects.remembered if key[0] == namespace]:
        del effects.remembered[key]
