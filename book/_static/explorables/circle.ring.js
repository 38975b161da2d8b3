// The ring of the live picture "circle": data points and filters, which the pointer and the arrow keys turn, and the half
// plane of the filter that is picked.
(function () {
  "use strict";
  const { make, circleMath } = explorables;
  const { wrap } = circleMath;
  const R = 100, FAR = 125, AROUND = R + 17; // data, ends of lines, filters
  const ring = (t, r = R) => [r * Math.cos(t), -r * Math.sin(t)];
  const degrees = (t) => Math.round((t * 180) / Math.PI);
  const show = (part, now) => part.setAttribute("visibility", now ? "visible" : "hidden");
  const line = (part, [x1, y1], [x2, y2]) => Object.entries({ x1, y1, x2, y2 }).forEach(([name, value]) => part.setAttribute(name, value));

  // Lets the pointer and the keys turn a mark of the ring: hold(true or false) as it is taken and let go, turn(angle), and
  // press(key) for any other key.
  function turnable(svg, mark, { at, hold, turn, press = () => false }) {
    mark.addEventListener("pointerdown", (event) => (mark.setPointerCapture(event.pointerId), hold(true)));
    mark.addEventListener("pointermove", (event) => {
      if (!mark.hasPointerCapture(event.pointerId)) return;
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      turn(Math.atan2(-place.y, place.x));
    });
    mark.addEventListener("lostpointercapture", () => hold(false));
    mark.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: 1, ArrowUp: 1, ArrowRight: -1, ArrowDown: -1 }[event.key];
      if (press(event.key)) event.preventDefault();
      else if (way) {
        event.preventDefault();
        turn(wrap(at() + (way * (event.shiftKey ? 10 : 1) * Math.PI) / 180));
      }
    });
  }

  // Draws it. `does` hears of the reader's moves: turnPoint(k, t), holdPoint(k or -1), turnFilter(k, t), pick(k or -1),
  // letGo(). Returns what redraws its parts.
  explorables.circleRing = function (parent, n, does) {
    const svg = make(parent, "svg", { class: "ring", viewBox: "-135 -135 270 286", role: "group", "aria-label": "Data points and filters on the unit circle" });
    const half = make(svg, "path", { d: `M0,${-FAR}A${FAR},${FAR} 0 0 1 0,${FAR}z`, class: "half" });
    make(svg, "circle", { r: R, fill: "none", stroke: "var(--rule)", "stroke-width": 2 });
    const gate = make(svg, "line", { class: "gate" }), feet = make(svg, "path", { class: "feet" });
    const arrow = make(svg, "path", { d: `M0,0H${R - 8}M${R - 18},-7l11,7l-11,7`, class: "arrow" });
    const arcs = make(svg, "g", { class: "arcs" });
    const halo = make(svg, "circle", { r: 10.5, class: "halo" });
    const dots = Array.from({ length: n }, (_, k) => point(k)), flock = make(svg, "g");
    make(svg, "circle", { cx: -127, cy: 141, r: 5.5, fill: "var(--ink)" });
    make(svg, "text", { x: -117, y: 145 }, "point: drag");
    const sample = make(svg, "circle", { cx: 54, cy: 141, r: 6 });
    make(svg, "text", { x: 64, y: 145 }, "filter: drag");
    svg.addEventListener("pointerdown", (event) => event.target.closest("[tabindex]") || does.pick(-1));
    let angles = [], filters = [], picked = -1;

    function point(k) {
      const dot = make(svg, "g", { tabindex: 0, role: "slider", "aria-label": `data point ${k + 1}`, "aria-valuemin": -180, "aria-valuemax": 180 });
      make(dot, "circle", { r: 15, fill: "transparent" });
      make(dot, "circle", { r: 5.5, stroke: "var(--ink)", "stroke-width": 1.5 });
      turnable(svg, dot, { at: () => angles[k], turn: (t) => does.turnPoint(k, t), hold: (now) => does.holdPoint(now ? k : -1) });
      dot.addEventListener("focus", () => does.holdPoint(k));
      dot.addEventListener("blur", () => does.holdPoint(-1));
      return dot;
    }

    // One of the filters is in the order of tabs; the arrows up and down choose another.
    function filterMark(k, count) {
      const mark = make(flock, "g", { tabindex: k ? -1 : 0, role: "slider", "aria-label": `filter ${k + 1} of ${count}; up and down choose another, Enter lets it climb`, "aria-valuemin": -180, "aria-valuemax": 180 });
      make(mark, "circle", { r: 13, fill: "transparent" });
      make(mark, "circle", { r: 6, "stroke-width": 2, "fill-opacity": 0.75 });
      const other = (way) => flock.children[(k + way + count) % count].focus();
      const keys = { ArrowUp: () => other(1), ArrowDown: () => other(-1), Enter: does.letGo, Escape: () => does.pick(-1) };
      turnable(svg, mark, {
        at: () => filters[k].t,
        turn: (t) => does.turnFilter(k, t),
        hold: (now) => (now ? does.turnFilter(k, filters[k].t) : does.letGo()),
        press: (key) => keys[key] && (keys[key](), true),
      });
      mark.addEventListener("focus", () => does.pick(k));
    }

    function showPoints(world, held) {
      angles = world.points;
      angles.forEach((phi, k) => {
        const [x, y] = ring(phi);
        dots[k].setAttribute("transform", `translate(${x},${y})`);
        dots[k].setAttribute("aria-valuenow", degrees(phi));
      });
      arcs.replaceChildren();
      for (const phi of world.spread ? angles : []) {
        const [x, y] = ring(phi - world.spread), [u, v] = ring(phi + world.spread);
        make(arcs, "path", { d: `M${x},${y}A${R},${R} 0 0 0 ${u},${v}` });
      }
      const [x, y] = ring(angles[world.token]);
      show(halo, world.vote > 0);
      halo.setAttribute("cx", x);
      halo.setAttribute("cy", y);
      showGate(held);
    }

    // The line on which a filter must lie to have the held point on the border of its half plane.
    function showGate(held) {
      show(gate, held >= 0 || picked >= 0);
      const t = held >= 0 ? angles[held] : picked >= 0 ? filters[picked].t : 0;
      line(gate, ring(t - Math.PI / 2, FAR), ring(t + Math.PI / 2, FAR));
    }

    function showFilters(world, now, chosen, colour) {
      filters = now;
      if (flock.children.length !== now.length) {
        flock.replaceChildren();
        now.forEach((_, k) => filterMark(k, now.length));
      }
      if (chosen !== picked) now.forEach((_, k) => flock.children[k].setAttribute("tabindex", k === Math.max(chosen, 0) ? 0 : -1));
      picked = chosen;
      sample.setAttribute("fill", colour);
      now.forEach(({ t, parked }, k) => {
        const mark = flock.children[k], [x, y] = ring(t, AROUND), dot = mark.lastChild;
        mark.setAttribute("transform", `translate(${x},${y})`);
        if (k === Math.max(chosen, 0)) mark.setAttribute("aria-valuenow", degrees(t));
        dot.setAttribute("fill", colour);
        dot.setAttribute("stroke", parked ? "var(--ink)" : "none");
      });
      showHalf(world, colour);
    }

    // What the picked filter lets in: its half plane, the points in it (filled), and their feet on its axis.
    function showHalf(world, colour) {
      for (const part of [half, arrow, feet]) show(part, picked >= 0);
      const t = picked < 0 ? 0 : filters[picked].t, turn = `rotate(${(-t * 180) / Math.PI})`;
      for (const part of [half, arrow]) part.setAttribute("transform", turn);
      half.setAttribute("fill", colour);
      arrow.setAttribute("stroke", colour);
      half.setAttribute("opacity", 0.16 * (1 - world.leak));
      const passes = world.points.map((phi) => picked < 0 || Math.cos(phi - t) > 0);
      dots.forEach((dot, k) => dot.lastChild.setAttribute("fill", passes[k] ? "var(--ink)" : `color-mix(in oklab, var(--ink) ${Math.round(world.leak * 100)}%, var(--card))`));
      const inside = picked < 0 ? [] : world.points.filter((phi, k) => passes[k]);
      feet.setAttribute("d", inside.map((phi) => `M${ring(phi)}L${ring(t, R * Math.cos(phi - t))}`).join(""));
      if (picked >= 0) showGate(-1);
    }

    return { showPoints, showGate, showFilters, focus: (k) => flock.children[k].focus() };
  };
})();
