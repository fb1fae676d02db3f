"use strict";
// The form of an appeal; pages.js has what all pages share.

const decision = document.getElementById("decision");

const decide = (status) => once(async () => {
  const {rule, response} = decision.elements;
  if (!rule.value.trim()) throw new Error("Write the rule of your decision.");
  await send("/appeals/decisions", {
    appeal_id: Number(decision.dataset.appeal),
    status,
    rule: rule.value.trim(),
    response: response.value.trim(),
  });
  sayOnNextPage(status === "APPROVED" ? "The text is approved." : "The text stays refused.");
  location.replace("/appeals");
});

onClick("approve", () => decide("APPROVED"));
onClick("refuse", () => decide("DISAPPROVED"));
if (decision) decision.addEventListener("submit", (event) => event.preventDefault());
