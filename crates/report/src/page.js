(() => {
  const root = document.documentElement;
  const errors = [];
  addEventListener("error", (e) => { errors.push(e.message); root.dataset.errors = errors.join("; "); });

  // The theme: the reader's choice, else the system's.
  const dark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const toggle = document.getElementById("theme");
  const name = () => { toggle.textContent = dark() ? "Light" : "Dark"; };
  const asked = new URLSearchParams(location.search).get("theme") ?? new URLSearchParams(location.hash.slice(1)).get("theme");
  if (asked === "dark" || asked === "light") root.dataset.theme = asked;
  toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();

  // Tables sort by a click on a heading: by the number behind a cell, or by its text.
  const value = (row, i) => {
    const cell = row.cells[i];
    const raw = cell?.dataset.v;
    return raw === undefined ? (cell?.textContent ?? "") : raw === "" ? NaN : Number(raw);
  };
  const order = (a, b) => {
    if (typeof a === "string") return a.localeCompare(b);
    if (Number.isNaN(a)) return 1;
    if (Number.isNaN(b)) return -1;
    return a - b;
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, i) => head.firstElementChild?.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [value(row, i), row]);
      rows.sort(([a], [b]) => {
        const missing = Number.isNaN(a) || Number.isNaN(b);
        return up || missing ? order(a, b) : -order(a, b);
      });
      body.append(...rows.map(([, row]) => row));
    }));
  }

  // The search hides rows, by case, suite and family.
  for (const field of document.querySelectorAll("input[type=search]")) {
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of document.getElementById(field.dataset.table).tBodies[0].rows) {
        row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      }
    });
  }

  // Chips: one panel at a time.
  for (const button of document.querySelectorAll("button[data-show]")) {
    button.addEventListener("click", () => {
      for (const other of document.querySelectorAll("button[data-show]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      for (const panel of document.querySelectorAll("[data-panel]")) {
        panel.hidden = panel.dataset.panel !== button.dataset.show;
      }
    });
  }
  root.dataset.ready = "true";
})();
