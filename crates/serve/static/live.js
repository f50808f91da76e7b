// Follows a study that runs. Without this script the page shows the state of when it was loaded.
"use strict";
for (const line of document.querySelectorAll("[data-events]")) {
  const source = new EventSource(line.dataset.events);
  const show = (event) => {
    const progress = JSON.parse(event.data);
    line.querySelector("progress").max = progress.runs;
    line.querySelector("progress").value = progress.ended;
    line.querySelector("[role=status]").textContent = progress.text;
  };
  source.addEventListener("progress", show);
  source.addEventListener("end", (event) => {
    show(event);
    source.close();
    // The answer is new.
    location.reload();
  });
}
