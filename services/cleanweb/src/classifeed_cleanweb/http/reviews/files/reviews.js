"use strict";
// Keys of the review pages; pages.js has what all pages share.

const review = document.getElementById("review");
const dialog = document.getElementById("instructions");

function boxes() {
  return [...document.querySelectorAll("input[name=verdict]")];
}

function choose(box) {
  const nothing = document.getElementById("nothing");
  if (box === nothing && box.checked) boxes().forEach((each) => { each.checked = false; });
  if (box !== nothing && box.checked) nothing.checked = false;
  say("");
}

const sendOpinion = () => once(async () => {
  const verdicts = boxes().filter((box) => box.checked).map((box) => box.value);
  if (!verdicts.length && !document.getElementById("nothing").checked) {
    throw new Error("Type the numbers of the verdicts, or 0 if none of them applies.");
  }
  await send("/reviews/opinions", {review_id: Number(review.dataset.review), verdicts});
  sayOnNextPage("Sent.");
  location.replace(review.dataset.next);
});

const giveBack = (path, words) => once(async () => {
  await send("/reviews/given-back", {review_id: Number(review.dataset.review)});
  sayOnNextPage(words);
  location.replace(path);
});

keyHandlers.push((event) => {
  if (dialog && dialog.open) {
    const closes = keyOf(event) === "i";
    if (closes) dialog.close();
    return closes;
  }
  if (event.key !== "Enter" || !review || event.target.matches("button, a")) return undefined;
  sendOpinion();
  return true;
});

onClick("skip", () => giveBack(review.dataset.skip, "Returned. This is the next text."));
onClick("leave", () => giveBack("/reviews", "Returned."));
onClick("show", () => { say(""); dialog.showModal(); dialog.scrollTop = 0; });
onClick("hide", () => dialog.close());

const opinion = document.getElementById("opinion");
if (opinion) {
  opinion.addEventListener("submit", (event) => { event.preventDefault(); sendOpinion(); });
  opinion.addEventListener("change", (event) => choose(event.target));
}

function showTimeLeft(endsAt) {
  const leftS = Math.max(0, Math.round((endsAt - performance.now()) / 1000));
  document.getElementById("left").textContent = `${Math.floor(leftS / 60)}:${String(leftS % 60).padStart(2, "0")}`;
  if (leftS > 0) return;
  say("Your time is over: another reviewer may get this text. Press Enter to try to send, or q to leave.", true);
  clearInterval(showTimeLeft.timer);
}

if (review) {
  const endsAt = performance.now() + Number(review.dataset.leaseS) * 1000;
  showTimeLeft.timer = setInterval(() => showTimeLeft(endsAt), 1000);
  showTimeLeft(endsAt);
  document.getElementById("text").focus({preventScroll: true});
}

if (document.getElementById("nothing-waits")) setTimeout(() => location.reload(), 15000);
