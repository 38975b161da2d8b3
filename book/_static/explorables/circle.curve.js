// The curve of the live picture "circle": the energy against the angle of a filter, its hills and their basins, the gates,
// and the outputs of the filter that is picked, whose variance is the height of the curve.
(function () {
  "use strict";
  const { make, circleMath } = explorables;
  const { TURN, wrap, kinks, outputs, landscape, hillOf } = circleMath;
  const WIDE = 430, HIGH = 268, BASE = 208, STRIP = 16, TOP = 46, AXIS = 48;
  const across = (t) => ((t + Math.PI) / TURN) * WIDE, along = (h) => ((h + 1) / 2) * WIDE;
  const show = (part, now) => part.setAttribute("visibility", now ? "visible" : "hidden");
  const soft = { style: "fill: var(--soft)" }, middle = { "text-anchor": "middle" };

  explorables.circleCurve = function (parent) {
    const side = make(parent, "div", { class: "side" });
    const plot = make(side, "svg", { class: "curve", viewBox: `-38 0 ${WIDE + 52} ${HIGH}`, role: "img" });
    const held = make(plot, "g", { class: "gate" }), basins = make(plot, "g"), ticks = make(plot, "path", { class: "ticks" });
    const ghost = make(plot, "path", { class: "ghost" }), ghostName = make(plot, "text", middle);
    const line = make(plot, "path", { fill: "none", "stroke-width": 2.6 }), reading = make(plot, "path", { class: "reading" });
    const climbers = make(plot, "g"), peaks = make(plot, "g", middle), here = make(plot, "circle", { r: 8, class: "here" });
    ["−π", "−π/2", "0", "π/2", "π"].forEach((word, k) => make(plot, "text", { x: (k * WIDE) / 4, y: BASE + STRIP + 17, ...middle }, word));
    make(plot, "text", { x: WIDE / 2, y: HIGH - 6, ...middle, ...soft }, "angle of the filter");
    make(plot, "text", { x: -8, y: 12, ...soft }, "energy / largest");
    const gateName = make(plot, "text", { x: WIDE, y: 12, "text-anchor": "end", ...soft }, "╷ a point enters or leaves");
    make(plot, "text", { x: -6, y: TOP + 4, "text-anchor": "end" }, "1");
    const value = make(plot, "text", { x: -6, "text-anchor": "end", class: "value" }), base = make(plot, "text", { x: -6, y: BASE + 4, "text-anchor": "end", class: "base" });
    const below = outputLine(side);
    let land, floor = 0;

    // The height of an energy: its share of the largest, from `floor` (the base) to 1.
    const up = (energy, top) => BASE - ((energy / (top || 1) - floor) / (1 - floor)) * (BASE - TOP);
    const path = ({ curve }, top) => "M" + curve.map((c) => `${across(c.t).toFixed(1)},${up(c.energy, top).toFixed(1)}`).join("L");

    // The landscape, and for comparison another one, with its name and colour, on a scale of its own or on this one's.
    function showLand(world, now, colour, other) {
      const top = other.own ? other.land.top : now.top, lowest = (of, most) => Math.min(...of.curve.map((c) => c.energy)) / (most || 1);
      land = now;
      floor = Math.max(0, Math.min(lowest(land, land.top), lowest(other.land, top)) - 0.08);
      base.textContent = floor.toFixed(2);
      line.setAttribute("d", path(land, land.top));
      line.setAttribute("stroke", colour);
      ghost.setAttribute("d", path(other.land, top));
      ghost.setAttribute("stroke", other.colour);
      ghostName.textContent = other.name;
      ghostName.setAttribute("style", `fill: ${other.colour}`);
      for (const part of [ghost, ghostName]) show(part, other.shown);
      const { curve } = other.land, dip = curve.reduce((low, c) => (Math.abs(c.t) < 2 && c.energy < low.energy ? c : low), curve[curve.length / 2]);
      ghostName.setAttribute("x", across(dip.t));
      ghostName.setAttribute("y", other.own ? up(dip.energy, top) + 15 : BASE - 14);
      const bent = world.leak < 1 && world.spread === 0;
      ticks.setAttribute("d", bent ? kinks(world).map((t) => `M${across(t).toFixed(1)},${BASE}v-9`).join("") : "");
      show(gateName, bent);
      showHills(world);
    }

    function showHills(world) {
      peaks.replaceChildren();
      basins.replaceChildren();
      const voted = world.vote > 0 ? hillOf(world.points[world.token], land.hills) : -1;
      land.hills.forEach((hill, k) => {
        const near = (other) => other && Math.abs(across(other.t) - across(hill.t)) < 13;
        const aside = near(land.hills[k + 1]) ? -4 : near(land.hills[k - 1]) ? 4 : 0; // numbers of close hills
        const x = across(hill.t), y = up(hill.energy, land.top);
        make(peaks, "path", { d: `M${x - 5},${y - 10}h10l-5,8z`, fill: k === voted ? "var(--vote)" : "var(--ink)" });
        make(peaks, "text", { x: x + aside, y: y - 13 }, String(k + 1));
        const fill = k === voted ? "var(--vote)" : k % 2 ? "var(--strip)" : "var(--strip-other)", from = across(wrap(hill.from)), width = hill.share * WIDE;
        for (const left of from + width > WIDE ? [from, from - WIDE] : [from]) {
          const begin = Math.max(left, 0), end = Math.min(left + width, WIDE);
          make(basins, "rect", { x: begin, y: BASE + 2, width: end - begin, height: STRIP, fill, stroke: "var(--rule)" });
        }
      });
    }

    // Where a held point enters and leaves a filter's half plane.
    function showGates(t) {
      held.replaceChildren();
      for (const end of t === null ? [] : [t - Math.PI / 2, t + Math.PI / 2]) make(held, "line", { x1: across(wrap(end)), x2: across(wrap(end)), y1: 16, y2: BASE });
    }

    function showFilters(world, filters, picked, colour) {
      while (climbers.children.length > filters.length) climbers.lastChild.remove();
      while (climbers.children.length < filters.length) make(climbers, "circle", { r: 6, "stroke-width": 2, "fill-opacity": 0.75 });
      filters.forEach(({ t, parked }, k) => {
        const at = { cx: across(t), cy: up(landscape(t, world).energy, land.top), fill: colour, stroke: parked ? "var(--ink)" : "none" };
        for (const name in at) climbers.children[k].setAttribute(name, at[name]);
      });
      for (const part of [here, reading, value]) show(part, picked >= 0);
      if (picked < 0) return below(world, null);
      const { t } = filters[picked], x = across(t), y = up(landscape(t, world).energy, land.top);
      here.setAttribute("cx", x);
      here.setAttribute("cy", y);
      here.setAttribute("fill", colour);
      reading.setAttribute("d", `M${x},${BASE}V${y}H0`);
      value.setAttribute("y", y + 4);
      value.textContent = y - TOP < 14 ? "" : (landscape(t, world).energy / (land.top || 1)).toFixed(2);
      below(world, t, land.top, colour);
    }

    return { showLand, showGates, showFilters, name: (words) => plot.setAttribute("aria-label", words) };
  };

  // The line with the outputs h(w'x) of the picked filter, their mean and, as a bar, their standard deviation.
  function outputLine(parent) {
    const svg = make(parent, "svg", { class: "outputs", viewBox: `-38 0 ${WIDE + 52} 84`, role: "img" });
    const words = make(svg, "text", { x: -34, y: 12 }), shown = make(svg, "g");
    const bar = make(shown, "path", { class: "bar" }), middleMark = make(shown, "path", { class: "mean" });
    make(shown, "path", { d: `M0,${AXIS}H${WIDE}M0,${AXIS}v5M${WIDE / 2},${AXIS}v5M${WIDE},${AXIS}v5`, stroke: "var(--soft)" });
    const marks = make(shown, "g", { class: "marks" });
    ["−1", "0", "1"].forEach((word, k) => make(shown, "text", { x: (k * WIDE) / 2, y: AXIS + 32, ...middle }, word));
    make(shown, "text", { x: WIDE / 4, y: AXIS + 32, ...middle, ...soft }, "output");

    return function (world, t, top, colour) {
      show(shown, t !== null);
      if (t === null) {
        words.textContent = "Drag a filter to see which points it lets in.";
        return svg.setAttribute("aria-label", words.textContent);
      }
      const said = outputs(t, world), { energy, mean: m, b } = landscape(t, world), centres = [];
      const variance = 2 * energy - world.vote * b * b, sd = Math.sqrt(Math.max(variance, 0));
      marks.replaceChildren();
      said.forEach(({ low, high }, k) => {
        const centre = along((low + high) / 2), wide = world.spread > 0; // dots on a pile, or a line of its own for each arc
        const level = wide ? 0.5 * k : centres.filter((other) => Math.abs(other - centre) < 9).length;
        const voted = world.vote > 0 && k === world.token, open = Math.cos(world.points[k] - t) > 0 || world.leak === 1;
        const look = { d: `M${along(low)},${AXIS - 5}H${along(high) + 0.01}`, transform: `translate(0,${-6 * level})` };
        centres.push(centre);
        make(marks, "path", { ...look, stroke: voted ? "var(--vote)" : "var(--ink)", "stroke-width": wide ? 2.4 : 9, opacity: wide && !open ? 0.4 : 1 });
        if (!open && !wide) make(marks, "path", { ...look, stroke: "var(--card)", "stroke-width": 5.5 });
      });
      bar.setAttribute("d", `M${along(m - sd)},${AXIS + 11}H${along(m + sd)}`);
      bar.setAttribute("stroke", colour);
      middleMark.setAttribute("d", `M${along(m)},${AXIS + 4}v14`);
      const vote = world.vote ? ` + ${world.vote.toFixed(2)} · ${Math.abs(b).toFixed(2)}² = ${(2 * energy).toFixed(2)}` : "";
      const share = `${(energy / (top || 1)).toFixed(2)} of the largest`;
      words.textContent = vote ? `variance ${variance.toFixed(2)}${vote}, ${share}` : `variance of its outputs: ${variance.toFixed(3)}, ${share}`;
      svg.setAttribute("aria-label", words.textContent);
    };
  }
})();
