"use strict";
// Keys of the review pages. Keys are identified by their position, so that they work with a Cyrillic layout too.

const statusLine = document.getElementById("status");
const review = document.getElementById("review");
const dialog = document.getElementById("instructions");
let isBusy = false;

function say(words, isWrong = false) {
  const refused = document.getElementById("refused");
  if (refused) {
    refused.textContent = words;
    return;
  }
  statusLine.textContent = words;
  statusLine.classList.toggle("wrong", isWrong);
}

function sayOnNextPage(words) {
  sessionStorage.setItem("said", words);
}

async function send(path, content) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: {"Content-Type": "application/json"},
      body: JSON.stringify(content),
    });
  } catch {
    throw new Error("The service cannot be reached. Nothing is lost: press the key again.");
  }
  if (response.ok) return;
  const problem = await response.json().catch(() => ({}));
  throw new Error(problem.detail || `The service responded with ${response.status}.`);
}

async function once(action) {
  if (isBusy) return;
  isBusy = true;
  try {
    await action();
  } catch (error) {
    say(error.message, true);
  } finally {
    isBusy = false;
  }
}

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

const signIn = (token) => once(async () => {
  await send("/reviews/sign-in", {token});
  location.reload();
});

const signOut = () => once(async () => {
  await send("/reviews/sign-out", {});
  location.replace("/reviews");
});

function keyOf(event) {
  if (event.key === "?") return "i";
  const place = event.code.replace(/^(Key|Digit|Numpad)(?=.$)/, "").toLowerCase();
  return event.shiftKey ? `shift+${place}` : place;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
  const isTyping = event.target.matches("textarea");
  if (isTyping) {
    if (event.key === "Enter") {
      event.preventDefault();
      event.target.form.requestSubmit();
    }
    return;
  }
  if (dialog && dialog.open) {
    if (keyOf(event) === "i") {
      event.preventDefault();
      dialog.close();
    }
    return;
  }
  if (event.key === "Enter" && review && !event.target.matches("button, a")) {
    event.preventDefault();
    sendOpinion();
    return;
  }
  const target = document.querySelector(`[data-key="${CSS.escape(keyOf(event))}"]`);
  if (!target) return;
  event.preventDefault();
  target.click();
});

function onClick(id, action) {
  const button = document.getElementById(id);
  if (button) button.addEventListener("click", action);
}

onClick("skip", () => giveBack(review.dataset.skip, "Returned. This is the next text."));
onClick("leave", () => giveBack("/reviews", "Returned."));
onClick("show", () => { say(""); dialog.showModal(); dialog.scrollTop = 0; });
onClick("hide", () => dialog.close());
document.querySelectorAll("[data-sign-out]").forEach((button) => button.addEventListener("click", signOut));

const opinion = document.getElementById("opinion");
if (opinion) {
  opinion.addEventListener("submit", (event) => { event.preventDefault(); sendOpinion(); });
  opinion.addEventListener("change", (event) => choose(event.target));
}

const form = document.getElementById("sign-in");
if (form) form.addEventListener("submit", (event) => { event.preventDefault(); signIn(form.elements.token.value); });

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

const said = sessionStorage.getItem("said");
sessionStorage.removeItem("said");
if (said) {
  say(said);
  setTimeout(() => { if (statusLine.textContent === said) say(""); }, 4000);
}
