// The live picture "masks": two views of a strip under masks that are the same, independent or disjoint, what they share, and
// one neuron that learns it. Signals are spread over coordinates, noise is not: as the masks become disjoint, the noise on the
// diagonal of E[x+ x++'] vanishes, and the neuron turns to the signals. In Chromium, layout included, a frame of the stage takes
// 0.8 ms, a moved mask 5.6 ms and moved noise 3.1 ms (least of 60; 1.4 to 19 ms in the middle on two busy cores).
(function () {
  "use strict";
  const { make, slider, loop, still, start, masksMath, maskStrips, maskMoment, maskArrow, maskEnds, maskPercent } = explorables;
  const { P, START, LONG, size, weights, grownAt, grown, moment } = masksMath;
  const GROWS = 2500, RESTS = 600, GLIDES = 2500; // ms: the first stage, a look at its end, another control after it
  const SAME = 1, INDEPENDENT = 0.5, DISJOINT = 0, USUAL = 4, LOUDEST = 12;
  const end = (both, noise = USUAL) => grown({ both, noise }).share;

  const QUESTIONS = [
    {
      ask: "A neuron learns what two views of the data share. What will it learn if both show the same half of the numbers, and what if no number is in both?",
      from: {},
      then: { both: 0 },
      answers: [["signal, both times", "signal"], ["mostly noise, then signal", "turns"], ["signal, then nothing", "nothing"]],
      truth: () => {
        const same = end(SAME), apart = end(DISJOINT);
        return same > 0.5 ? (apart > 0.9 ? "signal" : "nothing") : apart > 0.9 ? "turns" : "other";
      },
      because: "Both views hold the signal, which is spread over many numbers. They share noise only where both see the same number.",
    },
    {
      ask: "Now two masks that are drawn independently of each other. Each still hides half. Does that help, compared with no mask at all?",
      from: { both: 0, stage: 100 },
      then: { both: 50 },
      answers: [["as much as disjoint masks", "all"], ["half as much", "half"], ["not at all", "none"]],
      // without a mask the views share P M M' + s2 I; the same rates give the same neuron
      truth: () => {
        const shared = moment({ both: INDEPENDENT, noise: USUAL }, 0, 0);
        return Math.abs(shared.signal + shared.noise - P * (START + USUAL)) < 1e-12 ? "none" : end(INDEPENDENT) > 0.9 ? "all" : "half";
      },
      because: "A quarter of the numbers is in both views, at twice the size in each: on average they share the noise of the bare data.",
    },
    {
      ask: "Disjoint masks again, and noise of three times the variance. How much signal is left in the neuron?",
      from: { both: 0, stage: 100 },
      then: { noise: LOUDEST },
      answers: [["less than half", "less"], ["about three quarters", "most"], ["as much as before", "all"]],
      truth: () => {
        const kept = end(DISJOINT, LOUDEST) / end(DISJOINT);
        return kept > 0.99 ? "all" : kept < 0.5 ? "less" : "most";
      },
      because: "On average, disjoint views share none of the noise, however loud it is. (A real batch is finite, and leaves some.)",
    },
  ];
  const TOUR = [
    { words: "A datum is a signal (blue), spread over many numbers, under louder noise (vermilion), which is fresh at each number. Two masks show half of it each; here it is the same half.", state: {}, light: ".strips" },
    { words: "What the views share, averaged over data and masks: signal at any two numbers of a block, noise only on the diagonal, where a number meets itself.", state: { stage: 100 }, light: ".moment" },
    { words: "Disjoint masks: no number meets itself, so no noise is shared. The neuron takes longer to grow, and has turned to the signal when it is grown.", state: { both: 0, stage: 100 }, light: ".moment, .plane" },
    { words: "Independent masks share as much noise as no mask. In equal times the neuron turns equally under any masks; shared noise makes it grow too soon.", state: { both: 50, stage: 100 }, light: ".ends" },
    { words: "Without noise, no mask is needed: the neuron finds the signal in any views.", state: { both: 50, stage: 100, noise: 0 }, light: ".ends" },
  ];

  function draw(board, changed) {
    let acts = [], place = 0, before = 0, seen = false; // acts to come: {control, from, to, takes}

    // --- the frame: title, result, strips, panels, controls
    const title = make(board, "p", { class: "title", role: "status" });
    const result = make(board, "p", { class: "result" });
    const strips = maskStrips(board), panels = make(board, "div", { class: "panels" });
    const showMoment = maskMoment(panels), showArrow = maskArrow(panels), showEnds = maskEnds(panels, (share) => (set(both, 100 * share), moved()));
    const controls = make(board, "div", { class: "controls" });
    const play = make(controls, "button", { type: "button" }, "Play");
    play.addEventListener("click", () => (acts.length ? (pause(), changed()) : run()));
    const stage = slider(controls, "first stage of training", { min: 0, max: 100, step: 1, value: 0 }, (v) => `${v} %`, moved);
    const both = slider(controls, "seen by both views", { min: 0, max: 100, step: 1, value: 100 }, named, moved);
    const noise = slider(controls, "noise σ²/p", { min: 0, max: LOUDEST, step: 0.1, value: USUAL }, (v) => v.toFixed(1), moved);
    let drawn = "";

    function named(v) {
      return { 0: "0 %, disjoint", 50: "50 %, independent", 100: "100 %, the same" }[v] || `${v} %`;
    }

    function set(control, value) {
      control.input.value = value;
      control.tell();
    }

    function moved() {
      pause();
      show();
      changed();
    }

    function show() {
      const settings = { both: both.value() / 100, noise: noise.value() }, last = grownAt(settings), time = (last * stage.value()) / 100;
      const now = size(settings, time), scene = `${settings.both} ${settings.noise}`;
      if (scene !== drawn) {
        strips.data(settings);
        showMoment(settings);
      }
      drawn = scene;
      const words = `The neuron: ${maskPercent(now.share)} signal, ${now.length.toFixed(1)} times as long as at the start`;
      strips.neuron(weights(settings, time), now.length, words);
      showArrow(settings, time, words);
      showEnds(settings, now.share);
      const heading = headline(settings, now);
      if (title.textContent !== heading) title.textContent = heading;
      result.textContent = `${maskPercent(now.share)} of the neuron is signal · ${maskPercent(START)} before training · length × ${now.length.toFixed(now.length < 10 ? 1 : 0)} · time ${(P * time).toFixed(2)}/p`;
    }

    const MOVES = new Map([[both, (up) => (up ? "The views overlap more and more" : "The masks part: less and less is in both views")], [noise, () => "The noise gets louder"]]);

    function headline(settings, { share }) {
      const of = maskPercent(share), mostly = share < 0.5 ? `mostly noise, ${of} signal` : `${of} signal`;
      const [{ control, from, to } = {}] = acts; // while a control glides the words stay, for those who hear them
      if (MOVES.has(control)) return MOVES.get(control)(to > from);
      if (stage.value() === 0) return "Before training: a random neuron";
      if (stage.value() < 100) return "The neuron grows towards what the views share";
      if (settings.both === SAME) return `Same half: the neuron learned ${mostly}`;
      if (settings.both === DISJOINT) return settings.noise > USUAL ? `Disjoint halves, louder noise: still ${of} signal` : `Disjoint halves: the neuron learned ${mostly}`;
      if (settings.both === INDEPENDENT) return `Independent masks help no more than none: ${mostly}`;
      return `${100 - both.value()} % of a view is hidden from the other: ${mostly}`;
    }

    // --- playing: the stage first, then another control
    const wake = loop(() => {
      const now = performance.now();
      if (!acts.length || !seen) return false;
      place += Math.min(now - before, 100);
      before = now;
      const { control, from, to, takes } = acts[0], part = Math.min(place / takes, 1);
      if (control) set(control, from + (to - from) * part);
      if (part === 1) {
        acts.shift();
        place = 0;
        if (!acts.length) pause();
      }
      show();
      return acts.length > 0;
    });

    // Trains to the end of the stage, looks at it, then moves `both` and `noise` to where `then` wants them.
    function run(then = {}) {
      if (stage.value() === 100 && !Object.keys(then).length) set(stage, 0);
      const goals = [[stage, 100], [both, then.both], [noise, then.noise]].filter(([control, to]) => to !== undefined && to !== control.value());
      acts = goals.flatMap(([control, to], k) => [
        ...(k ? [{ takes: RESTS }] : []),
        { control, from: control.value(), to, takes: control === stage ? GROWS : GLIDES },
      ]);
      place = 0;
      if (still()) {
        acts.forEach(({ control, to }) => control && set(control, to));
        return (pause(), show());
      }
      play.textContent = "Pause";
      show();
      onScreen(seen);
    }

    function onScreen(now) {
      [seen, before] = [now, performance.now()];
      if (acts.length && seen) wake();
    }

    function pause() {
      acts = [];
      play.textContent = "Play";
    }

    // --- scenes
    const read = () => ({ both: both.value(), noise: noise.value(), stage: stage.value() });

    function write(state) {
      pause();
      [[both, "both"], [noise, "noise"], [stage, "stage"]].forEach(([control, key]) => set(control, state[key]));
      show();
    }

    show();
    return { read, write, run, seen: onScreen };
  }

  start("masks", draw, { questions: QUESTIONS, tour: TOUR });
})();
