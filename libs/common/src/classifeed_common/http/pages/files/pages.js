"use strict";
// What all pages share. Keys are identified by their position, so that they work with a Cyrillic layout too.

const pagesPath = document.body.dataset.path;
const statusLine = document.getElementById("status");
let isBusy = false;
// Functions of a page that get each key before the others: true: it was handled; false: it is left to the browser.
const keyHandlers = [];

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

const signIn = (token) => once(async () => {
  await send(`${pagesPath}/sign-in`, {token});
  location.reload();
});

const signOut = () => once(async () => {
  await send(`${pagesPath}/sign-out`, {});
  location.replace(pagesPath);
});

function keyOf(event) {
  if (event.key === "?") return "i";
  const place = event.code.replace(/^(Key|Digit|Numpad)(?=.$)/, "").toLowerCase();
  return event.shiftKey ? `shift+${place}` : place;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
  if (event.target.matches("textarea, input[type=text]")) {
    if (event.key === "Enter" && event.target.form.id === "sign-in") {
      event.preventDefault();
      event.target.form.requestSubmit();
    }
    return;
  }
  for (const handle of keyHandlers) {
    const isHandled = handle(event);
    if (isHandled) event.preventDefault();
    if (isHandled !== undefined) return;
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

document.querySelectorAll("[data-sign-out]").forEach((button) => button.addEventListener("click", signOut));

const form = document.getElementById("sign-in");
if (form) form.addEventListener("submit", (event) => { event.preventDefault(); signIn(form.elements.token.value); });

const said = sessionStorage.getItem("said");
sessionStorage.removeItem("said");
if (said) {
  say(said);
  setTimeout(() => { if (statusLine.textContent === said) say(""); }, 4000);
}
