// The eigenvalues of the live picture "clouds", filled where negative and hollow where positive.
(function () {
  "use strict";
  const { make } = explorables;
  const along = (value) => 22 + ((value + 1.15) / 2.4) * 260, LEVEL = 70;
  const soft = { style: "fill: var(--soft)" };

  // Draws the line and returns what shows two values on it.
  explorables.cloudSigns = function (parent) {
    const svg = make(parent, "svg", { class: "signs", viewBox: "0 0 300 130", role: "img" });
    make(svg, "text", { x: 8, y: 12 }, "eigenvalues of the data’s matrix C/n");
    make(svg, "line", { x1: 8, x2: 292, y1: LEVEL, y2: LEVEL, stroke: "var(--soft)" });
    make(svg, "line", { x1: along(0), x2: along(0), y1: 34, y2: 76, stroke: "var(--soft)", "stroke-dasharray": "4 3" });
    [-1, 0, 1].forEach((value) => make(svg, "text", { x: along(value), y: 93, "text-anchor": "middle" }, String(value).replace("-", "−")));
    make(svg, "text", { x: along(0) - 10, y: 118, "text-anchor": "end", ...soft }, "● negative: kept");
    make(svg, "text", { x: along(0) + 10, y: 118, ...soft }, "○ given up");
    const marks = ["λ₁", "λ₂"].map((name) => ({
      dot: make(svg, "circle", { cy: LEVEL, r: 6.5, stroke: "var(--layers)", "stroke-width": 2.5 }),
      name: make(svg, "text", { y: 54, "text-anchor": "middle" }, name),
    }));

    return function (values) {
      const [first, second] = values, near = along(second) - along(first) < 22;
      marks.forEach(({ dot, name }, k) => {
        const x = along(values[k]);
        dot.setAttribute("cx", x);
        dot.setAttribute("fill", values[k] < 0 ? "var(--layers)" : "var(--card)");
        name.setAttribute("x", near ? x + (k ? 14 : -14) : x);
      });
      const says = (v) => `${v.toFixed(2)}, ${v < 0 ? "negative, kept" : "positive, given up"}`;
      svg.setAttribute("aria-label", `Eigenvalues: the first is ${says(first)}; the second is ${says(second)}.`);
    };
  };
})();
