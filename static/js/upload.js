// Files by drag and drop. Without this script the same form chooses and sends them.
for (const form of document.querySelectorAll("[data-upload]")) {
  const input = form.querySelector("input[type=file]");
  const drop = form.querySelector(".upload-drop");
  const chosen = form.querySelector("[data-chosen]");
  const before = chosen.textContent;

  const tell = () => {
    const names = [...input.files].map((file) => file.name);
    chosen.textContent = names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ") || before;
  };
  input.addEventListener("change", tell);

  for (const kind of ["dragenter", "dragover"]) {
    form.addEventListener(kind, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  form.addEventListener("dragleave", (event) => {
    if (!form.contains(event.relatedTarget)) drop.classList.remove("over");
  });
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const files = new DataTransfer();
    const dropped = [...event.dataTransfer.files];
    for (const file of input.multiple ? dropped : dropped.slice(0, 1)) files.items.add(file);
    input.files = files.files;
    tell();
    form.querySelector("button").focus();
  });
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.setAttribute("aria-disabled", "true");
    button.textContent = "Uploading…";
  });
}

// The rest of the page was made before the work ended; it is read again once.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "progress" && document.querySelector("#progress[data-reload]")) location.reload();
});
