// The live picture "circle": the energy of one filter over nine points on a circle, and the filters that climb it.
// In Chromium a moved control takes 3.6 ms (the curve anew, 64 filters; 4.1 ms with spread or a vote), least of 60 moves, and
// 8 ms in the middle with seven processes at work on two cores; a frame of 64 filters takes 3.5 ms there.
(function () {
  "use strict";
  const { make, slider, loop, still, start, circleMath, circleRing, circleCurve } = explorables;
  const { POINTS, PLAIN, survey, hillOf, expectedFinds, climb, settle, starts, wrap } = circleMath;
  const FIFTH = 4, TOKENS = POINTS.length; // the point that is voted for until another is held
  const degrees = (t) => Math.round((t * 1800) / Math.PI) / 10, place = (k) => `point${"abcdefghi"[k]}`;

  const nine = (state) => survey({ points: POINTS, ...PLAIN, ...state });
  const QUESTIONS = [
    {
      ask: "A linear filter has two hills to climb. How many has a ReLU filter on the same nine points?",
      from: { leak: 1 },
      then: { leak: 0 },
      answers: [["two, as before", 2], ["four", 4], ["nine", 9]],
      truth: () => nine({}).hills.length,
      because: "Each point that enters or leaves the filter’s half plane can make a hill of its own.",
    },
    {
      ask: "Nine hills, eight filters dropped at random: how many hills do they find on average?",
      from: {},
      then: {},
      answers: [["two", 2], ["about five", 5], ["eight", 8]],
      truth: () => Math.round(expectedFinds(nine({}).hills.map((hill) => hill.share), 8)),
      because: "What they find follows the basins (grey strip): wide ones are found twice, narrow ones not at all.",
    },
    {
      ask: "A layer above votes for one point (green): each filter gains by telling it from the others. What becomes of the nine hills?",
      from: { vote: 0.01 },
      then: { vote: 0.3 },
      answers: [["nine, one of them higher", 9], ["four are left", 4], ["only the green one", 1]],
      truth: () => nine({ vote: 0.3, token: FIFTH }).hills.length,
      because: "The green hill rises above its neighbours and takes their basins: more filters start on it.",
    },
  ];
  const TOUR = [
    { words: "A linear filter lets in every point: two hills at opposite angles, wherever a filter starts.", state: { leak: 1 }, light: ".curve" },
    { words: "A ReLU filter lets in the points of its half plane (shaded). The variance of its outputs is the height of the curve at its angle.", state: { filter: 1, at: 36 }, light: ".ring, .outputs" },
    { words: "At every tick a point enters or leaves the half plane, and the curve may bend into a new hill. A filter stays on the hill where it began.", state: {}, light: ".curve" },
    { words: "Spread the points, and most hills go: it takes few points to make so many.", state: { spread: 0.3 }, light: ".curve" },
    { words: "A vote from above for one point raises its hill and widens its basin.", state: { vote: 0.3 }, light: ".curve" },
  ];

  function draw(board, changed) {
    const points = POINTS.slice();
    let land, linear, unvoted, key, filters = [], seed = 1, held = -1, picked = -1, gripped = -1, token = FIFTH;
    let seen = false, walking = false, goal = null;

    // --- the frame: title, result, panels, controls
    const title = make(board, "p", { class: "title" });
    const result = make(board, "p", { class: "result" });
    const panels = make(board, "div", { class: "panels" });
    const ring = circleRing(panels, points.length, { turnPoint, holdPoint, turnFilter, pick, letGo });
    const curve = circleCurve(panels);
    const controls = make(board, "div", { class: "controls" });
    const moved = () => (reshape(), changed());
    const bend = slider(controls, "linear to ReLU", { min: 0, max: 1, step: 0.01, value: 1 }, (v) => (v === 1 ? "ReLU" : v === 0 ? "linear" : `leak ${(1 - v).toFixed(2)}`), moved);
    const spread = slider(controls, "spread", { min: 0, max: 1, step: 0.01, value: 0 }, (v) => (v ? `± ${Math.round((v * 180) / Math.PI)}°` : "none"), moved);
    const vote = slider(controls, "vote for a point", { min: 0, max: 1, step: 0.01, value: 0 }, (v) => (v ? v.toFixed(2) : "none"), moved);
    const count = slider(controls, "filters", { min: 1, max: 64, step: 1, value: 8 }, String, () => (drop(), changed()));
    const again = make(controls, "button", { type: "button" }, "Drop them again");
    again.addEventListener("click", () => (seed++, drop(), changed()));
    const release = make(controls, "button", { type: "button" }, "Let it climb");
    release.addEventListener("click", () => (letGo(), changed()));

    const leak = () => +(1 - bend.value()).toFixed(2);
    const world = () => ({ points, leak: leak(), spread: spread.value(), vote: vote.value(), token });
    const colour = () => `color-mix(in oklab, var(--linear) ${Math.round(leak() * 100)}%, var(--relu))`;

    // --- what the reader does to the ring
    function turnPoint(k, t) {
      points[k] = t;
      moved();
    }

    // A point that is held shows its gates; it is the one that a vote is for.
    function holdPoint(k) {
      held = k;
      curve.showGates(k < 0 ? null : points[k]);
      ring.showGate(k);
      if (k < 0 || k === token) return;
      token = k;
      if (vote.value()) moved();
    }

    function turnFilter(k, t) {
      pick(k);
      gripped = k;
      filters[k] = { t, parked: false };
      showFilters();
      changed();
    }

    function pick(k) {
      if (k !== gripped) gripped = -1;
      picked = k;
      walk();
      changed();
    }

    function letGo() {
      gripped = -1;
      walk();
    }

    // The landscape anew, after a control has moved; the filters walk on from where they are.
    function reshape() {
      const now = world(), plain = { ...now, vote: 0 };
      land = survey(now);
      const asked = [...points, now.spread, now.vote && now.leak, now.vote].join();
      if (asked !== key) {
        [linear, key] = [survey({ ...plain, leak: 1 }, 360), asked];
        unvoted = now.vote ? survey(plain) : null;
      }
      const linearOne = { land: linear, name: "linear", colour: "var(--linear)", own: true, shown: now.leak < 0.97 };
      curve.showLand(now, land, colour(), now.vote ? { land: unvoted, name: "without the vote", colour: "var(--soft)", shown: true } : linearOne);
      ring.showPoints(now, held);
      curve.showGates(held < 0 ? null : points[held]);
      say(now);
      filters.forEach((filter) => (filter.parked = false));
      walk();
    }

    function say({ leak, vote }) {
      const n = land.hills.length, kind = leak === 0 ? "a ReLU filter" : leak === 1 ? "a linear filter" : "a leaky filter";
      const hills = `${n} ${n > 1 ? "hills" : "hill"} for ${kind}`, share = (of) => `${Math.round(100 * (of.hills[hillOf(points[token], of.hills)] || { share: 0 }).share)} %`;
      const others = leak === 1 ? "" : `, ${linear.hills.length} for a linear one`;
      const voted = `: ${share(land)} of all starts climb the green one, ${share(unvoted || land)} without the vote`;
      title.textContent = n ? hills + (vote ? voted : others) : `No hill for ${kind}: every direction is alike`;
      curve.name(`Energy against the angle of the filter: ${n} hills. The linear curve has ${linear.hills.length}.`);
    }

    function drop() {
      filters = starts(count.value(), seed).map((t) => ({ t, parked: false }));
      [picked, gripped] = [-1, -1];
      walk();
    }

    // --- motion
    const wake = loop(() => {
      if (!seen || !walking) return false;
      if (goal) pull();
      const now = world();
      filters.forEach((filter, k) => k === gripped || filter.parked || Object.assign(filter, climb(filter.t, now, land.steepest)));
      showFilters();
      return goal !== null || filters.some((filter, k) => k !== gripped && !filter.parked);
    });

    // One frame of a slider's way to a value.
    function pull() {
      const { control, value } = goal, way = value - control.value();
      const there = Math.abs(way) < 0.015 || still();
      control.input.value = there ? value : control.value() + 0.01 * Math.sign(way);
      if (there) goal = null;
      control.tell();
      reshape();
    }

    function walk() {
      if (walking && still()) filters.forEach((f, k) => k === gripped || Object.assign(f, settle(f.t, world(), land.steepest)));
      else if (walking && seen) wake();
      showFilters();
    }

    function showFilters() {
      const now = world(), found = new Set();
      for (const { t, parked } of filters) if (parked && hillOf(t, land.hills) >= 0) found.add(hillOf(t, land.hills));
      ring.showFilters(now, filters, picked, colour());
      curve.showFilters(now, filters, picked, colour());
      release.hidden = gripped < 0;
      const moving = filters.filter((f, k) => !f.parked && k !== gripped).length, expected = expectedFinds(land.hills.map((h) => h.share), filters.length);
      const words = `${filters.length} ${filters.length > 1 ? "filters" : "filter"} found ${found.size} of them`;
      const text = `${words} (expected ${expected.toFixed(1)})${moving ? `; ${moving} still climbing` : ""}`;
      if (result.textContent !== text) result.textContent = text;
    }

    // --- scenes: filter is the number of the picked one, 0 for none, and at its angle in degrees; pointa to pointi are those of the points
    function read() {
      const at = picked < 0 ? 0 : degrees(filters[picked].t);
      const places = Object.fromEntries(points.map((t, k) => [place(k), degrees(t)]));
      return { leak: leak(), spread: spread.value(), filters: count.value(), seed, vote: vote.value(), token: token + 1, filter: picked + 1, at, ...places };
    }

    function write(state) {
      [bend, spread, vote, count].forEach((control, k) => {
        control.input.value = [1 - state.leak, state.spread, state.vote, state.filters][k];
        control.tell();
      });
      [seed, goal, walking] = [state.seed, null, false];
      token = Math.min(Math.max(Math.round(state.token), 1), TOKENS) - 1;
      POINTS.forEach((t, k) => {
        const at = state[place(k)];
        points[k] = at === undefined || at === degrees(t) ? t : wrap((at * Math.PI) / 180);
      });
      drop();
      picked = gripped = Math.min(state.filter, filters.length) - 1;
      if (picked >= 0) filters[picked].t = wrap((state.at * Math.PI) / 180);
      reshape();
    }

    function run(then = {}) {
      walking = true;
      if (then.leak !== undefined) goal = { control: bend, value: 1 - then.leak };
      if (then.vote !== undefined) goal = { control: vote, value: then.vote };
      if (goal && still()) pull();
      walk();
    }

    reshape();
    drop();
    return { read, write, run, free: run, seen: (now) => ((seen = now), walk()) };
  }

  start("circle", draw, { questions: QUESTIONS, tour: TOUR });
})();
