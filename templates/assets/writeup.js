// Comforts only: every page is complete without this file.
"use strict";

// A command can be copied where the browser lets a page write to the clipboard.
function addCopyButtons() {
  if (!navigator.clipboard) return;
  for (const command of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.textContent.trim());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    const frame = document.createElement("div");
    frame.className = "copyable";
    command.replaceWith(frame);
    frame.append(command, button);
  }
}

// A link into folded details opens them, and paper has nothing to unfold.
function openDetailsAround(element) {
  for (let at = element; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  openDetailsAround(target);
  target.scrollIntoView();
}

addEventListener("hashchange", openTarget);
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
addCopyButtons();
if (location.hash) openTarget();
