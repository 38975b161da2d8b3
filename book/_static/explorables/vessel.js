// The live picture "vessel": each direction of the data is a shaft as deep as its correlation, the inverse temperature is water,
// and a linear network that is trained in the page pours it. The law says where the water stands. In Chromium a frame of training,
// with layout, takes 1.5 ms.
(function () {
  "use strict";
  const { make, slider, loop, still, start, vesselMath } = explorables;
  const { spectrum, waterFilling, learnedTau, rank, begin, kicked, sharesOf, step } = vesselMath;
  const { distanceFilling, learnedDistanceTau, normals, sampledStep } = vesselMath;
  const NAMES = ["first", "second", "third", "fourth"], USUAL = [0.9, 0.7, 0.5, 0.3];
  const LEFT = 54, WIDE = 700, TALL = 306, TOP = 16, BOTTOM = 250; // of the drawing; shafts end at BOTTOM, where rho is 1.05
  const STEPS = 5, LONGEST = 20000, RESTS = 2e-7; // steps a frame, at most, and a change of a share per step that is none
  const MOST = 6;
  const PAIRS = 64, SAMPLED = 1500; // pairs a step, and steps, of a training on samples

  const usual = { shared: USUAL, priv: 2, coupled: 0 }, bare = spectrum(usual);
  const wet = (tau, from, to) => waterFilling(bare, tau).shares.slice(from, to).filter((g) => g > 0).length;

  const QUESTIONS = [
    {
      ask: "Four features are shared by two views, with correlations 0.9, 0.7, 0.5 and 0.3; two more are private. At the inverse temperature τ² = 1, how many does a trained linear network keep?",
      from: {},
      then: {},
      answers: [["one, the strongest", 1], ["three", 3], ["all four", 4]],
      truth: () => wet(1, 0, 6),
      because: "Water finds its level. One unit of it covers the three deepest shafts and leaves the fourth dry.",
    },
    {
      ask: "Now the network may learn τ² as well, as CLIP does. Where will it stop?",
      from: { tau: 0.5 },
      then: { learn: 1 },
      answers: [["at the largest correlation, 0.9", "largest"], ["at their sum, 2.4", "sum"], ["it goes on growing", "never"]],
      truth: () => (Math.abs(learnedTau(bare) - bare.reduce((a, b) => a + b, 0)) < 1e-12 ? "sum" : "other"),
      because: "It pours until each shared shaft is full to the brim: τ² counts the correlations, and each share times τ² is one of them.",
    },
    {
      ask: "We fix τ² = 4, more than the sum of all correlations. One encoder serves both views and must spend it. On what?",
      from: { tau: 2.4 },
      then: { tau: 4 },
      answers: [["on the shared features", "shared"], ["on private ones, too", "private"]],
      truth: () => (wet(4, 4, 6) ? "private" : "shared"),
      because: "The vessel is full, so the water runs over: what the views do not share gets its part. No negative has removed noise.",
    },
    {
      ask: "τ² = 1 again, but now six private features are alike in both views, as if no augmentation touched them: their correlation is 1. Who wins?",
      from: { private: 6 },
      then: { coupled: 1 },
      answers: [["the shared features", "shared"], ["the private ones", "private"]],
      truth: () => {
        const { shares } = waterFilling(spectrum({ shared: USUAL, priv: 6, coupled: 1 }), 1), total = (part) => part.reduce((a, b) => a + b, 0);
        return total(shares.slice(0, 4)) > total(shares.slice(4)) ? "shared" : "private";
      },
      because: "The law knows no noise, only correlations. What both views show alike is deepest, and of that there are six dimensions.",
    },
  ];
  const TOUR = [
    { words: "A shaft for each direction, as deep as its correlation ρ between the two views. Private directions have ρ = 0 and no depth.", state: { tau: 0.1 }, light: ".vessel" },
    { words: "τ² = 0.3 (a high temperature): the deepest shaft takes most. As τ² goes to 0 it takes all, the collapse of positive pairs alone.", state: { tau: 0.3 }, light: ".vessel" },
    { words: "Equal depths fill equally at any τ²: balance belongs to equal correlations, not to negatives alone.", state: { tau: 1, first: 0.7, third: 0.7, fourth: 0.7 }, light: ".vessel" },
    { words: "Two outputs instead of eight: only the two deepest shafts are open.", state: { tau: 2, outputs: 2 }, light: ".vessel" },
    { words: "So far the loss was that of infinitely many negatives, whose optimum is the law. Now 64 pairs are drawn at each step, and τ² is learned: the vessel ends a little over the brim.", state: { tau: 0.5, learn: 1, sampled: 1 }, light: ".vessel" },
  ];

  function draw(board, changed) {
    let sampled = false, distance = false, random = null;
    let network = null, seed = 1, learn = false, running = false, seen = false, taken = 0, goal = null;

    // --- the frame: title, result, vessel, controls
    const title = make(board, "p", { class: "title", role: "status" });
    const result = make(board, "p", { class: "result" });
    const svg = make(make(board, "div", { class: "panels" }), "svg", { class: "vessel", viewBox: `0 0 ${WIDE} ${TALL}`, role: "img" });
    const controls = make(board, "div", { class: "controls" });
    const play = make(controls, "button", { type: "button" }, "Train anew");
    play.addEventListener("click", () => (seed++, anew(), changed()));
    const toggle = make(controls, "button", { type: "button", "aria-pressed": "false" }, "Learn τ²");
    toggle.addEventListener("click", () => (setLearn(!learn), moved()));
    const drawn = make(controls, "button", { type: "button", "aria-pressed": "false" }, `${PAIRS} sampled pairs a step`);
    drawn.addEventListener("click", () => (setLoss(!sampled, false), moved()));
    const apart = make(controls, "button", { type: "button", "aria-pressed": "false" }, "by distance");
    apart.addEventListener("click", () => (setLoss(true, !distance), moved()));
    const decimal = (v) => String(+v.toFixed(2)).replace("-", "−");
    const tau = slider(controls, "inverse temperature τ²", { min: 0.1, max: MOST, step: 0.05, value: 1 }, decimal, () => (setLearn(false), (network.tau = tau.value()), moved()));
    const outputs = slider(controls, "outputs z", { min: 1, max: 12, step: 1, value: 8 }, String, () => (anew(), changed()));
    const depths = NAMES.map((name, k) => slider(controls, `ρ of the ${name}`, { min: 0, max: 1, step: 0.05, value: USUAL[k] }, decimal, moved));
    const priv = slider(controls, "private directions", { min: 0, max: 8, step: 1, value: 2 }, String, () => (anew(), changed()));
    const coupled = slider(controls, "their ρ", { min: 0, max: 1, step: 0.05, value: 0 }, (v) => (v ? (v < 1 ? decimal(v) : "1, no augmentation") : "0, private"), moved);
    const rho = () => spectrum({ shared: depths.map((d) => d.value()), priv: priv.value(), coupled: coupled.value() });

    function set(control, value) {
      control.input.value = value;
      control.tell();
    }

    function setLearn(now) {
      learn = now;
      toggle.setAttribute("aria-pressed", now);
    }

    // Distances are compared among sampled pairs alone.
    function setLoss(bySample, byDistance) {
      [sampled, distance] = [bySample, byDistance];
      drawn.setAttribute("aria-pressed", sampled);
      apart.setAttribute("aria-pressed", distance);
    }

    // Another depth, or more water: the network trains on. A small kick wets every shaft, as one that has dried up stays dry.
    function moved() {
      network.u = kicked(network.u, seed);
      go();
      changed();
    }

    // A network before training.
    function fresh() {
      network = { u: begin(outputs.value(), 4 + priv.value(), seed), tau: tau.value() };
      [taken, goal, random] = [0, null, normals(seed + 2)];
    }

    function anew() {
      fresh();
      go();
    }

    // --- the vessel
    const shapes = (name) => make(svg, "g", { class: name });
    const [ground, water, words] = ["ground", "water", "words"].map(shapes), line = make(svg, "path", { class: "level" });
    const brim = make(svg, "path", { class: "brim" }), told = make(svg, "text", { class: "told" });

    function show() {
      const all = rho(), law = (distance ? distanceFilling : waterFilling)(all, network.tau, outputs.value()), shares = sharesOf(network.u);
      const high = Math.max(0.3, 0.12 - law.level, ...shares.map((g, j) => network.tau * g - all[j] + 0.05)), unit = (BOTTOM - TOP) / (1.05 + high);
      const y = (r) => TOP + (r + high) * unit, wide = (WIDE - LEFT - 8) / all.length;
      [ground, water, words].forEach((group) => group.replaceChildren());
      all.forEach((r, j) => {
        const x = LEFT + j * wide, kind = j < 4 ? "shared" : "private", depth = network.tau * shares[j] * unit;
        make(ground, "rect", { x: x + 2, y: y(r), width: wide - 4, height: BOTTOM - y(r) });
        make(water, "rect", { x: x + 2, y: y(r) - depth, width: wide - 4, height: depth, class: kind });
        const said = (dy, text, look) => make(words, "text", { x: x + wide / 2, y: BOTTOM + dy, class: look }, text);
        said(20, all.length > 9 ? decimal(r) : `ρ = ${decimal(r)}`, kind);
        said(41, `${Math.round(100 * shares[j])} %`, "share");
      });
      line.setAttribute("d", `M${LEFT},${y(law.level)}H${WIDE - 8}`);
      brim.setAttribute("d", `M${LEFT},${y(0)}H${WIDE - 8}`);
      told.setAttribute("x", LEFT - 6);
      told.setAttribute("y", y(0) + 4);
      told.textContent = "ρ = 0";
      say(all, law, shares);
    }

    function say(all, law, shares) {
      const kept = (from, to) => shares.slice(from, to).filter((g) => g > 0.005).length, at = decimal(network.tau);
      const noise = kept(4), parts = `${kept(0, 4)} of 4 shared features${priv.value() ? `, ${noise || "none"} of ${priv.value()} private` : ""}`;
      const sum = (distance ? learnedDistanceTau : learnedTau)(all, outputs.value()), counted = distance ? "the law of distances says" : "the correlations add up to";
      const settled = `τ² has settled at ${network.tau.toFixed(2)}: ${counted} ${sum.toFixed(2)}`;
      const heading = running ? (learn ? "The network pours, and learns how much" : "The network pours τ² into the shafts") : learn ? settled : taken ? `τ² = ${at} reaches ${parts}` : "Before training";
      if (title.textContent !== heading) title.textContent = heading;
      const worst = Math.max(...shares.map((g, j) => Math.abs(g - law.shares[j])));
      const by = sampled ? `${PAIRS} pairs a step${distance ? ", by distance" : ""}` : "loss of infinitely many negatives";
      result.textContent = `${by} · dashed: the law’s level μ = ${decimal(law.level)} · effective rank ${rank(shares).toFixed(2)}, by the law ${rank(law.shares).toFixed(2)} · farthest share off by ${worst.toFixed(2)}`;
      if (!running) svg.setAttribute("aria-label", `${all.length} shafts of depth ${all.map(decimal).join(", ")}, with ${shares.map((g) => Math.round(100 * g)).join(", ")} % of the water; level ${decimal(law.level)}`);
    }

    // --- training
    function once() {
      const before = sharesOf(network.u), old = network.tau;
      const how = { n: PAIRS, draw: random, distance, slower: 0.02 + 0.98 * (1 - taken / SAMPLED) };
      for (let k = 0; k < STEPS; k++) network = sampled ? sampledStep(network, rho(), learn, how) : step(network, rho(), learn);
      network.tau = Math.min(Math.max(network.tau, 0.02), 20);
      taken += STEPS;
      const change = Math.max(Math.abs(network.tau - old), ...sharesOf(network.u).map((g, j) => Math.abs(g - before[j])));
      return sampled ? taken < SAMPLED : change > RESTS * STEPS && taken < LONGEST;
    }

    // The controls on their way to where a question wants them, and the network behind them.
    const wake = loop(() => {
      if (!seen || !running) return false;
      if (goal) pull();
      running = once() || goal !== null;
      if (learn) set(tau, network.tau);
      show();
      return running;
    });

    function pull() {
      const { control, value } = goal, way = value - control.value(), there = Math.abs(way) < 0.06 || still();
      set(control, there ? value : control.value() + 0.05 * Math.sign(way));
      if (control === tau) network.tau = tau.value();
      network.u = kicked(network.u, seed);
      if (there) goal = null;
    }

    function go() {
      [running, taken] = [true, 0];
      if (still()) {
        if (goal) pull();
        while (once());
        running = false;
        if (learn) set(tau, network.tau);
      } else if (seen) wake();
      show();
    }

    // --- scenes
    const numbers = { tau, outputs, ...Object.fromEntries(NAMES.map((name, k) => [name, depths[k]])), private: priv, coupled };
    const read = () => ({ ...Object.fromEntries(Object.entries(numbers).map(([key, control]) => [key, +control.value().toFixed(2)])), seed, learn: +learn, sampled: +sampled, distance: +distance });

    function write(state) {
      for (const key in numbers) set(numbers[key], state[key]);
      seed = state.seed;
      setLearn(!!state.learn);
      setLoss(!!state.sampled || !!state.distance, !!state.distance);
      running = false;
      fresh();
      show();
    }

    function run(then = {}) {
      if (then.learn) setLearn(true);
      const key = Object.keys(then).find((name) => numbers[name]);
      goal = key ? { control: numbers[key], value: then[key] } : null;
      go();
    }

    fresh();
    show();
    return { read, write, run, free: run, seen: (now) => ((seen = now), running && seen && wake()) };
  }

  start("vessel", draw, { questions: QUESTIONS, tour: TOUR });
})();
