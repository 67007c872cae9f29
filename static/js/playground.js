// The answer as it streams. Without this script the form is answered with a whole page.
const form = document.querySelector("[data-ask]");

function bubble(role, name) {
  const part = document.getElementById("bubble").content.cloneNode(true).firstElementChild;
  part.classList.add(`bubble-${role}`);
  part.querySelector(".bubble-name").textContent = name;
  document.querySelector("[data-empty]")?.remove();
  document.querySelector("[data-bubbles]").append(part);
  return part;
}

async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    kept += value;
    const found = kept.split("\n");
    kept = found.pop();
    for (const line of found) if (line) yield JSON.parse(line);
  }
  if (kept.trim()) yield JSON.parse(kept);
}

// Quotes are set off, as the filter "answer" does on the server.
function show(place, text) {
  place.replaceChildren(
    ...text.split("\n").map((line) => {
      if (!line.startsWith("> ")) return `${line}\n`;
      const quote = document.createElement("span");
      quote.className = "quote";
      quote.textContent = line.slice(2);
      return quote;
    }),
  );
}

function finish(part, text, kind) {
  part.classList.remove("waiting");
  show(part.querySelector(".bubble-text"), text);
  const badge = document.getElementById(`badge-${kind}`);
  if (badge) part.querySelector(".bubble-name").append(" ", badge.content.cloneNode(true));
  if (kind === "error") part.classList.add("bubble-failed");
}

async function ask(question) {
  document.querySelector("[data-suggestions=once]")?.remove();
  const data = new FormData(form);
  data.set("question", question);
  const mine = bubble("user", form.dataset.name);
  mine.querySelector(".bubble-text").textContent = question;
  const part = bubble("assistant", "Musebot");
  part.classList.add("waiting");
  part.scrollIntoView({ block: "nearest" });
  const text = part.querySelector(".bubble-text");
  let ended = false;
  try {
    const response = await fetch(form.dataset.stream, { method: "POST", body: data, headers: { Accept: "application/x-ndjson" } });
    if (response.redirected) return location.reload();
    for await (const piece of lines(response)) {
      if (piece.delta !== undefined) {
        text.append(piece.delta);
        part.scrollIntoView({ block: "nearest" });
      } else if (piece.result) {
        ended = true;
        finish(part, piece.result.text, piece.result.kind);
        form.elements.history.value = piece.result.history;
        document.querySelector("[data-trace]").innerHTML = piece.result.html;
      } else if (piece.error) {
        ended = true;
        finish(part, piece.error, "error");
      }
    }
    if (!ended) finish(part, "The answer broke off. Ask again.", "error");
  } catch {
    finish(part, "The dashboard does not answer. Check that it runs, and ask again.", "error");
  }
}

if (form) {
  const box = form.elements.question;
  let busy = false;
  const send = async (question) => {
    if (busy || !question.trim()) return;
    busy = true;
    form.querySelector(".ask-box button").disabled = true;
    box.value = "";
    await ask(question.trim());
    busy = false;
    form.querySelector(".ask-box button").disabled = false;
    box.focus();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.submitter?.matches("[data-suggestion]") ? event.submitter.value : box.value);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(box.value);
  });
  box.focus({ preventScroll: true });
}
