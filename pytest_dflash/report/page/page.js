"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const table = byId("all-checks");
  const rows = Array.from(table.tBodies[0].rows);
  const controls = ["text", "outcome", "area", "host"].map((name) => byId(`filter-${name}`));

  const filter = () => {
    const [text, outcome, area, host] = controls.map((each) => (each ? each.value : ""));
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const said = row.textContent.toLowerCase();
      const fits = (!outcome || row.dataset.outcome === outcome) && (!area || row.dataset.area === area) &&
        (!host || row.dataset.host === host) && words.every((word) => said.includes(word));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    byId("filter-count").value = `${shown} of ${rows.length} findings`;
  };
  controls.filter(Boolean).forEach((each) => each.addEventListener("input", filter));
  byId("filter-text").form.addEventListener("submit", (event) => event.preventDefault());

  document.querySelectorAll("#verdict a.chip").forEach((chip) => chip.addEventListener("click", () => {
    byId("filter-outcome").value = chip.dataset.outcome;
    filter();
  }));

  table.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => {
    const head = button.closest("th");
    const column = Number(button.dataset.column);
    const down = head.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("th").forEach((each) => each.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].textContent.trim();
    const order = new Intl.Collator(undefined, { numeric: true });
    rows.sort((a, b) => order.compare(key(a), key(b)) * (down ? -1 : 1));
    table.tBodies[0].append(...rows);
  }));

  const same = byId("filter-same");
  if (same) same.addEventListener("input", () => {
    byId("hosts-compared").querySelectorAll("tr.same").forEach((row) => { row.hidden = !same.checked; });
  });

  document.querySelectorAll("button[data-copy]").forEach((button) => button.addEventListener("click", () => {
    const text = byId(button.dataset.copy);
    const range = document.createRange();
    range.selectNodeContents(text);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).catch(() => {});
  }));

  const open = () => { // a printed page shows what is folded
    document.querySelectorAll("#dflash details:not(#checks details)").forEach((each) => { each.open = true; });
  };
  addEventListener("beforeprint", open);
})();
