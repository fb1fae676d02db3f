"""All sentences of explanations, by stage; names in braces are filled in.

A sentence that follows another one begins with a space.
"""

from __future__ import annotations

from typing import Final

# The source.
NOT_FETCHED: Final = "has not been fetched yet"
FETCH_QUEUED: Final = "waits to be fetched"
FETCH_RUNNING: Final = "is being fetched"
FETCH_DROPPED: Final = "has not been fetched since the feed changed"
SOURCE_TO_COME: Final = (
    "The file of the feed {state}.{failed}{later} Whether the file has the offer is known after the fetch."
)
FETCHES_FAILED: Final = " Failed fetches before it: {failures:,}."
FETCH_FAILED: Final = "The file could not be fetched ({code})."
FETCH_FAILED_FIX: Final = "Follow the fix of the fetch, and run the feed again."
NEXT_FETCH: Final = "The next fetch is due at {time}."
NO_NEXT_FETCH: Final = "The feed is paused, so it is not fetched again."
FEED_PAUSED: Final = "The feed is paused, and its file was never loaded."
FEED_PAUSED_FIX: Final = "Resume the feed; its file is fetched then."
LINK_FAILING: Final = "The link has failed {times} since{why}; the offers are those of load {load}."
NO_LOAD_BUT_OFFER: Final = "No load of this namespace is stored; the offer exists without one."
NO_LOAD: Final = "No load of this namespace is stored."
NO_LOAD_FIX: Final = "Check seller and namespace, and load a file that has the offer."
LINK_UNKNOWN: Final = "The state of the feed's fetches is not available right now."
UPLOADED: Final = "{name} ({size:,} bytes) was uploaded; load {load} reads it."
FETCHED: Final = "Fetch {fetch} brought the file ({size:,} bytes); load {load} reads it."
SOURCE_CAME: Final = "{name} ({size:,} bytes) was received; load {load} reads it."
SOURCE_UNKNOWN: Final = "The origin of the file of load {load} is not available right now."
SOURCE_OF_REMOVAL: Final = "Load {load} removed the feed; it has no file."

# The file.
LOADS_UNKNOWN: Final = "The loads of this namespace are not available right now."
NO_FILE: Final = "There is no file to check."
FILE_FAILED: Final = "The file of load {load} cannot be loaded. {fault}"
PAGE_OF_LINK_FIX: Final = "Open the link in a browser, correct what the page says, and run the feed again."
PAGE_OF_UPLOAD_FIX: Final = (
    "Open the file you sent: it is a page or an error text. Export the feed again, and send that."
)
FILE_FAILED_FIX: Final = "{how} and load it again: one such fault stops all offers of the file."
CORRECT_LINE: Final = "Correct line {line} of the file"
CORRECT_FILE: Final = "Correct the file as its message says"
FILE_AWAITED: Final = "The file of load {load} {words}."
FILE_BEING_CHECKED: Final = "is being checked as a whole"
FILE_WAITS: Final = "is queued"
FILE_CHECKED: Final = "The file was checked as a whole: {format} with {offers}."

# The offer in the file.
OFFER_AT_PLACE: Final = "The offer is number {ordinal:,} of the file, on line {line}."
OFFER_ON_LINE: Final = "The offer is on line {line} of the file."
OFFER_IN_FILE: Final = "The file has the offer."
OFFER_UNKNOWN: Final = "The line of the offer in the file of load {load} is not available right now."
FEED_ENDED: Final = "Load {load} removed the feed."
FEED_ENDED_FIX: Final = "To sell the offer again, load a file that has it, or create the feed again."
NOT_IN_FILE: Final = "The file of load {load} does not have the id “{external_id}”."
NOT_IN_FILES: Final = "None of the files of {loads} has the id “{external_id}”."
NOT_IN_FILE_FIX: Final = "Put the offer back into the file and load it again."
NEVER_IN_FILE_FIX: Final = (
    "Search for the id in your file: capitals and inner spaces matter, and another namespace is another feed."
)
KEPT_BY_HAND: Final = " The offer is kept by hand."
KEPT_AS_IT_WAS: Final = " The offer is unchanged."
EARLIER_LOAD_HAD_IT: Final = " Load {load} had it{line}."
SO_REMOVED: Final = " So the offer was removed, at {time}."
ON_LINE_NOT_READ: Final = "It is on line {line}, but was not read."

