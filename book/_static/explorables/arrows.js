// The live picture "arrows": four signals of two wide encoders, an image and a caption arrow each, without and with negative
// pairs. The arrows close where image and caption agree; they are equally long where the encoders are balanced.
// In Chromium, layout included, a frame takes 0.8 ms and a moved control, a film of 1,670 steps, 4 to 6 ms (least of 60; 14 ms in
// the middle with seven processes at work on two cores).
(function () {
  "use strict";
  const { make, slider, loop, still, start, arrowsMath, arrowSignals, arrowDial, arrowShares, arrowPercent } = explorables;
  const { TIMES, NEVER, PLAIN, spread, film, balancedAt, restsAt, frameOf } = arrowsMath;
  const LAST = TIMES.length - 1, PACE = 0.06; // frames per millisecond
  const ALIGNED = 0.99, EVEN = 1.05, THREE = frameOf(3);
  const end = (shots) => shots[LAST];
  const dims = (v) => (v < 2 ? Math.round(10 ** v) : +(10 ** v).toPrecision(2)); // of the slider, whole and round

  const QUESTIONS = [
    {
      ask: "Positive pairs alone: each image is pulled to its caption, and the noise fades. Which signals take its place?",
      from: {},
      then: { t: 3 },
      answers: [["all four, equally", "equal"], ["all four, in the same proportions", "kept"], ["the strongest, nearly alone", "one"]],
      truth: () => {
        const shots = film(), { shares, condition } = end(shots);
        return shares[0] > 0.9 ? "one" : condition < EVEN ? "equal" : condition < 1.2 * shots[0].condition ? "kept" : "other";
      },
      because: "Every pair of arrows closes. But a strong signal grows exponentially faster, and takes nearly all the room that the noise leaves.",
    },
    {
      ask: "Image and caption agree now. Switch the negative pairs on: what becomes of the three short signals?",
      from: { t: 3 },
      then: { on: 3 },
      answers: [["they stay short", "stay"], ["they grow as long as the first", "level"], ["one of them overtakes the first", "swap"]],
      truth: () => {
        const { shares, condition } = end(film({ on: THREE }));
        return condition < EVEN ? "level" : shares[0] < Math.max(...shares) ? "swap" : "stay";
      },
      because: "Negatives push a signal the more, the longer it is. Pull and push are in balance only where all are equally long.",
    },
    {
      ask: "Negatives from the start: with which inverse temperature τ² is the balance reached first?",
      from: { on: 0 },
      then: { on: 0, tau: 4 },
      answers: [["½: all negatives count nearly alike", 0.5], ["4", 4], ["16: only the hardest count", 16]],
      truth: () => {
        const times = [0.5, 4, 16].map((tau2) => balancedAt(film({ tau2, on: 0 })));
        return [0.5, 4, 16][times.indexOf(Math.min(...times))];
      },
      because: "A small τ² barely hears the negatives; with a large one the push is the same for all but the shortest signals.",
    },
  ];
  const TOUR = [
    { words: "Four signals, strongest first, each with an image arrow and a caption arrow. Both encoders are random: the arrows of a signal stand at right angles, and noise is 99 % of the output.", state: {}, light: ".signals" },
    { words: "At time 3, with positive pairs alone: all arrows are closed, so images and captions agree. But one signal is left of four.", state: { t: 3 }, light: ".signals" },
    { words: "The dial says how unequal they are: the longest arrow over the shortest. 1 is balanced.", state: { t: 3 }, light: ".dial" },
    { words: "Negatives from time 3 on: they push the longest arrow most, and all four become equally long. The arrows stay closed.", state: { t: 20, on: 3 }, light: ".signals, .curve" },
    { words: "More noise, a harder collapse: with d = 1,000,000 and positive pairs alone, the longest is 460 times the shortest.", state: { t: 100, d: 1000000 }, light: ".dial" },
  ];

  function draw(board, changed) {
    let shots, rest, k = 0, reached = 0, on = NEVER, off = NEVER, playing = false, goal = LAST, place = 0, before = 0, seen = false;

    // --- the frame: title, result, arrows, dial and shares, controls
    const title = make(board, "p", { class: "title", role: "status" });
    const result = make(board, "p", { class: "result" });
    const panels = make(board, "div", { class: "panels" });
    const showSignals = arrowSignals(panels), side = make(panels, "div", { class: "side" });
    const showDial = arrowDial(side), shares = arrowShares(side, (to) => (pause(), go(to), changed()));
    const [controls, settings] = [1, 2].map(() => make(board, "div", { class: "controls" }));
    const play = make(controls, "button", { type: "button" }, "Play");
    play.addEventListener("click", () => (playing ? (pause(), changed()) : run()));
    const time = slider(controls, "time t/d", { min: 0, max: LAST, step: 1, value: 0 }, (at) => String(TIMES[at]), () => (pause(), go(time.value()), changed()));
    const label = make(controls, "label", { class: "switch" }), negatives = make(label, "input", { type: "checkbox", role: "switch" });
    label.append("negative pairs");
    negatives.addEventListener("change", flip);
    const tau = slider(settings, "inverse temperature τ²", { min: -3, max: 4, step: 0.25, value: 1 }, (v) => String(+(2 ** v).toPrecision(3)), moved);
    const size = slider(settings, "dimensions d", { min: 0.9, max: 9, step: 0.1, value: 3 }, (v) => dims(v).toLocaleString("en"), moved);
    const ratio = slider(settings, "strongest σ / weakest σ", { min: 1, max: 3, step: 0.1, value: 2 }, (v) => v.toFixed(1), moved);

    const active = () => k >= on && k < off;

    function moved() {
      reshoot();
      changed();
    }

    // Negatives go on or off where the film stands; what was to come is another film. Off and on again takes the off back.
    function flip() {
      if (!negatives.checked) [on, off] = k === on ? [NEVER, NEVER] : [on, k];
      else if (k < on) [on, off] = [k, NEVER];
      else off = NEVER;
      reached = k;
      reshoot();
      playTo(Math.max(rest, k));
      changed();
    }

    // The whole film, after a control has moved.
    function reshoot() {
      shots = film({ tau2: 2 ** tau.value(), dim: dims(size.value()), sigma: spread(ratio.value()), on, off });
      rest = restsAt(shots);
      shares.draw(shots, [on, off].filter((flipped) => flipped <= LAST));
      go(k);
    }

    // Shows a frame of the film.
    function go(to) {
      k = Math.min(Math.max(to, 0), LAST);
      reached = Math.max(reached, k);
      time.input.value = k;
      time.tell();
      negatives.checked = active();
      const shot = shots[k], said = !playing, words = headline(shot);
      showSignals(shot, spread(ratio.value()), said);
      showDial(shot.condition, balance(), said);
      shares.go(k, reached);
      if (title.textContent !== words) title.textContent = words;
      const text = `least agreement of image and caption ${arrowPercent(Math.min(...shot.agree))} · noise ${arrowPercent(shot.noise)} · balance ${shot.balance.toFixed(1)} of ${PLAIN.sigma.length}`;
      result.textContent = text;
      if (said) shares.name(`Shares of the output at time ${TIMES[k]}: noise ${arrowPercent(shot.noise)}, ${shot.shares.map((one, p) => `signal ${p + 1} ${arrowPercent(one)}`).join(", ")}`);
    }

    // The words below the dial.
    function balance() {
      const at = on > LAST || off <= LAST ? NaN : balancedAt(shots);
      return isNaN(at) ? "1: all equally long" : at === Infinity ? "not balanced by time 100" : `balanced from time ${at.toFixed(1)} on`;
    }

    function headline({ agree, condition, noise, shares: [first] }) {
      const aligned = Math.min(...agree) > ALIGNED, alone = k < on, again = k >= off;
      if (ratio.value() === 1) return "Signals of equal strength: there is nothing to balance";
      if (aligned && condition <= EVEN) return again ? "Negatives off: the arrows agree, so nothing pulls any more" : "Aligned and balanced: four signals, equally long";
      if (again) return "Negatives off: what still differs is pulled, what agrees stays";
      if (k === 0) return `Noise fills ${arrowPercent(noise)} of the output: which signals will take its place?`;
      if (alone) return aligned ? `Aligned, but not balanced: signal 1 is ${arrowPercent(first / (1 - noise))} of all signal` : "Positive pairs close the arrows, and the strong signals grow";
      return condition < shots[Math.max(k - 1, 0)].condition || k === on ? "Negatives push the longest most: the others catch up" : "Negatives are on, but the strong signals still rise from the noise faster";
    }

    // --- playing
    const wake = loop(() => {
      const now = performance.now();
      if (!playing || !seen) return false;
      place += Math.min(now - before, 100) * PACE;
      before = now;
      if (place >= goal) pause();
      go(Math.min(Math.floor(place), goal));
      return playing;
    });

    // Plays to a scene's time, or to where nothing moves any more; `then` may throw the switch or move τ² first.
    function run(then = {}) {
      if (then.on !== undefined) [on, off] = [frameOf(then.on), NEVER];
      if (then.tau !== undefined) setTau(then.tau);
      if (then.on !== undefined || then.tau !== undefined) reshoot();
      const to = then.t === undefined ? rest : frameOf(then.t);
      if (k >= to) go(0);
      playTo(to);
    }

    function playTo(frame) {
      goal = Math.min(frame, LAST);
      if (still()) return go(goal);
      [place, playing] = [k, true];
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

    function setTau(value) {
      tau.input.value = Math.log2(value);
      tau.tell();
    }

    // --- scenes: times of the switch are -1 where it is not thrown
    const timeOf = (frame) => (frame > LAST ? -1 : TIMES[frame]), flipOf = (at) => (at < 0 ? NEVER : frameOf(at));

    function read() {
      return { t: TIMES[k], tau: +(2 ** tau.value()).toPrecision(3), d: dims(size.value()), spread: ratio.value(), on: timeOf(on), off: timeOf(off) };
    }

    function write(state) {
      pause();
      setTau(state.tau);
      size.input.value = Math.log10(state.d);
      ratio.input.value = state.spread;
      [size, ratio].forEach((control) => control.tell());
      [on, off] = [flipOf(state.on), flipOf(state.off)];
      [k, reached] = [frameOf(state.t), 0];
      reshoot();
    }

    reshoot();
    return { read, write, run, seen: onScreen };
  }

  start("arrows", draw, { questions: QUESTIONS, tour: TOUR });
})();
