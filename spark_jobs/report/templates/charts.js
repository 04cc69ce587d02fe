"use strict";
(() => {
  const { documents, items, schemes } = JSON.parse(document.getElementById("charts").textContent);
  let figures = [];
  const dark = matchMedia("screen and (prefers-color-scheme: dark)");

  // What a chart draws has one colour for both schemes; what is around it has not. A model's tag is its role.
  function paint(colours) {
    for (const figure of figures) {
      figure.outline_line_color = colours.grid;
      const around = [...figure.below, ...figure.left, ...figure.center];
      for (const model of around) {
        const has = (name) => name in model.properties;
        const wanted = {
          major_label_text_color: colours.muted,
          axis_label_text_color: colours.muted,
          axis_line_color: colours.axis,
          major_tick_line_color: colours.axis,
          grid_line_color: colours.grid,
        };
        if (model.tags.length > 0) wanted.line_color = colours[model.tags[0]];
        model.setv(Object.fromEntries(Object.entries(wanted).filter(([name]) => has(name))));
      }
    }
  }
  // A page in a frame has the scheme of the page around it; any other page has that of the system.
  const scheme = () => schemes[document.documentElement.dataset.scheme ?? (dark.matches ? "dark" : "light")];

  // Bokeh's tools are reached by keyboard, but have no role and no name that a screen reader tells.
  function name(within, title) {
    for (const element of within.querySelectorAll("*")) {
      if (element.shadowRoot) name(element.shadowRoot, title);
      if (element.classList.contains("bk-events")) {
        element.setAttribute("role", "group");
        element.setAttribute("aria-label", "Chart: " + title + ". The text below says the same.");
      } else if (element.tabIndex === 0 && element.title) {
        element.setAttribute("role", "button");
        element.setAttribute("aria-label", element.title);
      }
    }
  }

  async function draw() {
    await Bokeh.embed.embed_items(documents, items);
    figures = Bokeh.documents[0].roots();
    paint(scheme());
    // A finger that drags over a chart wants to move the page.
    if (matchMedia("(pointer: coarse)").matches) {
      for (const figure of figures) for (const tool of figure.toolbar.tools) tool.active = false;
    }
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const element of document.querySelectorAll(".chart")) {
      name(element, document.getElementById(element.closest("figure").getAttribute("aria-labelledby")).textContent.trim());
    }
    document.documentElement.dataset.charts = "drawn";
  }

  dark.addEventListener("change", () => paint(scheme()));
  const repaint = new MutationObserver(() => paint(scheme()));
  repaint.observe(document.documentElement, { attributes: true, attributeFilter: ["data-scheme"] });
  // Bokeh repaints when it finds time, which paper does not wait for: print copies that are painted at once.
  addEventListener("beforeprint", () => {
    paint(schemes.light);
    for (const figure of figures) {
      const { canvas } = Bokeh.index[figure.id].export("png", true);
      canvas.className = "printed";
      canvas.removeAttribute("style");
      document.getElementById(items[0].roots[figure.id]).append(canvas);
    }
  });
  addEventListener("afterprint", () => {
    for (const canvas of document.querySelectorAll(".printed")) canvas.remove();
    paint(scheme());
  });
  draw();
})();