# The checks.
NOTHING_TO_CHECK: Final = "Load {load} had nothing to check."
CHECKS_UNKNOWN: Final = "The results of the checks are not available right now."
CHECKS_AWAITED: Final = "The results of the checks come with the reply to its batch."
CHECKS_PASSED: Final = "Nothing is wrong with it.{recognised}"
CATEGORY_OF_ID: Final = " Category: {category} (the file's category {category_id})."
CATEGORY: Final = " Category: {category}."
PLACE_BY_COORDINATES: Final = " Place: {point}, by the file's coordinates."
PLACE_IN_WORDS: Final = " Place: {address}, by its address."
FURTHER_ISSUES: Final = "Also: {also}{more}."
ID_AGAIN: Final = "Its id is repeated on {lines}."
ID_AGAIN_NOT_READ: Final = "Its id is repeated on {lines}; only the first offer with an id is read, the one{where}."
ID_AGAIN_FIX: Final = "Remove the offer on {lines}, or give it a unique id."
UNLISTED_ISSUES: Final = "{issues:,} issues of this load are counted but not listed"
NO_ISSUE_LISTED: Final = "No issue of it is listed; {counted}."
AMONG_UNLISTED: Final = "It was not applied; its errors are among the {counted}."
UNLISTED_FIX: Final = "Correct what is listed, and load the file again."

# The batch.
LOAD_FAILED: Final = "Load {load} failed. {fault}"
LOAD_FAILED_FIX: Final = "Load the file again; if it fails again, inform the operator."
NOTHING_SENT: Final = "Load {load} sent nothing about the offer."
SENT_IN_BATCH: Final = "The offer was sent to the list of offers in batch {batch} of load {load}."
SENT_UNKNOWN: Final = "Whether the offer was sent already is not known right now."
NOT_SENT_YET: Final = "Load {load} has not sent the offer to the list of offers yet."
SENT: Final = "Load {load} sent the offer to the list of offers."

# The list of offers.
OFFERS_UNKNOWN: Final = "The list of offers does not respond right now."
NOT_IN_OFFERS: Final = "The list of offers does not have it{gone}."
LOAD_OFFER_FIX: Final = "Load a file that has the offer."
NOT_TAKEN_YET: Final = "The list of offers has not applied it from load {load} yet."
NOT_ANSWERED_YET: Final = "The list of offers has not replied to load {load} about the offer yet."
REMOVED_BY: Final = "Load {load} removed the offer, as its file lacks it."
ERRORS_TOO_LONG: Final = "The offer was removed from the search, as it had errors in every load for a long time."
ERRORS_TOO_LONG_FIX: Final = "Correct the errors that its loads list; the next load without them brings it back."
STAYS_UNTIL_THEN: Final = "Until then the offer keeps the state of load {load}."
CHANGE_AWAITS_END: Final = "The change of the offer by load {load} waits until that load completes. {stays}"
CHANGE_AWAITS_DECISION: Final = (
    "The change of the offer by load {load} waits for a decision: the load is held, as it would {change}. {stays}"
)
CHANGE_AWAITS_DECISION_FIX: Final = (
    "Confirm that load if its file is right; otherwise reject it, or load a corrected file."
)
MADE_MANUAL: Final = (
    "The file of load {load} lacks it; since then the offer is kept by hand, until a load has it again."
)
IN_OFFERS: Final = "It is in the list of offers."
BROUGHT: Final = "Load {load} added the offer."
CHANGED: Final = "Load {load} changed the offer."
CHANGED_SINCE: Final = "Load {load} has changed the offer since then."
CHANGE_MAYBE_REJECTED: Final = (
    "It has the state of load {load}: load {explained} did not change it, or its change was rejected."
)
UNCHANGED: Final = "It is unchanged since load {load}."
STOPPED_FIX: Final = "Correct what the message names and load the file again."
REMOVED: Final = "Load {load} removed the offer."
STAYS: Final = "The offer keeps the state of load {load}."

# Moderation and pictures.
MODERATION_LATER: Final = "Its text is judged once it is in the list of offers."
BANNED: Final = "Moderation refuses the offer."
BANNED_BY: Final = "Moderation refuses its text: {message} Rule: {rule}."
BANNED_FIX: Final = "Change the text or the pictures so that they comply with the rules, and load the file again."
MODERATION_AWAITED: Final = "Its text waits for its verdict.{meanwhile}"
SHOWN_MEANWHILE: Final = " The previous text is shown meanwhile."
APPROVED_BY_SETTING: Final = "Its text was approved by a setting of this installation, without a review."
APPROVED_BY: Final = "Its text was approved ({moderation})."
APPROVED: Final = "Its text was approved."
PICTURES_LATER: Final = "Its pictures are checked once it is in the list of offers."
MORE_PICTURES: Final = " The same holds for {more} more."
PICTURES_FAILED: Final = "{failed} of its {count} pictures could not be loaded. The first, {url}: {reason}."
PICTURE_FAILED: Final = "Its picture {url} could not be loaded: {reason}."
PICTURE_FAILED_FIX: Final = "Correct the link, or the file behind it; it is retried unless the failure is permanent."
PICTURES_AWAITED: Final = "Stored so far: {stored} of its {count} pictures. The others are awaited."
PICTURE_AWAITED: Final = "Its picture is awaited."
PICTURES_STORED: Final = "Its {count} pictures are stored."
PICTURE_STORED: Final = "Its picture is stored."
PICTURES_AS_LINKS: Final = "Its {count} pictures are kept as links."
PICTURE_AS_LINK: Final = "Its picture is kept as a link."
NO_PICTURES: Final = "It has no pictures."

