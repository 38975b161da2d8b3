// The live picture "clouds": outputs of three networks on two half moons, from one start, each under another rule.
// In Chromium, layout included, a frame takes 0.5 to 0.9 ms and a moved control 1.8 to 3 ms (medians of 200 and 60, on two
// cores, idle and with others at work); the arithmetic of it is 0.02 ms for 360 points and 0.5 ms for a film of 400 steps.
(function () {
  "use strict";
  const { make, slider, loop, still, start, cloudsMath, cloudSigns } = explorables;
  const { RULES, END, halfMoons, inEigenbasis, film, at, outputs } = cloudsMath;
  const NAMES = { none: "no rule", norm: "norm held", layers: "orthonormal layers" };
  const DASHES = { none: "none", norm: "6 5", layers: "7 3" };
  const WIDE = 320, HIGH = 158, BASE = 118, SIDE = 100, EDGE = 1.12; // strip; half a panel, and the room round a cloud
  const SMALLEST = Math.log10(0.02), LARGEST = Math.log10(0.95), FLAT = 1.1; // start sizes; ranks below are a line
  const GOLDEN = Math.PI * (3 - Math.sqrt(5)); // between the angles of one start and the next
  const FIRST = { negatives: 1, size: 0.2, angle: 0.7, white: false, weights: false }; // what the sliders show first
  const MOONS = halfMoons(), SHOWN = 3; // the time of which readers who prefer reduced motion see a picture

  // The rank of a rule's cloud at a time of a film.
  const rankAt = (settings, rule, time) => cloudsMath.rank(at(film({ ...FIRST, ...settings }).paths[rule], time));
  const lines = (settings, time) => RULES.filter((rule) => rankAt(settings, rule, time) < FLAT).join();

  const QUESTIONS = [
    {
      ask: "Three rules, one cloud: at time 3, which of the three clouds are a line?",
      from: {},
      answers: [["all three", RULES.join()], ["no rule and norm held", "none,norm"], ["none of them", ""]],
      truth: () => lines({}, 3),
      because: "Holding the norm stops the growth, not the collapse; orthonormal layers flatten the cloud for a while and open it again.",
    },
    {
      ask: "Now with 2.5 negatives per positive: what becomes of the third cloud?",
      from: { nu: 2.5 },
      answers: [["it opens again", "none,norm"], ["it ends on a line, too", RULES.join()]],
      truth: () => lines({ negatives: 2.5 }, END),
      because: "λ₂ is positive now, so C has one negative eigenvalue only; the constraint keeps what C asks for, no more.",
    },
    {
      ask: "White data, the same variance in every direction: does the cloud without a rule flatten?",
      from: { white: 1 },
      answers: [["yes", true], ["no", false]],
      truth: () => lines({ white: true }, END).includes("none"),
      because: "It only grows. Collapse needs a gap between λ₁ and λ₂.",
    },
  ];
  const TOUR = [
    { words: "Three linear models see these two half moons and start from the same outputs.", state: { t: 0 }, light: ".data" },
    { words: "At time 3 two clouds are lines: their outputs are copies of one number.", state: { t: 3 }, light: ".by-none, .by-norm" },
    { words: "The effective rank says so in one number per cloud: 1 is a line, 2 as broad as long.", state: { t: 8 }, light: ".curve" },
    { words: "Past the turning point λ₂ is positive (hollow), and orthonormal layers give that direction up.", state: { t: 8, nu: 2.5 }, light: ".signs, .by-layers" },
    { words: "A tenth of the size, as in a network 100 times as wide: at time 3 the third cloud, too, looks like a line, but it will open.", state: { t: 3, size: -1.7 }, light: ".by-layers, .curve" },
  ];

  // In words: is a cloud of this effective rank a line?
  const says = (rank) => (rank < FLAT ? "a line" : rank < 1.5 ? "narrow" : rank < 1.9 ? "oblong" : "broad");

  function draw(board, changed) {
    let shot, points, farthest, t = 0, reached = 0, angle = 0.7, playing = false, before = 0, seen = false;

    // --- the frame: title, clouds, ranks and eigenvalues, controls
    const title = make(board, "p", { class: "title" });
    const clouds = make(board, "div", { class: "rules" });
    const data = make(make(clouds, "div", { class: "data" }), "p", { class: "name" }, "the data").parentNode;
    make(data, "p", { class: "size" }, "● upper, ○ lower moon");
    const shownData = scatter(data, "var(--ink)");
    const panels = Object.fromEntries(RULES.map((rule) => [rule, panel(rule)]));
    const below = make(board, "div", { class: "panels" });
    make(below, "div", { class: "legend" }, ...RULES.map(legend));
    const strip = make(below, "svg", { class: "curve", viewBox: `-30 0 ${WIDE + 44} ${HIGH}`, role: "img" });
    const showSigns = cloudSigns(below);
    const [controls, settings, choices] = [1, 2, 3].map(() => make(board, "div", { class: "controls" }));
    const play = make(controls, "button", { type: "button" }, "Play");
    play.addEventListener("click", () => (playing ? (pause(), changed()) : run()));
    const time = slider(controls, "time", { min: 0, max: END, step: 0.02, value: 0 }, (v) => v.toFixed(2), () => (pause(), go(time.value()), changed()));
    const ratio = slider(settings, "negatives per positive, ν", { min: 0, max: 6, step: 0.01, value: 1 }, (v) => v.toFixed(2), moved);
    const size = slider(settings, "size s of the start", { min: SMALLEST, max: LARGEST, step: 0.01, value: Math.log10(0.2) }, sized, moved);
    const again = make(controls, "button", { type: "button" }, "New start");
    again.addEventListener("click", () => ((angle = +((angle + GOLDEN) % (2 * Math.PI)).toFixed(3)), moved()));
    const white = choice("white data");
    const weights = choice("project the weights, not the gradients");
    const fixed = choice("one fixed scale");

    function moved() {
      reshoot();
      changed();
    }

    // A rule's colour for words: purple on white would be too pale.
    function inked(rule) {
      return `color-mix(in oklab, var(--${rule}) 75%, var(--ink))`;
    }

    // A cloud: dots are the upper moon, rings the lower one, as dots whose middle has the colour of the card.
    function scatter(box, colour) {
      const picture = make(box, "svg", { viewBox: `${-SIDE} ${-SIDE} ${2 * SIDE} ${2 * SIDE}`, role: "img" });
      make(picture, "path", { d: `M${-SIDE},0h${2 * SIDE}M0,${-SIDE}v${2 * SIDE}`, stroke: "var(--rule)" });
      const mark = (stroke, width) => make(picture, "path", { stroke, "stroke-width": width, "stroke-linecap": "round" });
      return { picture, rings: [mark(colour, 6), mark("var(--card)", 3.2)], dots: mark(colour, 4.6) };
    }

    function panel(rule) {
      const box = make(clouds, "div", { class: `by-${rule}` });
      make(box, "p", { class: "name", style: `color: ${inked(rule)}` }, NAMES[rule]);
      return { words: make(box, "p", { class: "size" }), ...scatter(box, `var(--${rule})`) };
    }

    // Draws points in a scatter that shows -view to view.
    function put({ dots, rings }, at, view) {
      const marks = at.map(([x, y]) => `M${((x * SIDE) / view).toFixed(2)},${((-y * SIDE) / view).toFixed(2)}h0`);
      dots.setAttribute("d", marks.slice(0, marks.length / 2).join(""));
      for (const ring of rings) ring.setAttribute("d", marks.slice(marks.length / 2).join(""));
    }

    function legend(rule) {
      const entry = make(null, "span", { style: `color: ${inked(rule)}` }), sample = make(entry, "svg", { viewBox: "0 0 26 8", "aria-hidden": "true" });
      make(sample, "path", { d: "M0,4h26", ...stroke(rule) });
      entry.append(NAMES[rule]);
      return entry;
    }

    // How a rule's line looks; the one without a rule lies below another.
    function stroke(rule) {
      const under = rule === "none";
      return { fill: "none", stroke: `var(--${rule})`, "stroke-width": under ? 7 : 2.8, "stroke-dasharray": DASHES[rule], opacity: under ? 0.4 : 1 };
    }

    function choice(words) {
      const label = make(choices, "label", { class: "choice" }), box = make(label, "input", { type: "checkbox" });
      label.append(words);
      box.addEventListener("change", moved);
      return box;
    }

    function sized(power) {
      const s = Math.pow(10, power);
      return `${s.toPrecision(2)}, as at width ${Math.max(4, Number((3 / (s * s)).toPrecision(2)))}`; // h = 3/s^2 in the middle
    }

    // --- ranks over time
    const across = (time) => (time / END) * WIDE, up = (rank) => BASE - (rank - 1) * (BASE - 26);
    make(strip, "text", { x: -24, y: 12 }, "effective rank: 1 is a line, 2 is broad");
    [1, 2].forEach((rank) => {
      make(strip, "line", { x1: 0, x2: WIDE, y1: up(rank), y2: up(rank), stroke: "var(--rule)" });
      make(strip, "text", { x: -8, y: up(rank) + 4, "text-anchor": "end" }, String(rank));
    });
    [0, 2, 4, 6, 8].forEach((time) => make(strip, "text", { x: across(time), y: BASE + 18, "text-anchor": "middle" }, String(time)));
    make(strip, "text", { x: WIDE / 2, y: HIGH - 5, "text-anchor": "middle", style: "fill: var(--soft)" }, "time (drag)");
    const cursor = make(strip, "line", { y1: 20, y2: BASE + 4, stroke: "var(--ink)" });
    const lines = Object.fromEntries(RULES.map((rule) => [rule, make(strip, "path", stroke(rule))]));
    const heads = Object.fromEntries(RULES.map((rule) => [rule, make(strip, "circle", { r: rule === "none" ? 6 : 4, fill: `var(--${rule})` })]));
    const drag = (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(strip.getScreenCTM().inverse());
      pause();
      go((place.x / WIDE) * END);
      changed();
    };
    strip.addEventListener("pointerdown", (event) => (strip.setPointerCapture(event.pointerId), drag(event)));
    strip.addEventListener("pointermove", (event) => strip.hasPointerCapture(event.pointerId) && drag(event));

    // The film anew, after a control has moved; the time stays.
    function reshoot() {
      const negatives = ratio.value();
      shot = film({ negatives, size: Math.pow(10, size.value()), angle, white: white.checked, weights: weights.checked });
      points = inEigenbasis(MOONS, negatives, white.checked);
      farthest = Math.max(...points.map(([x, y]) => Math.hypot(x, y)));
      ratio.input.disabled = white.checked; // C/n is -I then, whatever nu is
      const raw = white.checked ? points : MOONS, far = Math.max(...raw.flat().map(Math.abs));
      put(shownData, raw, EDGE * far);
      shownData.picture.setAttribute("aria-label", white.checked ? "The data: two half moons, made white" : "The data: two half moons");
      showSigns(shot.values);
      go(t);
    }

    // Shows a time of the film.
    function go(now) {
      t = Math.min(Math.max(now, 0), END);
      time.input.value = t;
      time.input.setAttribute("aria-valuetext", (time.input.previousElementSibling.lastChild.textContent = t.toFixed(2)));
      reached = Math.max(reached, t);
      RULES.forEach(showLine);
      cursor.setAttribute("x1", across(t));
      cursor.setAttribute("x2", across(t));
      const ranks = Object.fromEntries(RULES.map((rule) => [rule, showCloud(rule)]));
      const words = headline(ranks);
      if (title.textContent !== words) title.textContent = words;
      if (!playing) strip.setAttribute("aria-label", `Effective rank at time ${t.toFixed(1)}: ${RULES.map((r) => `${NAMES[r]} ${ranks[r].toFixed(2)}`).join(", ")}`);
    }

    // The ranks up to the latest time seen: what comes is the reader's to guess.
    function showLine(rule) {
      const ranks = shot.ranks[rule], last = (reached / END) * (ranks.length - 1), until = ranks.slice(0, Math.floor(last + 1e-9) + 1);
      lines[rule].setAttribute("d", "M" + until.map((r, k) => `${across((k * END) / (ranks.length - 1)).toFixed(1)},${up(r).toFixed(1)}`).join("L"));
    }

    // Draws one cloud at time t and returns its rank. Unless the scale is fixed, the view zooms out with a free cloud.
    function showCloud(rule) {
      const q = at(shot.paths[rule], t), u = outputs(q, points), rank = cloudsMath.rank(q), { words, picture } = panels[rule];
      const bound = fixed.checked ? 1 : { norm: shot.norm, layers: 1 }[rule]; // of the norm of q
      const view = EDGE * (bound ? bound * farthest : Math.max(...u.map(([x, y]) => Math.max(Math.abs(x), Math.abs(y)))));
      put(panels[rule], u, view);
      const scale = view >= 1e4 ? view.toExponential(0).replace("e+", "e") : view >= 100 ? view.toFixed(0) : view.toPrecision(2);
      words.textContent = `rank ${rank.toFixed(2)}: ${says(rank)}\nedge at ±${scale}`;
      heads[rule].setAttribute("cx", across(t));
      heads[rule].setAttribute("cy", up(rank));
      if (!playing) picture.setAttribute("aria-label", `${NAMES[rule]}: outputs of two half moons, rank ${rank.toFixed(2)}, seen from minus to plus ${scale}`);
      return rank;
    }

    function headline({ none, layers }) {
      if (white.checked) return "White data: nothing flattens, even without a rule";
      if (none > FLAT) return "Three rules, one cloud: which of them flatten?";
      const flat = layers < FLAT;
      if (shot.values[1] >= 0) return flat ? "All three flatten: C has only one negative eigenvalue" : "λ₂ is positive: the third is flattening, too";
      if (flat) return "Two clouds are on a line; the third will open, for λ₂ is negative";
      return "Two clouds flatten to a line, the third does not";
    }

    // --- playing
    const wake = loop(() => {
      const now = performance.now();
      if (!playing || !seen) return false;
      const next = t + Math.min(now - before, 100) / 1000; // one unit of time per second
      before = now;
      if (next >= END) pause();
      go(next);
      return playing;
    });

    function run() {
      if (t >= END) go(0);
      playing = true;
      play.textContent = "Pause";
      onScreen(seen);
    }

    function onScreen(now) {
      [seen, before] = [now, performance.now()];
      if (playing && seen) wake();
    }

    function pause() {
      playing = false;
      play.textContent = "Play";
    }

    const numbers = { t: time.input, nu: ratio.input, size: size.input }, boxes = { white, weights, fixed };

    function read() {
      const shown = Object.entries(numbers).map(([key, input]) => [key, +(+input.value).toFixed(2)]);
      return { ...Object.fromEntries(shown), angle, ...Object.fromEntries(Object.entries(boxes).map(([key, box]) => [key, +box.checked])) };
    }

    function write(state) {
      pause();
      for (const key in boxes) boxes[key].checked = !!state[key];
      for (const key in numbers) numbers[key].value = state[key];
      [ratio, size].forEach((control) => control.tell());
      [angle, reached, t] = [state.angle, 0, time.value()];
      reshoot();
    }

    reshoot();
    return { read, write, run: () => (still() ? go(SHOWN) : run()), seen: onScreen };
  }

  start("clouds", draw, { questions: QUESTIONS, tour: TOUR });
})();
