// The strips of the live picture "masks": a datum, its two views, what both views pass, and below them the neuron.
(function () {
  "use strict";
  const { make, masksMath } = explorables;
  const { DIM, datum, masks } = masksMath;
  const WIDE = 20, HALF = 22, SLIM = 7, TALL = 12; // of a cell, of a row above and below 0, of a bar of signal, of a tick
  const LOUD = 0.9, HEAVY = 0.5; // what reaches the edge of a row: a datum's value unless one is larger, a weight of a unit neuron

  // One row: words, and an SVG that is stretched to the room it has, so it holds no text. Returns the SVG.
  function row(parent, words, high) {
    const line = make(parent, "div", { class: "line" });
    make(line, "span", {}, ...words);
    return make(line, "svg", { viewBox: `0 ${-high} ${WIDE * DIM} ${2 * high}`, preserveAspectRatio: "none", role: "img" });
  }

  // A row of bars from 0, wide ones of noise and slim ones of signal before them; a closed cell is grey and has none.
  function bars(parent, words) {
    const svg = row(parent, words, HALF), cells = Array.from({ length: DIM }, (_, i) => {
      const cell = make(svg, "rect", { x: i * WIDE + 1, y: -HALF, width: WIDE - 2, height: 2 * HALF, class: "slot" });
      const [noise, signal] = [["noise", WIDE - 4], ["signal", SLIM]].map(([name, width]) => make(svg, "rect", { x: (i + 0.5) * WIDE - width / 2, width, class: name }));
      return { cell, noise, signal };
    });
    make(svg, "path", { d: `M0,0H${WIDE * DIM}`, class: "zero" });
    const stand = (bar, value) => {
      bar.setAttribute("y", Math.min(0, -value).toFixed(2));
      bar.setAttribute("height", Math.abs(value).toFixed(2));
    };
    return function ({ signal, noise }, largest, open, name) {
      cells.forEach((parts, i) => {
        const passes = !open || open[i];
        parts.cell.classList.toggle("closed", !passes);
        stand(parts.noise, passes ? (HALF * noise[i]) / largest : 0);
        stand(parts.signal, passes ? (HALF * signal[i]) / largest : 0);
      });
      svg.setAttribute("aria-label", name);
    };
  }

  // Draws the rows; returns {data(settings), neuron({signal, rest}, length, words)}. Views are drawn without their factor 2.
  explorables.maskStrips = function (parent) {
    const strips = make(parent, "div", { class: "strips" });
    const whole = bars(strips, [make(null, "b", { class: "signal" }, "signal"), " + ", make(null, "b", { class: "noise" }, "noise")]), one = bars(strips, ["view 1"]);
    const both = row(strips, [], TALL / 2), ticks = Array.from({ length: DIM }, (_, i) => make(both, "rect", { x: (i + 0.5) * WIDE - 2, y: -TALL / 2, width: 4, height: TALL, class: "tick" }));
    const two = bars(strips, ["view 2"]), learned = bars(strips, ["neuron"]), words = both.parentNode.firstChild;
    strips.lastChild.classList.add("neuron");

    function data(settings) {
      const { signal, noise } = datum(settings), { first, second } = masks(settings), x = { signal, noise };
      const largest = Math.max(LOUD, ...noise.map(Math.abs)), common = first.map((open, i) => open && second[i]);
      const count = common.filter(Boolean).length;
      whole(x, largest, null, `A datum of ${DIM} numbers: signal, even over blocks, and uneven noise`);
      one(x, largest, first, "The first view: what its mask lets through, half of the datum");
      two(x, largest, second, "The second view: what its mask lets through");
      ticks.forEach((tick, i) => tick.classList.toggle("off", !common[i]));
      words.textContent = count ? `in both: ${count} of ${DIM}` : "nothing in both";
      both.setAttribute("aria-label", words.textContent);
    }

    const neuron = ({ signal, rest }, length, name) => learned({ signal, noise: rest }, HEAVY * length, null, name);
    return { data, neuron };
  };
})();