# The registry of documents and the search.
NOTHING_TO_SEARCH: Final = "It has no state to search yet."
REGISTERED: Final = "The registry of documents has its newest state."
NOT_REGISTERED_YET: Final = "Its newest state will be sent to the search.{delay}"
SEARCH_UNKNOWN: Final = "The search does not respond right now."
NOT_SEARCHABLE_YET: Final = "The search does not have it yet.{delay}"
SEARCHABLE_MAYBE_OLD: Final = "The search finds {state}; whether that is the newest is not known right now."
SEARCHABLE_OLD: Final = "The search still finds {state}.{delay}"
SEARCHABLE: Final = "The search finds {state}{since}."
TAKES_LONG: Final = " This usually takes seconds; inform the operator."
REGISTRY_OF_REMOVAL: Final = "The registry of documents {notice} informed of the removal."
STILL_SEARCHABLE: Final = "The search still finds {state}{since}."
FORGOTTEN_UNKNOWN: Final = "Whether the search has removed it is not known right now."
FORGOTTEN: Final = "The search does not have it any more."
FORGOTTEN_SOON: Final = "The search will remove it in a moment."
NOT_REACHED: Final = "Not reached."
NOT_REACHED_YET: Final = "Not reached yet."
NOT_REACHED_BUT_FOUND: Final = "Not reached yet; meanwhile the search finds {state}."

# A newer load.
NEWER_ENDS_FEED: Final = "Load {load} removes the feed"
NEWER_LACKS: Final = "Load {load}, the newest, does not have it"
NEWER_KEEPS_BY_HAND: Final = "{lacks}; the offer is kept by hand."
MAKES_MANUAL: Final = "keeps it by hand from then on"
REMOVES: Final = "removes the offer"
NEWER_TO_END: Final = "{lacks} and {loses} when it completes."
NEWER_TO_END_FIX: Final = "To keep the offer, put it back into the file and load it again."
NEWER_HELD: Final = "{lacks} and is held, as it would {change}: confirmed, it {loses}."
NEWER_HELD_FIX: Final = (
    "Reject that load, or load a file that has the offer, to keep it; confirm the load to remove it."
)
NEWER_REJECTED: Final = "{lacks}; its removals were rejected, so the offer stays."
NEWER_REMOVED_NOTHING: Final = "{lacks}, yet it removed nothing."
HOLD_REMOVALS: Final = "remove {removals:,} of {offers:,} offers"
HOLD_PRICES: Final = "change {moved:,} of {changed:,} changed prices by a large factor"
HOLD_UNAVAILABLE: Final = "leave no offer available"
HOLD_CHANGES: Final = "change too much"

# The summary.
NEWEST_FAILED: Final = "{who}, the newest, failed{fault}: nothing of its file was applied. {earlier}"
NOT_TAKEN: Final = "{who} did not accept the offer. {why} {earlier}"
NOT_SHOWN: Final = "{why} The search does not show it."
NEWEST_LACKS: Final = "The newest load did not have the offer, and the search does not find it."
NOR_IN_OFFERS: Final = "{why} It is not in the list of offers either."
NOTHING_STOPS: Final = "As far as is known, nothing has stopped the offer."
ON_ITS_WAY: Final = "The offer is on its way. {text}{meanwhile}"
FOUND_MEANWHILE: Final = " Meanwhile the search finds {state}."
REMOVED_BEFORE: Final = "Load {load} had removed the offer before."
FOUND_AS_BEFORE: Final = "The search still finds {state}{since}."
NEVER_BROUGHT: Final = "No earlier load has added it, so the search does not find it."
BANNED_BEFORE: Final = "Moderation refuses its state of load {load}."
STAYS_IN_OFFERS: Final = "It keeps the state of load {load} in the list of offers."
DUPLICATES_NOT_READ: Final = "Its id is repeated on {lines}, which was not read."
NOT_ALL: Final = "{missing} did not respond, so this may be incomplete; try again later."
