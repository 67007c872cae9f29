// What every page does: theme, time zone, menus, shortcuts, help, and parts that change without a reload.
const root = document.documentElement;
root.dataset.script = "on";

const year = 365 * 24 * 3600;
const keep = (name, value) => {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=${year}; samesite=lax${secure}`;
};

// The server shows times in this zone from the next page on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) document.cookie = `tz=${zone}; path=/; max-age=${year}; samesite=lax`;

for (const form of document.querySelectorAll("[data-theme-form]")) {
  form.addEventListener("submit", (event) => {
    const chosen = event.submitter?.value;
    if (!chosen) return;
    event.preventDefault();
    root.dataset.theme = chosen;
    keep("theme", chosen);
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === chosen));
  });
}

// Where the pages or tabs do not fit beside each other, the current one is in sight.
for (const now of document.querySelectorAll(".rail [aria-current], .tabs [aria-current]")) {
  const bar = now.closest("ul, .tabs");
  bar.scrollLeft += now.getBoundingClientRect().left - bar.getBoundingClientRect().left - (bar.clientWidth - now.offsetWidth) / 2;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  if (event.target.closest("[data-help]")) help();
  const copy = event.target.closest("[data-copy]");
  if (copy && navigator.clipboard) {
    navigator.clipboard.writeText(copy.textContent.trim()).then(() => {
      copy.classList.add("copied");
      setTimeout(() => copy.classList.remove("copied"), 1500);
    });
  }
});

function help() {
  document.querySelector("[data-menu][open]")?.removeAttribute("open");
  document.getElementById("help").showModal();
}

export const typing = (target) => target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]");

const pages = { o: "/", m: "/memories/", p: "/playground/", r: "/replies/", s: "/servers/", w: "/jobs/", e: "/erasures/" };
let going = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (typing(event.target)) event.target.blur();
    const menu = document.querySelector("[data-menu][open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    return;
  }
  if (typing(event.target) || document.querySelector("dialog[open]") || !document.getElementById("help")) return;
  if (event.key === "?") help();
  else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "g") {
    going = Date.now();
  } else if (Date.now() - going < 1200 && document.querySelector(`.rail a[href="${pages[event.key]}"]`)) {
    location.assign(pages[event.key]);
  }
});

// Empty filters do not belong in an address.
document.addEventListener("htmx:configRequest", (event) => {
  const { verb, parameters } = event.detail;
  if (verb !== "get") return;
  for (const [name, value] of Object.entries(parameters)) {
    if (value === "" && name !== "guild") delete parameters[name];
  }
  if (parameters.mode === "keyword") delete parameters.mode;
});

// A part that asks for itself again waits while somebody is at it: with a question open, or the keyboard in it.
document.addEventListener("htmx:beforeRequest", (event) => {
  const { target, requestConfig } = event.detail;
  const polls = requestConfig.elt === target && !requestConfig.triggeringEvent && target.matches("[hx-trigger^=every]");
  if (polls && (target.querySelector(".confirm[open]") || target.contains(document.activeElement))) event.preventDefault();
});

document.addEventListener("htmx:responseError", (event) => {
  // A page that cannot be shown in part is shown whole: it says what is wrong.
  if (event.detail.requestConfig.verb === "get") location.assign(event.detail.pathInfo.requestPath);
});
