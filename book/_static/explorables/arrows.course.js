// The course of the live picture "arrows": the dial of the condition number, and what the output consists of over time.
(function () {
  "use strict";
  const { make, arrowsMath } = explorables;
  const { TIMES, PLAIN } = arrowsMath, COUNT = PLAIN.sigma.length;
  const RADIUS = 74, DECADES = 4; // of the dial, from 1 to 10,000
  const WIDE = 300, TALL = 150, TOP = 20, HIGH = TOP + TALL + 36, LAST = TIMES.length - 1;
  const soft = { style: "fill: var(--soft)" }, middle = { "text-anchor": "middle" };
  const across = (k) => (k / LAST) * WIDE;

  // Draws the dial and returns what shows a condition number, with words below it.
  explorables.arrowDial = function (parent) {
    const svg = make(parent, "svg", { class: "dial", viewBox: "-150 -120 300 168", role: "img" });
    const turn = (value) => Math.PI * (1 - Math.min(Math.log10(value) / DECADES, 1));
    const at = (value, r) => `${(r * Math.cos(turn(value))).toFixed(2)},${(-r * Math.sin(turn(value))).toFixed(2)}`;
    make(svg, "text", { y: -108, ...middle, ...soft }, "condition number");
    make(svg, "path", { class: "scale", d: `M${at(1, RADIUS)}A${RADIUS},${RADIUS} 0 0 1 ${at(1e4, RADIUS)}` });
    make(svg, "path", { class: "good", d: `M${at(1, RADIUS)}A${RADIUS},${RADIUS} 0 0 1 ${at(1.5, RADIUS)}` });
    [1, 10, 100, 1000, 1e4].forEach((value, k) => {
      const [x, y] = at(value, RADIUS + 14).split(",");
      make(svg, "text", { x, y: +y + 4, "text-anchor": ["end", "end", "middle", "start", "start"][k], ...soft }, ["1", "10", "100", "1000", "10⁴"][k]);
    });
    const needle = make(svg, "path", { class: "needle" });
    const number = make(svg, "text", { y: 22, ...middle, class: "number" }), words = make(svg, "text", { y: 42, ...middle });

    return function (condition, below, said) {
      needle.setAttribute("d", `M0,0L${at(condition, RADIUS - 4)}`);
      number.textContent = condition < 1.1 ? condition.toFixed(2) : condition.toFixed(condition < 100 ? 1 : 0);
      words.textContent = below;
      if (said) svg.setAttribute("aria-label", `Condition number ${number.textContent}. ${below}`);
    };
  };

  // Draws the shares over time, by bands; `drag(k)` hears of a frame that is pointed at. Returns {draw(shots, flips), go(k, reached)}.
  explorables.arrowShares = function (parent, drag) {
    const svg = make(parent, "svg", { class: "curve", viewBox: `-34 0 ${WIDE + 48} ${HIGH}`, role: "img", "aria-label": "Shares of the output over time" });
    make(svg, "text", { x: -30, y: 11, ...soft }, "what the output consists of");
    const bands = ["var(--noise)", ...PLAIN.sigma.map((_, p) => `var(--signal-${COUNT - p})`)].map((fill) => make(svg, "path", { fill, class: "band" }));
    const cover = make(svg, "rect", { y: TOP - 2, height: TALL + 4, fill: "var(--card)" });
    const flipped = make(svg, "path", { class: "flipped" }), names = make(svg, "g", middle);
    make(svg, "path", { d: `M0,${TOP}V${TOP + TALL}H${WIDE}`, fill: "none", stroke: "var(--soft)" });
    [0, 0.5, 1].forEach((share) => make(svg, "text", { x: -5, y: TOP + TALL * (1 - share) + 5, "text-anchor": "end", ...soft }, String(share)));
    [0.01, 0.1, 1, 10, 100].forEach((time, k) => make(svg, "text", { x: across(1 + (k * (LAST - 1)) / 4), y: TOP + TALL + 17, ...middle, ...soft }, String(time)));
    make(svg, "text", { x: WIDE / 2, y: HIGH - 4, ...middle, ...soft }, "time t/d");
    const cursor = make(svg, "line", { y1: TOP - 4, y2: TOP + TALL, class: "cursor" });
    let shots;
    const point = (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      drag(Math.round((Math.min(Math.max(place.x / WIDE, 0), 1)) * LAST));
    };
    svg.addEventListener("pointerdown", (event) => (svg.setPointerCapture(event.pointerId), point(event)));
    svg.addEventListener("pointermove", (event) => svg.hasPointerCapture(event.pointerId) && point(event));

    // Each band is drawn from the axis to its top, the highest first, so that lower ones lie on it.
    function draw(now, flips) {
      shots = now;
      names.replaceChildren();
      bands.forEach((band, b) => {
        const height = ({ shares }) => (b ? shares.slice(0, COUNT + 1 - b).reduce((sum, one) => sum + one, 0) : 1);
        const edge = shots.map((shot, k) => `${across(k).toFixed(1)},${(TOP + TALL * (1 - height(shot))).toFixed(1)}`);
        band.setAttribute("d", `M0,${TOP + TALL}L${edge.join("L")}V${TOP + TALL}z`);
      });
      flipped.setAttribute("d", flips.map((k) => `M${across(k).toFixed(1)},${TOP - 4}V${TOP + TALL}`).join(""));
    }

    // Shows a frame; what comes after the latest one that was seen is the reader's to guess.
    function go(k, reached) {
      cover.setAttribute("x", across(reached));
      cover.setAttribute("width", WIDE + 1 - across(reached));
      cursor.setAttribute("x1", across(k));
      cursor.setAttribute("x2", across(k));
      label(reached);
    }

    // Names of the bands that are wide enough where they were seen last, once there is room for a word.
    function label(k) {
      const { shares, noise } = shots[k], parts = [...shares, noise], near = Math.min(Math.max(across(k) - 12, 12), WIDE - 12);
      let low = 0, used = 0;
      parts.forEach((part, p) => {
        if (part > 0.1 && across(k) > 40) {
          const text = names.children[used] || make(names, "text", {}), noisy = p === COUNT;
          text.textContent = noisy ? "noise" : String(p + 1);
          text.setAttribute("class", noisy ? "band-name on-noise" : `band-name on-${p + 1}`);
          text.setAttribute("x", noisy ? Math.max(near - 12, 24) : near);
          text.setAttribute("y", TOP + TALL * (1 - low - part / 2) + 5);
          used++;
        }
        low += part;
      });
      while (names.children.length > used) names.lastChild.remove();
    }

    return { draw, go, name: (words) => svg.setAttribute("aria-label", words) };
  };
})();
