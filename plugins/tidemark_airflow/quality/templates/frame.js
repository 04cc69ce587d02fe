"use strict";
// Airflow shows these pages in a frame, where its own pages would be shown within themselves: a link to one of them is
// followed by the window around the frame.
(() => {
  if (parent === self) return;
  for (const link of document.querySelectorAll("a[data-leaves]")) {
    link.addEventListener("click", (event) => {
      if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      let outside;
      try {
        outside = parent.document.createElement("a");
      } catch {
        return;
      }
      event.preventDefault();
      outside.href = link.href;
      outside.click();
    });
  }
})();
