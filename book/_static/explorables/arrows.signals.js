// The signals of the live picture "arrows": each an image arrow and a caption arrow, and below them what moves their length.
(function () {
  "use strict";
  const { make, arrowsMath } = explorables;
  const { PLAIN } = arrowsMath, COUNT = PLAIN.sigma.length;
  const WIDE = 484, HIGH = 330, PITCH = 112, LEFT = 80, FOOT = 158, REACH = 128, APART = 6.5, HEAD = 12; // one length is REACH
  const LEVEL = 258, ROOM = 38, HALF = 1.5; // the line from which pull and push start, their longest, and where they have half of it
  const soft = { style: "fill: var(--soft)" }, middle = { "text-anchor": "middle" };
  const centre = (p) => LEFT + 20 + p * PITCH;

  // An arrow upwards from the origin, a shaft and a head; a short one has a smaller head.
  function arrow(parent, attributes) {
    const group = make(parent, "g", attributes), shaft = make(group, "path", { class: "shaft" }), head = make(group, "path", { class: "head" });
    return {
      point(length) {
        const top = Math.min(HEAD, 0.6 * length), wide = 0.5 * top, neck = top - length;
        shaft.setAttribute("d", `M0,0V${(neck - 0.3 * top).toFixed(2)}`);
        head.setAttribute("d", `M${(-wide).toFixed(2)},${neck.toFixed(2)}h${(2 * wide).toFixed(2)}L0,${(-length).toFixed(2)}z`);
      },
      move: (transform) => group.setAttribute("transform", transform),
    };
  }

  // Draws them and returns what shows a state.
  explorables.arrowSignals = function (parent) {
    const svg = make(parent, "svg", { class: "signals", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
    const line = (y, dash) => make(svg, "line", { x1: LEFT - 34, x2: WIDE, y1: y, y2: y, stroke: "var(--soft)", "stroke-dasharray": dash });
    const even = FOOT - REACH / Math.sqrt(COUNT);
    line(even, "2 5");
    line(FOOT, "none");
    make(svg, "text", { x: 0, y: even + 4, ...soft }, "equal");
    ["image", "caption"].forEach((word, k) => {
      make(make(svg, "g", { class: `arm ${word}` }), "path", { class: "shaft", d: `M${90 * k},9h26`, stroke: "currentColor" });
      make(svg, "text", { x: 90 * k + 33, y: 13 }, word);
    });
    make(svg, "text", { x: 0, y: LEVEL - 8, class: "pull" }, "pull");
    make(svg, "text", { x: 0, y: LEVEL + 18, class: "push" }, "push");
    line(LEVEL, "none");
    make(svg, "text", { x: LEFT - 34, y: HIGH - 6, class: "key", ...soft }, "positives pull, negatives push; equal: at rest");
    const signals = PLAIN.sigma.map((_, p) => signal(svg, p));

    return function ({ shares, agree, pull, push }, sigma, said) {
      const all = shares.reduce((sum, one) => sum + one, 0), parts = shares.map((one) => one / all);
      signals.forEach(({ arms, name, share, up, down }, p) => {
        const length = REACH * Math.sqrt(parts[p]), half = (Math.acos(Math.min(1, agree[p])) * 90) / Math.PI;
        arms.forEach((arm, k) => {
          arm.point(length);
          arm.move(`translate(${centre(p) + (k ? APART : -APART)},${FOOT}) rotate(${((k ? 1 : -1) * half).toFixed(2)})`);
        });
        name.textContent = `σ = ${sigma[p].toFixed(1)}`;
        share.textContent = percent(parts[p]);
        up.point(force(pull[p]));
        down.point(force(push[p]));
      });
      if (said) svg.setAttribute("aria-label", parts.map((one, p) => `Signal ${p + 1}: ${percent(one)} of all signal, image and caption agree to ${percent(agree[p])}`).join(". "));
    };
  };

  function signal(svg, p) {
    const ink = `var(--signal-${p + 1})`, x = centre(p);
    const arms = [0, 1].map((k) => arrow(svg, { class: k ? "arm caption" : "arm", stroke: ink, fill: ink }));
    make(svg, "text", { x, y: FOOT + 17, ...middle, class: "name" }, `signal ${p + 1}`);
    const name = make(svg, "text", { x, y: FOOT + 51, ...middle, ...soft }), share = make(svg, "text", { x, y: FOOT + 34, ...middle, class: "name" });
    const up = arrow(svg, { class: "force pull", transform: `translate(${x - 9},${LEVEL})` });
    const down = arrow(svg, { class: "force push", transform: `translate(${x + 9},${LEVEL}) rotate(180)` });
    return { arms, name, share, up, down };
  }

  // Equal forces are equally long; a large one is drawn at most ROOM long.
  const force = (size) => (ROOM * size) / (size + HALF);

  // One decimal where whole numbers would hide that a share is small, or that it is not all.
  function percent(share) {
    if (share > 0 && share < 0.0005) return "< 0.1 %";
    const fine = (share > 0 && share < 0.0995) || (share >= 0.995 && share < 0.9995);
    return `${(100 * share).toFixed(fine ? 1 : 0)} %`;
  }
  explorables.arrowPercent = percent;
})();
