// Search and filters of the claims page. Without this script every claim still stands on the page as a line that opens.
// The choices stand in the address (`claims.html?verdict=misprint&q=sign`), so that a selection can be linked to.
(function () {
  "use strict";

  // Whether a claim with these facets and this text is wanted; an empty choice wants all, each word must occur.
  function matches(facets, text, wanted) {
    const words = (wanted.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const keys = Object.keys(wanted).filter((key) => key !== "q" && wanted[key]);
    return keys.every((key) => facets[key] === wanted[key]) && words.every((word) => text.includes(word));
  }

  const form = document.querySelector("form.claim-filters");
  if (!form) return;
  // the text is read before MathJax replaces its formulas by pictures of glyphs
  const rows = Array.from(document.querySelectorAll("details.claim-row"), (row) => ({
    row: row,
    text: (row.id + " " + row.textContent).toLowerCase(),
  }));
  const sections = new Set(rows.map((one) => one.row.closest("section")));

  function choices() {
    return Object.fromEntries(Array.from(new FormData(form)));
  }

  function apply() {
    const wanted = choices();
    let shown = 0;
    rows.forEach((one) => {
      one.row.hidden = !matches(one.row.dataset, one.text, wanted);
      shown += one.row.hidden ? 0 : 1;
    });
    sections.forEach((section) => {
      section.hidden = !section.querySelector("details.claim-row:not([hidden])");
    });
    form.querySelector("output").textContent =
      shown === rows.length ? rows.length + " claims" : shown + " of " + rows.length + " claims";
  }

  function remember() {
    const chosen = new URLSearchParams(Object.entries(choices()).filter((entry) => entry[1]));
    const query = chosen.toString();
    try {
      history.replaceState(null, "", location.pathname + (query ? "?" + query : ""));
    } catch (error) {
      // a page opened as a file may not change its address
    }
  }

  // Open the claim that the address names, even if a filter hides it.
  function open() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || !row.matches("details.claim-row")) return;
    if (row.hidden) {
      form.reset();
      apply();
    }
    row.open = true;
    row.scrollIntoView();
  }

  new URLSearchParams(location.search).forEach((value, key) => {
    const field = form.elements.namedItem(key);
    if (field && "value" in field && field.type !== "button") field.value = value;
  });
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => (apply(), remember()));
  form.addEventListener("reset", () => setTimeout(() => (apply(), remember())));
  form.elements.namedItem("open").addEventListener("click", () => {
    rows.forEach((one) => (one.row.open = !one.row.hidden || one.row.open));
  });
  window.addEventListener("hashchange", open);
  apply();
  open();
})();
