// The panels of the live picture "masks": what the views have in common, the neuron as an arrow, and its end under all masks.
(function () {
  "use strict";
  const { make, masksMath } = explorables;
  const { DIM, LONG, START, moment, size, grown } = masksMath;
  const CELL = 8, HALF = { signal: 0.002, noise: 0.03 }; // a cell's side, and a value of each kind that has half of its colour
  const RADIUS = 200, CORE = 0.24; // the arrow when fully grown, and the share of it that the start has; between them by logarithms
  const ACROSS = 230, TALL = 178;
  const middle = { "text-anchor": "middle" }, soft = { style: "fill: var(--soft)" };
  const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 0.9995 ? 1 : 0)} %`;
  explorables.maskPercent = percent;

  function panel(parent, name, words, viewBox) {
    const box = make(parent, "div", { class: name });
    make(box, "p", { class: "name" }, words);
    const svg = make(box, "svg", { viewBox, role: "img" });
    return { box, svg };
  }

  // The heat map of E[x+ x++'], blue what the signals put there and vermilion what the noise does; a cell shows the larger part.
  explorables.maskMoment = function (parent) {
    const { box, svg } = panel(parent, "moment", "What the two views share", `-1 -1 ${CELL * DIM + 2} ${CELL * DIM + 2}`);
    const cells = [], usual = { both: 1, noise: 1 };
    make(svg, "rect", { x: -0.5, y: -0.5, width: CELL * DIM + 1, height: CELL * DIM + 1, class: "frame" });
    for (let i = 0; i < DIM; i++) {
      for (let k = 0; k < DIM; k++) {
        const parts = moment(usual, i, k);
        for (const name of ["signal", "noise"]) {
          if (parts[name]) cells.push({ name, i, k, cell: make(svg, "rect", { x: k * CELL, y: i * CELL, width: CELL - 0.7, height: CELL - 0.7, class: name }) });
        }
      }
    }
    const key = make(box, "p", { class: "key" }), values = {};
    make(key, "span", {}, "mean of x⁺x⁺⁺ᵀ, a scale per colour");
    for (const [name, words] of [["noise", " noise, on the diagonal: "], ["signal", " signal, in the blocks: "]]) {
      const item = make(key, "span", {}, make(null, "i", { class: name }), words);
      values[name] = make(item, "b", {});
    }

    return function (settings) {
      cells.forEach(({ name, i, k, cell }) => {
        const parts = moment(settings, i, k), value = parts[name], larger = value >= Math.max(parts.signal, parts.noise);
        cell.setAttribute("opacity", larger ? (value / (value + HALF[name])).toFixed(3) : 0);
      });
      const noise = moment(settings, 0, 0).noise, signal = moment(settings, 0, 1).signal;
      values.noise.textContent = noise ? noise.toFixed(2) : "none";
      values.signal.textContent = signal.toFixed(3);
      svg.setAttribute("aria-label", `E[x⁺x⁺⁺ᵀ]: ${noise ? `noise ${noise.toFixed(2)} on the diagonal` : "no noise on the diagonal"}, signal ${signal.toFixed(3)} elsewhere in four blocks`);
    };
  };

  // The neuron as an arrow: to the right its part along the signals, upwards all else, its length by logarithms.
  explorables.maskArrow = function (parent) {
    const { svg } = panel(parent, "plane", "The neuron turns as it grows", "-26 -212 244 240");
    const at = ({ length, share }) => {
      const r = RADIUS * (CORE + (1 - CORE) * (Math.log(length) / Math.log(LONG)));
      return [r * Math.sqrt(share), -r * Math.sqrt(1 - share)];
    };
    const point = (length, share) => at({ length, share }).map((one) => one.toFixed(2)).join(" ");
    const arc = (length, from, to, name) => make(svg, "path", { class: name, d: `M${point(length, from)}A${Math.hypot(...at({ length, share: 1 }))} ${Math.hypot(...at({ length, share: 1 }))} 0 0 1 ${point(length, to)}` });
    arc(1, 0, 1, "zero");
    arc(LONG, 0, 0.5, "goal noise");
    arc(LONG, 0.5, 1, "goal signal");
    make(svg, "path", { class: "zero", d: `M0 ${-RADIUS}V0H${RADIUS}` });
    make(svg, "text", { x: -8, y: -RADIUS / 2, ...middle, class: "noise", transform: `rotate(-90 -8 ${-RADIUS / 2})` }, "noise →");
    make(svg, "text", { x: 0.62 * RADIUS, y: 18, ...middle, class: "signal" }, "signal →");
    make(svg, "text", { x: CORE * RADIUS, y: 18, ...middle, ...soft }, "start");
    make(svg, "text", { x: RADIUS, y: 18, ...middle, ...soft }, `× ${LONG}`);
    const trail = make(svg, "path", { class: "trail" }), shaft = make(svg, "path", { class: "shaft" }), head = make(svg, "path", { class: "head", d: "M-15 -8L2 0L-15 8z" });
    const number = make(svg, "text", { ...middle, class: "number" });

    return function (settings, time, words) {
      const now = size(settings, time), [x, y] = at(now), long = Math.hypot(x, y), turn = (Math.atan2(y, x) * 180) / Math.PI;
      const path = Array.from({ length: 41 }, (_, k) => at(size(settings, (time * k) / 40)).map((one) => one.toFixed(1)).join(" "));
      trail.setAttribute("d", `M${path.join("L")}`);
      shaft.setAttribute("d", `M0 0L${((x * (long - 12)) / long).toFixed(2)} ${((y * (long - 12)) / long).toFixed(2)}`);
      head.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${turn.toFixed(2)})`);
      number.setAttribute("x", now.share < 0.5 ? 112 : 72); // the whole text inside the arc
      number.setAttribute("y", now.share < 0.5 ? -38 : -112);
      number.textContent = `${percent(now.share)} signal`;
      svg.setAttribute("aria-label", words);
    };
  };

  // The share of signal of the grown neuron under all masks, and where the neuron is; drag(both) hears of a drag.
  explorables.maskEnds = function (parent, drag) {
    const { svg } = panel(parent, "ends", "Signal in the neuron, %", `-40 -8 ${ACROSS + 52} ${TALL + 70}`);
    const across = (both) => both * ACROSS, down = (share) => TALL * (1 - share);
    make(svg, "path", { d: `M0 0V${TALL}H${ACROSS}`, class: "zero" });
    [0, 0.5, 1].forEach((share) => make(svg, "text", { x: -11, y: down(share) + 5, "text-anchor": "end", ...soft }, `${100 * share}`));
    [["disjoint", "start"], ["independent", "middle"], ["same", "end"]].forEach(([word, anchor], k) => {
      make(svg, "path", { d: `M${across(k / 2)} ${TALL}v5`, class: "zero" });
      make(svg, "text", { x: across(k / 2), y: TALL + 19, "text-anchor": anchor }, word);
    });
    make(svg, "text", { x: across(0.5), y: TALL + 35, ...middle }, "= no mask");
    make(svg, "text", { x: ACROSS / 2, y: TALL + 56, ...middle, ...soft }, "numbers that are in both views →");
    make(svg, "path", { d: `M0 ${down(START)}H${ACROSS}`, class: "random" });
    make(svg, "text", { x: 5, y: down(START) + 15, ...soft }, `before, ${percent(START)}`);
    const curve = make(svg, "path", { class: "curve" }), dot = make(svg, "circle", { r: 7, class: "dot" });
    let noise;
    const point = (event) => drag(Math.min(Math.max(new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x / ACROSS, 0), 1));
    svg.addEventListener("pointerdown", (event) => (svg.setPointerCapture(event.pointerId), point(event)));
    svg.addEventListener("pointermove", (event) => svg.hasPointerCapture(event.pointerId) && point(event));

    return function (settings, share) {
      if (noise !== settings.noise) {
        noise = settings.noise;
        const path = Array.from({ length: 81 }, (_, k) => `${across(k / 80).toFixed(1)} ${down(grown({ both: k / 80, noise }).share).toFixed(1)}`);
        curve.setAttribute("d", `M${path.join("L")}`);
      }
      dot.setAttribute("cx", across(settings.both));
      dot.setAttribute("cy", down(share));
      svg.setAttribute("aria-label", `Share of signal: ${percent(share)} now, ${percent(grown(settings).share)} when grown; ${percent(grown({ both: 0, noise }).share)} with disjoint, ${percent(grown({ both: 0.5, noise }).share)} with independent, ${percent(grown({ both: 1, noise }).share)} with the same masks`);
    };
  };
})();
