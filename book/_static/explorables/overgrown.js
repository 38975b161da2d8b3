// The live picture "overgrown": what training does without a mask. Two lengths, of what the neurons hold of the signals and of
// the noise, are followed over the steps: first the signals grow faster, then they stop and the noise grows past them. Weight
// decay takes from both. In Chromium a moved slider of the noise takes some 20 ms, a frame of the playing picture less than one.
(function () {
  "use strict";
  const { make, slider, loop, still, start, overgrownMath } = explorables;
  const { LAST, course } = overgrownMath;
  const FIRST = 10, WIDE = 420, TALL = 216, LEFT = 44, RIGHT = 366, TOP = 14, BASE = 178; // of the drawing; its axis begins at step FIRST
  const PLAYS = 5000, RESTS = 600, GLIDES = 2500; // ms: all steps, a look at the end, another control after it
  const QUIET = 0.8, LOUD = 3.2, USUAL = 2, MOST = 5; // noise over p; weight decay in thousandths
  const courses = new Map();

  function courseOf(noise, decay) {
    const key = `${noise} ${decay}`;
    if (!courses.has(key)) {
      if (courses.size > 40) courses.clear();
      courses.set(key, course({ noise, decay: decay / 1000 }));
    }
    return courses.get(key);
  }

  const stepAt = (place) => Math.round(FIRST * (LAST / FIRST) ** (place / 100));
  const peak = (noise, decay) => Math.max(...courseOf(noise, decay).share);
  const whole = (share) => `${Math.round(100 * share)} %`;

  const QUESTIONS = [
    {
      ask: "No mask: both views are the datum itself. After 100 steps nearly all of what the network holds is signal. Training goes on. What happens?",
      from: { step: 62 },
      then: {},
      answers: [["nothing more, it has learned the signals", "stays"], ["the noise grows past the signals", "overgrown"], ["the signals shrink, the noise stays", "shrink"]],
      truth: () => {
        const { signal, noise } = courseOf(QUIET, 0), grown = noise[LAST] > signal[LAST], kept = signal[LAST] > 0.9 * Math.max(...signal);
        return grown ? (kept ? "overgrown" : "other") : kept ? "stays" : "shrink";
      },
      because: "Other data share a datum's signals, so these stop telling it apart. None shares its noise, which grows until the loss is gone.",
    },
    {
      ask: "So far there was no weight decay. With it, all weights are made a little shorter at each step. What becomes of the signals?",
      from: { step: 100 },
      then: { decay: USUAL },
      answers: [["they stay as long as they are", "stay"], ["they shrink in the end", "shrink"], ["they come back above the noise", "win"]],
      truth: () => {
        const { signal, noise } = courseOf(QUIET, USUAL);
        return signal[LAST] > noise[LAST] ? "win" : signal[LAST] < 0.9 * Math.max(...signal) ? "shrink" : "stay";
      },
      because: "Decay shrinks what no gradient renews. The gradient of the signals is gone by then, that of the noise is not.",
    },
    {
      ask: "Four times the noise, again without decay. At its best, what share of the network is signal?",
      from: { step: 100 },
      then: { noise: LOUD },
      answers: [["as much as before, only later", "same"], ["about half", "half"], ["hardly any", "none"]],
      truth: () => {
        const most = peak(LOUD, 0);
        return most > 0.9 ? "same" : most > 0.3 ? "half" : "none";
      },
      because: "Louder noise grows faster and is there when the signals are. In the paper's limit the peak goes to nothing.",
    },
  ];
  const TOUR = [
    { words: "Few steps: all negatives weigh alike, and both lengths grow by a factor per step. That of the signals is larger, by p.", state: { step: 52 }, light: ".course" },
    { words: "Pairs agree now. The negatives that count are those with the same signals, and against them signals do not help: they stop.", state: { step: 75 }, light: ".course" },
    { words: "Noise tells all data apart. It grows until the loss is gone, past the signals. These are not lost: they are as long as ever.", state: { step: 100 }, light: ".course" },
    { words: "With weight decay (thin: without) signals shrink, too. It is the decay that makes them, not the noise.", state: { step: 100, decay: USUAL }, light: ".course" },
  ];

  function draw(board, changed) {
    let acts = [], place = 0, before = 0, seen = false; // acts to come: {control, from, to, takes}

    // --- the frame: title, result, the course, controls
    const title = make(board, "p", { class: "title", role: "status" });
    const result = make(board, "p", { class: "result" });
    const svg = make(make(board, "div", { class: "panels" }), "svg", { class: "course", viewBox: `0 0 ${WIDE} ${TALL}`, role: "img" });
    const controls = make(board, "div", { class: "controls" });
    const play = make(controls, "button", { type: "button" }, "Play");
    play.addEventListener("click", () => (acts.length ? (pause(), changed()) : run()));
    const step = slider(controls, "training step", { min: 0, max: 100, step: 1, value: 0 }, (v) => String(stepAt(v)), moved);
    const noise = slider(controls, "noise σ²/p", { min: 0.4, max: 4, step: 0.1, value: QUIET }, (v) => v.toFixed(1), moved);
    const decay = slider(controls, "weight decay λ", { min: 0, max: MOST, step: 0.5, value: 0 }, (v) => (v ? (v / 1000).toFixed(4) : "0, none"), moved);

    // --- the course: axes, thin lines without decay, lines up to now, their names
    const x = (at) => LEFT + ((RIGHT - LEFT) * Math.log(Math.max(at, FIRST) / FIRST)) / Math.log(LAST / FIRST);
    make(svg, "path", { class: "axis", d: `M${LEFT},${TOP}V${BASE}H${RIGHT}` });
    for (const at of [FIRST, 100, LAST]) make(svg, "text", { x: x(at), y: BASE + 15, "text-anchor": "middle" }, String(at));
    make(svg, "text", { x: (LEFT + RIGHT) / 2, y: BASE + 32, "text-anchor": "middle" }, "step");
    const top = make(svg, "text", { x: LEFT - 4, y: TOP + 8, "text-anchor": "end" });
    make(svg, "text", { x: LEFT - 4, y: BASE, "text-anchor": "end" }, "0");
    make(svg, "text", { x: LEFT + 5, y: TOP + 4 }, "squared length of all neurons");
    const lines = Object.fromEntries(["signal", "noise"].map((name) => [name, {
      bare: make(svg, "path", { class: `${name} bare` }),
      now: make(svg, "path", { class: `${name} now` }),
      dot: make(svg, "circle", { class: `${name} dot`, r: 4 }),
      word: make(svg, "text", { class: name }, name),
    }])); // prettier-ignore

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
      const now = courseOf(noise.value(), decay.value()), bare = courseOf(noise.value(), 0), at = stepAt(step.value());
      const most = Math.max(...bare.signal, ...bare.noise), high = 10 ** Math.floor(Math.log10(most)), tall = Math.ceil(most / high) * high;
      const y = (value) => BASE - ((BASE - TOP) * value) / tall;
      const path = (values, last) => `M${values.slice(FIRST, last + 1).map((value, k) => `${x(FIRST + k).toFixed(1)},${y(value).toFixed(1)}`).join("L")}`;
      top.textContent = String(tall);
      const ends = { signal: y(now.signal[at]), noise: y(now.noise[at]) }, close = Math.abs(ends.signal - ends.noise) < 14, up = ends.signal < ends.noise;
      for (const name in lines) {
        const { bare: thin, now: thick, dot, word } = lines[name], over = (name === "signal") === up;
        thin.setAttribute("d", decay.value() ? path(bare[name], at) : "");
        thick.setAttribute("d", path(now[name], at));
        dot.setAttribute("cx", x(at));
        dot.setAttribute("cy", ends[name]);
        word.setAttribute("x", x(at) + 8);
        word.setAttribute("y", close ? (ends.signal + ends.noise) / 2 + (over ? -4 : 11) : Math.min(ends[name] + 4, BASE - 5));
      }
      const heading = headline(now, at), share = now.share[at];
      if (title.textContent !== heading) title.textContent = heading;
      result.textContent = `step ${at} · ${whole(share)} of the squared length is signal, at most ${whole(Math.max(...now.share.slice(0, at + 1)))} so far · loss ${whole(now.loss[at])}`;
      if (!acts.length) svg.setAttribute("aria-label", `Squared lengths up to step ${at}: signal ${Math.round(now.signal[at])}, noise ${Math.round(now.noise[at])}; loss ${whole(now.loss[at])} of its first value`);
    }

    const MOVES = new Map([[noise, () => "The noise gets louder"], [decay, () => "Weight decay sets in"]]);

    function headline({ signal, noise: rest, share }, at) {
      const most = share.slice(0, at + 1).indexOf(Math.max(...share.slice(0, at + 1))), fallen = share[at] < 0.9 * share[most];
      const [{ control } = {}] = acts; // while a control glides the words stay, for those who hear them
      if (MOVES.has(control)) return MOVES.get(control)();
      if (control) return "Training goes on, without a mask";
      const shrunk = signal[at] < 0.9 * Math.max(...signal.slice(0, at + 1));
      if (rest[at] > signal[at] && fallen) return shrunk ? "Noise is longer than the signals, and these shrink" : "Noise has overgrown the signals, which keep their length";
      if (fallen) return "The share of the signals falls";
      if (share[at] > 0.5) return `Signals are ahead: ${whole(share[at])}`;
      return `Mostly noise: ${whole(share[at])} signal`;
    }

    // --- playing: the steps first, then another control
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

    // Trains to the last step, looks at the end, then moves `noise` and `decay` to where `then` wants them.
    function run(then = {}) {
      if (step.value() === 100 && !Object.keys(then).length) set(step, 0);
      const goals = [[step, 100], [noise, then.noise], [decay, then.decay]].filter(([control, to]) => to !== undefined && to !== control.value());
      acts = goals.flatMap(([control, to], k) => [
        ...(k ? [{ takes: RESTS }] : []),
        { control, from: control.value(), to, takes: control === step ? (PLAYS * (100 - step.value())) / 100 : GLIDES },
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
    const read = () => ({ step: step.value(), noise: noise.value(), decay: decay.value() });

    function write(state) {
      pause();
      [[step, "step"], [noise, "noise"], [decay, "decay"]].forEach(([control, key]) => set(control, state[key]));
      show();
    }

    show();
    return { read, write, run, seen: onScreen };
  }

  start("overgrown", draw, { questions: QUESTIONS, tour: TOUR });
})();
