// Tables by keyboard, selection with its count, and the drawer.
import { typing } from "./app.js";

const rows = () => [...document.querySelectorAll("[data-rows] tbody tr")];
const current = () => document.querySelector("[data-rows] tr.current");
const drawer = document.getElementById("drawer");

function move(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(current());
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  for (const row of all) row.classList.toggle("current", row === next);
  next.querySelector(".main a")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("focusin", (event) => {
  const row = event.target.closest("[data-rows] tbody tr");
  if (row) for (const other of rows()) other.classList.toggle("current", other === row);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && drawer?.querySelector("[data-close]")) {
    if (!typing(event.target)) close();
    return;
  }
  if (typing(event.target)) return;
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "x") {
    const box = current()?.querySelector(".check input");
    if (box) {
      box.checked = !box.checked;
      box.dispatchEvent(new Event("change", { bubbles: true }));
    }
  } else if (event.key === "Enter" && event.target === document.body) {
    current()?.querySelector(".main a")?.click();
  }
});

function recount() {
  const form = document.querySelector(".bulk-form");
  if (!form) return;
  const boxes = [...form.querySelectorAll("tbody .check input")];
  const chosen = boxes.filter((box) => box.checked).length;
  form.querySelector("[data-count]").textContent = `${chosen} selected`;
  const all = form.querySelector("[data-all]");
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
}

document.addEventListener("change", (event) => {
  if (!event.target.closest(".bulk-form")) return;
  if (event.target.matches("[data-all]")) {
    for (const box of event.target.form.querySelectorAll("tbody .check input")) box.checked = event.target.checked;
  }
  // A choice by hand is no longer "all that match".
  const scope = document.querySelector('#matching input[name="scope"]');
  if (scope) unselect(false);
  recount();
});

const offer = document.getElementById("matching")?.innerHTML;
function unselect(everything) {
  const place = document.getElementById("matching");
  if (place && offer) {
    place.innerHTML = offer;
    window.htmx?.process(place);
  }
  if (everything) for (const box of document.querySelectorAll(".bulk-form .check input")) box.checked = false;
  recount();
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-unselect]")) unselect(true);
  const link = event.target.closest("[data-close]");
  if (link) {
    event.preventDefault();
    close();
  }
});

function close() {
  const link = drawer.querySelector("[data-close]");
  history.replaceState(history.state, "", link.getAttribute("href"));
  drawer.replaceChildren();
  (current()?.querySelector(".main a") ?? document.getElementById("main")).focus();
}

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "drawer") drawer.querySelector("#drawer-title")?.focus({ preventScroll: true });
  if (event.detail.target.id === "results") recount();
});

if (drawer?.querySelector("#drawer-title")) drawer.querySelector("#drawer-title").focus({ preventScroll: true });
recount();
