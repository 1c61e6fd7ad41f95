"use strict";
// Charts in the reader's colour scheme, rows to sort, bars that lead to their row.
(() => {
  // What the page carries compressed: markup where it belongs, the rest by its id.
  const text = (script) => unpacked(script.textContent, Number(script.dataset.bytes));
  for (const script of document.querySelectorAll('script[type="text/x-packed"]:not([id])')) {
    script.outerHTML = text(script);
  }
  const figures = JSON.parse(text(document.getElementById("figures")));
  const download = document.getElementById("download");
  if (download) {
    const report = text(document.getElementById("report"));
    download.href = URL.createObjectURL(new Blob([report], { type: "application/json" }));
    download.hidden = false;
  }
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const PRINTED = 960; // pixels that fit across a landscape page

  // A copy of a figure with every var(--name) replaced by what it stands for now.
  const coloured = (value, style) => {
    if (typeof value === "string") {
      const found = /^var\((--[\w-]+)\)$/.exec(value);
      return found ? style.getPropertyValue(found[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => coloured(item, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item, style)]));
  };

  const config = {
    displaylogo: false,
    displayModeBar: false,
    responsive: true,
    showTips: false,
    doubleClick: "reset",
  };

  const showRow = (step) => {
    const row = document.getElementById(`layer-${step}`);
    if (row) location.hash = row.id;
  };

  const draw = (width) => {
    const style = getComputedStyle(root);
    for (const [id, figure] of Object.entries(figures)) {
      const { data, layout } = coloured(figure, style);
      layout.dragmode = coarse.matches ? false : "zoom";
      if (width) layout.width = width;
      Plotly.newPlot(id, data, layout, config);
      document.getElementById(id).on("plotly_click", ({ points: [point] }) => {
        showRow(point.customdata ?? point.x);
      });
    }
  };

  dark.addEventListener("change", () => draw());
  addEventListener("beforeprint", () => {
    root.classList.add("printing"); // light, whatever the screen is
    draw(PRINTED);
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    draw();
  });

  // Sorting: numbers by value, the rest by text; what is unknown comes last either way.
  const sortBy = (heading) => {
    const table = heading.closest("table");
    const column = heading.cellIndex;
    const numeric = heading.classList.contains("n");
    const descending = heading.getAttribute("aria-sort") === (numeric ? "descending" : "ascending") ? !numeric : numeric;
    const key = (row) => {
      const cell = row.cells[column];
      if (!numeric) return cell.textContent;
      const value = Number(cell.dataset.value ?? cell.textContent.replaceAll(",", ""));
      return Number.isNaN(value) ? null : value; // a dash: unknown
    };
    const compare = (a, b) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : a.localeCompare(b);
      return descending ? -order : order;
    };
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [key(row), row]);
    keyed.sort(([a], [b]) => compare(a, b));
    body.append(...keyed.map(([, row]) => row));
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  };
  for (const button of document.querySelectorAll("#layer-table thead button")) {
    button.addEventListener("click", () => sortBy(button.parentNode));
  }

  draw();
  root.dataset.drawn = "true";
})();
