// Search and filters of the claims page. Without this script every claim still stands on the page as a line that opens.
// The choices stand in the address (`claims.html?verdict=misprint&q=sign`), so that a selection can be linked to.
(function () {
  "use strict";

  // Whether a text has a word; a number must be a whole one, so that 2 is neither in 21 nor in 0.2.
  const has = (text, word) =>
    /^\d+(\.\d+)*$/.test(word) ? new RegExp(`(?<![\\d.])${word.replaceAll(".", "\\.")}(?!\\.?\\d)`).test(text) : text.includes(word);

  // Whether a claim with these facets and this text is wanted; an empty choice wants all, each word must occur.
  function matches(facets, text, wanted) {
    const words = (wanted.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const keys = Object.keys(wanted).filter((key) => key !== "q" && wanted[key]);
    return keys.every((key) => facets[key] === wanted[key]) && words.every((word) => has(text, word));
  }

  const SHORT = { thm: "theorem", prop: "proposition", lem: "lemma", cor: "corollary", conj: "conjecture", fig: "figure", eqs: "eq" };
  const WORD = new RegExp(`\\b(${Object.keys(SHORT).join("|")})\\b`, "g");

  // A locator or a query as words: "Thm. 4.3 (a)" and "thm-4.3a" become " theorem 4.3 a ". A dot between digits stays.
  function words(text) {
    const plain = text.toLowerCase().replace(/\.(?!\d)|[^\w.\u0080-\uffff]+/g, " ").replace(/(\d)([a-z])\b/g, "$1 $2");
    return ` ${plain.replace(WORD, (word) => SHORT[word]).replace(/\s+/g, " ").trim()} `;
  }

  // Whether a query names a place of a paper and this locator is there: "Theorem 2" is no part of "Theorem 21".
  const named = (query) => /[a-z].*\d/i.test(query) && words(query);
  const isAt = (row, place) => [row.locator, row.label].some((text) => text.includes(place));

  const form = document.querySelector("form.claim-filters");
  if (!form) return;
  // the text is read before MathJax replaces its formulas by pictures of glyphs
  const rows = Array.from(document.querySelectorAll("details.claim-row"), (row) => ({
    row: row,
    text: (row.id + " " + row.textContent).toLowerCase(),
    locator: words(row.querySelector(".locator").firstChild.textContent),
    label: words(row.id.split("/").pop()),
    home: row.closest("section"),
  }));
  const sections = new Set(rows.map((one) => one.home));
  const first = document.createElement("section"); // the claims at a place that the search names, of all papers
  first.className = "claims-first";
  first.append(document.createElement("h3"));
  form.after(first);
  rows.forEach((one) => {
    const option = form.querySelector(`[name=paper] option[value="${CSS.escape(one.row.dataset.paper)}"]`);
    one.row.querySelector(".locator").dataset.paper = option ? option.textContent : one.row.dataset.paper;
  });

  function choices() {
    return Object.fromEntries(Array.from(new FormData(form)));
  }

  // Put the claims at the named place first, and all others back into their sections, in their order.
  function arrange(place, facets) {
    const there = new Set(place ? rows.filter((one) => isAt(one, place) && matches(one.row.dataset, "", facets)) : []);
    if (there.size || first.querySelector("details")) rows.forEach((one) => (there.has(one) ? first : one.home).append(one.row));
    first.hidden = !there.size;
    first.querySelector("h3").textContent = `At ${place ? form.elements.q.value.trim() : ""}`;
    return there;
  }

  function apply() {
    const wanted = choices(), there = arrange(named(wanted.q || ""), { ...wanted, q: "" });
    let shown = 0;
    rows.forEach((one) => {
      one.row.hidden = !there.has(one) && !matches(one.row.dataset, one.text, wanted);
      shown += one.row.hidden ? 0 : 1;
    });
    sections.forEach((section) => {
      section.hidden = !section.querySelector("details.claim-row:not([hidden])");
    });
    const told = shown === rows.length ? `${rows.length} claims` : `${shown} of ${rows.length} claims`;
    form.querySelector("output").textContent = told + (there.size ? `, ${there.size} of them at this place` : "");
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
    if (field && field.type === "checkbox") field.checked = value === field.value;
    else if (field && "value" in field && field.type !== "button") field.value = value;
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
