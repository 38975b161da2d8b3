// The live picture "circle": the energy of one filter over nine points on a circle, and the filters that climb it.
// In Chromium a moved control takes 2.9 ms (the curve anew, 64 filters; 2.5 ms without spread), least of 60 moves, and
// 13 ms in the middle on two cores with six processes at work; a frame of 64 filters takes 3 to 5 ms there.
(function () {
  "use strict";
  const { make, slider, loop, still, start, circleMath } = explorables;
  const { POINTS, TURN, survey, hillOf, expectedFinds, climb, settle, starts, wrap } = circleMath;
  const R = 100, WIDE = 430, HIGH = 268, BASE = 208, STRIP = 16;
  const ring = (t, r = R) => [r * Math.cos(t), -r * Math.sin(t)];
  const across = (t) => ((t + Math.PI) / TURN) * WIDE;

  const QUESTIONS = [
    {
      ask: "A linear filter has two hills to climb. How many has a ReLU filter on the same nine points?",
      from: { leak: 1 },
      then: { leak: 0 },
      answers: ["two, as before", "four", "nine"],
      right: 2,
      because: "Each point that enters or leaves the filter’s half plane can make a hill of its own.",
    },
    {
      ask: "Nine hills, eight filters dropped at random: how many hills do they find on average?",
      from: {},
      then: {},
      answers: ["two", "about five", "eight"],
      right: 1,
      because: "What they find follows the basins (grey strip): wide ones are found twice, narrow ones not at all.",
    },
  ];
  const TOUR = [
    { words: "A linear filter: two hills at opposite angles, wherever a filter starts.", state: { leak: 1 }, light: ".curve" },
    { words: "A leaky filter: the points’ half planes begin to break the hills.", state: { leak: 0.4 }, light: ".curve" },
    { words: "ReLU: filters stay on the hill where they began.", state: {}, light: ".ring, .curve" },
    { words: "Spread the points, and most hills go: it takes few points to make so many.", state: { spread: 0.3 }, light: ".curve" },
  ];

  function draw(board, changed) {
    const points = POINTS.slice();
    let land, linear, linearKey, floor = 0, filters = [], seed = 1, held = -1, seen = false, walking = false, goal = null;

    // --- the frame: title, result, panels, controls
    const title = make(board, "p", { class: "title" });
    const result = make(board, "p", { class: "result" });
    const panels = make(board, "div", { class: "panels" });
    const controls = make(board, "div", { class: "controls" });
    const circle = make(panels, "svg", { class: "ring", viewBox: "-135 -135 270 270", role: "group", "aria-label": "Data points and filters on the unit circle" });
    const plot = make(panels, "svg", { class: "curve", viewBox: `-38 0 ${WIDE + 52} ${HIGH}`, role: "img" });
    const bend = slider(controls, "linear to ReLU", { min: 0, max: 1, step: 0.01, value: 1 }, (v) => (v === 1 ? "ReLU" : v === 0 ? "linear" : `leak ${(1 - v).toFixed(2)}`), () => (reshape(), changed()));
    const spread = slider(controls, "spread of each point", { min: 0, max: 1, step: 0.01, value: 0 }, (v) => (v ? `± ${Math.round((v * 180) / Math.PI)}°` : "none"), () => (reshape(), changed()));
    const count = slider(controls, "filters", { min: 1, max: 64, step: 1, value: 8 }, String, () => (drop(), changed()));
    const again = make(controls, "button", { type: "button" }, "Drop them again");
    again.addEventListener("click", () => (seed++, drop(), changed()));
    // --- the ring
    make(circle, "circle", { r: R, fill: "none", stroke: "var(--rule)", "stroke-width": 2 });
    const gateLine = make(circle, "line", { stroke: "var(--soft)", "stroke-dasharray": "5 4", visibility: "hidden" });
    const arcs = make(circle, "g", { fill: "none", stroke: "var(--ink)", "stroke-width": 7, opacity: 0.3 });
    const flock = make(circle, "g");
    const dots = points.map((_, k) => handle(k));
    make(circle, "circle", { cx: -48, cy: -12, r: 5.5, fill: "var(--ink)" });
    make(circle, "text", { x: -36, y: -8 }, "data point: drag");
    const sample = make(circle, "circle", { cx: -48, cy: 14, r: 6 });
    make(circle, "text", { x: -36, y: 18 }, "filter");

    // --- the curve
    const gates = make(plot, "g", { stroke: "var(--soft)", "stroke-dasharray": "5 4" });
    const strip = make(plot, "g");
    const ghost = make(plot, "path", { fill: "none", stroke: "var(--linear)", "stroke-width": 1.6, "stroke-dasharray": "6 4" });
    const ghostName = make(plot, "text", { "text-anchor": "middle", style: "fill: var(--linear)" }, "linear");
    const line = make(plot, "path", { fill: "none", "stroke-width": 2.6 });
    const climbers = make(plot, "g");
    const peaks = make(plot, "g", { "text-anchor": "middle" });
    ["−π", "−π/2", "0", "π/2", "π"].forEach((word, k) => make(plot, "text", { x: (k * WIDE) / 4, y: BASE + STRIP + 17, "text-anchor": "middle" }, word));
    make(plot, "text", { x: WIDE / 2, y: HIGH - 6, "text-anchor": "middle", style: "fill: var(--soft)" }, "angle of the filter");
    make(plot, "text", { x: -8, y: 12, style: "fill: var(--soft)" }, "energy / largest");
    make(plot, "text", { x: -6, y: 50, "text-anchor": "end" }, "1");
    const base = make(plot, "text", { x: -6, y: BASE + 4, "text-anchor": "end" });

    const leak = () => +(1 - bend.value()).toFixed(2);
    // The height of an energy: its share of the largest, from `floor` (the base) to 1.
    const up = (energy, top) => BASE - ((energy / (top || 1) - floor) / (1 - floor)) * (BASE - 46);
    const path = ({ curve, top }) => "M" + curve.map((c) => `${across(c.t).toFixed(1)},${up(c.energy, top).toFixed(1)}`).join("L");
    const colour = () => `color-mix(in oklab, var(--linear) ${Math.round(leak() * 100)}%, var(--relu))`;

    // A data point that the pointer drags and the arrow keys turn.
    function handle(k) {
      const dot = make(circle, "g", { tabindex: 0, role: "slider", "aria-label": `data point ${k + 1}`, "aria-valuemin": -180, "aria-valuemax": 180 });
      make(dot, "circle", { r: 15, fill: "transparent" });
      make(dot, "circle", { r: 5.5, fill: "var(--ink)", stroke: "var(--card)", "stroke-width": 1.5 });
      const hold = (now) => ((held = now ? k : -1), showGates());
      const turn = (t) => ((points[k] = wrap(t)), reshape(), changed());
      dot.addEventListener("pointerdown", (event) => (dot.setPointerCapture(event.pointerId), hold(true)));
      dot.addEventListener("pointermove", (event) => {
        if (!dot.hasPointerCapture(event.pointerId)) return;
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(circle.getScreenCTM().inverse());
        turn(Math.atan2(-at.y, at.x));
      });
      dot.addEventListener("pointerup", () => hold(false));
      dot.addEventListener("focus", () => hold(true));
      dot.addEventListener("blur", () => hold(false));
      dot.addEventListener("keydown", (event) => {
        const way = { ArrowLeft: 1, ArrowUp: 1, ArrowRight: -1, ArrowDown: -1 }[event.key];
        if (!way) return;
        event.preventDefault();
        turn(points[k] + (way * (event.shiftKey ? 10 : 1) * Math.PI) / 180);
      });
      return dot;
    }

    // Where the held point enters and leaves a filter's half plane.
    function showGates() {
      gates.replaceChildren();
      gateLine.setAttribute("visibility", held < 0 ? "hidden" : "visible");
      if (held < 0) return;
      const ends = [points[held] - Math.PI / 2, points[held] + Math.PI / 2];
      const [[x1, y1], [x2, y2]] = ends.map((t) => ring(t, 125));
      for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) gateLine.setAttribute(name, value);
      for (const t of ends) make(gates, "line", { x1: across(wrap(t)), x2: across(wrap(t)), y1: 16, y2: BASE });
    }

    // The landscape anew, after a control has moved; the filters walk on from where they are.
    function reshape() {
      land = survey(points, leak(), spread.value());
      const key = [...points, spread.value()].join();
      if (key !== linearKey) [linear, linearKey] = [survey(points, 1, spread.value(), 360), key];
      const lowest = (of) => Math.min(...of.curve.map((c) => c.energy)) / (of.top || 1);
      floor = Math.max(0, Math.min(lowest(land), lowest(linear)) - 0.08);
      base.textContent = floor.toFixed(2);
      line.setAttribute("d", path(land));
      line.setAttribute("stroke", colour());
      sample.setAttribute("fill", colour());
      ghost.setAttribute("d", path(linear));
      for (const part of [ghost, ghostName]) part.setAttribute("visibility", leak() < 0.97 ? "visible" : "hidden");
      const dip = linear.curve.reduce((low, c) => (Math.abs(c.t) < 2 && c.energy < low.energy ? c : low), linear.curve[180]);
      ghostName.setAttribute("x", across(dip.t));
      ghostName.setAttribute("y", up(dip.energy, linear.top) + 15);
      points.forEach((phi, k) => {
        const [x, y] = ring(phi);
        dots[k].setAttribute("transform", `translate(${x},${y})`);
        dots[k].setAttribute("aria-valuenow", Math.round((phi * 180) / Math.PI));
      });
      arcs.replaceChildren();
      if (spread.value()) {
        for (const phi of points) {
          const [x, y] = ring(phi - spread.value()), [u, v] = ring(phi + spread.value());
          make(arcs, "path", { d: `M${x},${y}A${R},${R} 0 0 0 ${u},${v}` });
        }
      }
      showHills();
      showGates();
      filters.forEach((filter) => (filter.parked = false));
      walk();
    }

    function showHills() {
      peaks.replaceChildren();
      strip.replaceChildren();
      land.hills.forEach((hill, k) => {
        const near = (other) => other && Math.abs(across(other.t) - across(hill.t)) < 13;
        const aside = near(land.hills[k + 1]) ? -4 : near(land.hills[k - 1]) ? 4 : 0; // numbers of close hills
        const x = across(hill.t), y = up(hill.energy, land.top);
        make(peaks, "path", { d: `M${x - 5},${y - 10}h10l-5,8z`, fill: "var(--ink)" });
        make(peaks, "text", { x: x + aside, y: y - 13 }, String(k + 1));
        const fill = k % 2 ? "var(--strip)" : "var(--strip-other)", from = across(wrap(hill.from)), width = hill.share * WIDE;
        for (const left of from + width > WIDE ? [from, from - WIDE] : [from]) {
          const begin = Math.max(left, 0), end = Math.min(left + width, WIDE);
          make(strip, "rect", { x: begin, y: BASE + 2, width: end - begin, height: STRIP, fill, stroke: "var(--rule)" });
        }
      });
      const n = land.hills.length, kind = leak() === 0 ? "a ReLU filter" : leak() === 1 ? "a linear filter" : "a leaky filter";
      const others = leak() === 1 ? "" : `, ${linear.hills.length} for a linear one`;
      title.textContent = n ? `${n} ${n > 1 ? "hills" : "hill"} for ${kind}${others}` : `No hill for ${kind}: every direction is alike`;
      plot.setAttribute("aria-label", `Energy against the angle of the filter: ${n} hills. The linear curve has ${linear.hills.length}.`);
    }

    function drop() {
      filters = starts(count.value(), seed).map((t) => ({ t, parked: false }));
      for (const group of [flock, climbers]) {
        group.replaceChildren();
        filters.forEach(() => make(group, "circle", { r: 6, "stroke-width": 2, "fill-opacity": 0.75 }));
      }
      walk();
    }

    const wake = loop(() => {
      if (!seen || !walking) return false;
      if (goal !== null) bendTowards(goal);
      filters.forEach((filter) => filter.parked || Object.assign(filter, climb(filter.t, points, leak(), spread.value(), land.steepest)));
      showFilters();
      return goal !== null || filters.some((filter) => !filter.parked);
    });

    // One frame of the pull from one activation to another.
    function bendTowards(value) {
      const way = value - bend.value();
      bend.input.value = Math.abs(way) < 0.015 ? value : bend.value() + 0.01 * Math.sign(way);
      if (Math.abs(way) < 0.015) goal = null;
      bend.tell();
      reshape();
    }

    function walk() {
      if (!walking) return showFilters();
      if (still()) filters.forEach((f) => Object.assign(f, settle(f.t, points, leak(), spread.value(), land.steepest)));
      else if (seen) wake();
      showFilters();
    }

    function showFilters() {
      const found = new Set();
      filters.forEach((filter, k) => {
        const [x, y] = ring(filter.t, R + 17), hill = hillOf(filter.t, land.hills);
        const here = circleMath.landscape(filter.t, points, leak(), spread.value()).energy;
        if (filter.parked && hill >= 0) found.add(hill);
        place(flock.children[k], x, y, filter.parked);
        place(climbers.children[k], across(filter.t), up(here, land.top), filter.parked);
      });
      const moving = filters.filter((f) => !f.parked).length, expected = expectedFinds(land.hills.map((h) => h.share), filters.length);
      const words = `${filters.length} ${filters.length > 1 ? "filters" : "filter"} found ${found.size} of them`;
      const text = `${words} (expected ${expected.toFixed(1)})${moving ? `; ${moving} still climbing` : ""}`;
      if (result.textContent !== text) result.textContent = text;
    }

    function place(mark, x, y, parked) {
      mark.setAttribute("cx", x);
      mark.setAttribute("cy", y);
      mark.setAttribute("fill", colour());
      mark.setAttribute("stroke", parked ? "var(--ink)" : "none");
    }

    const read = () => ({ leak: leak(), spread: spread.value(), filters: count.value(), seed });

    function write(state) {
      [bend.input.value, spread.input.value, count.input.value] = [1 - state.leak, state.spread, state.filters];
      [bend, spread, count].forEach((control) => control.tell());
      [seed, goal, walking] = [state.seed, null, false];
      reshape();
      drop();
    }

    function run(then = {}) {
      walking = true;
      if (then.leak !== undefined) goal = 1 - then.leak;
      if (goal !== null && still()) {
        bend.input.value = goal;
        goal = null;
        bend.tell();
        reshape();
      }
      walk();
    }

    reshape();
    drop();
    return { read, write, run, free: run, seen: (now) => ((seen = now), walk()) };
  }

  start("circle", draw, { questions: QUESTIONS, tour: TOUR });
})();
