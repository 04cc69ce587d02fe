"use strict";
// Airflow shows these pages in a frame, where its own pages would be shown within themselves: a link to one of them is
// followed by the window around the frame.
(() => {
  if (parent === self) return;

  // Airflow marks its own page as dark or light by a class. Its switch also counts for the frame.
  try {
    const outside = parent.document.documentElement;
    const follow = () => {
      const scheme = ["dark", "light"].find((name) => outside.classList.contains(name));
      if (scheme) document.documentElement.dataset.scheme = scheme;
    };
    new MutationObserver(follow).observe(outside, { attributes: true, attributeFilter: ["class"] });
    follow();
  } catch {
    // A frame of another origin: the system decides.
  }

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
