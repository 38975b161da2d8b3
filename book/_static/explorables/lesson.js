// What makes a lesson of a live picture: it asks before it shows, leads by a tour, and hands its scenes to the address.
(function (root) {
  "use strict";
  const all = (root.explorables = root.explorables || {}), { make } = all;
  const KEPT = "explorables.guesses", PAUSE = 250; // ms without a move before the address changes
  const live = all.live;

  // First guesses of this reader, {question: right}; without storage they last as long as the page.
  function kept() {
    try {
      return { ...JSON.parse(localStorage.getItem(KEPT)), ...all.guesses };
    } catch {
      return { ...all.guesses };
    }
  }

  // Adds a guess unless there was one, and returns all, true where right.
  function guesses(added) {
    all.guesses = { ...added, ...kept() };
    try {
      localStorage.setItem(KEPT, JSON.stringify(all.guesses));
    } catch {}
    return Object.values(all.guesses);
  }

  const button = (parent, words, press, look = "") => {
    const made = make(parent, "button", { type: "button", class: look }, words);
    made.addEventListener("click", press);
    return made;
  };

  // Draws a picture and leads through it; returns {restore(state), read() -> state, end()}.
  //   draw(stage, changed) returns {read() -> state, write(state), run(then), seen(now)}: numbers by key, a scene at rest,
  //     its motion (towards the state `then`), free() where a scene is never at rest, and whether it is on screen; it calls
  //     changed() when the reader moves something.
  //   questions: {ask, from, then, answers, truth, because}, answers of [words, value], of which truth() computes one;
  //   tour: {words, state, light}, a selector of what it speaks of.
  //   scene: where a copy opens; without one it is the main picture, which asks. tell(state) hears what the reader moves,
  //     instead of the address.
  all.lesson = function (board, name, { draw, questions, tour }, { scene = null, tell = null } = {}) {
    const top = make(board, "div", { class: "ask" }), stage = make(board, "div", { class: "stage" });
    const picture = draw(stage, changed), usual = picture.read(), foot = make(board, "div", { class: "foot" });
    const id = ({ ask }) => `${name}: ${ask}`;
    let asked = 0, asking = false, timer;
    button(foot, "Take the tour", () => step(0));
    const more = button(foot, "Next question", () => question((asked + 1) % questions.length));
    const link = button(foot, "Copy link", copy);
    const tally = make(foot, "span", { class: "tally", role: "status" });

    const show = (state) => picture.write({ ...usual, ...state });
    const differs = () => Object.fromEntries(Object.entries(picture.read()).filter(([key, value]) => value !== usual[key]));

    function wait(now) {
      asking = now;
      board.classList.toggle("asking", now);
      stage.inert = now; // also for screen readers, to whom the picture's name would tell the answer
      foot.hidden = now;
      clearTimeout(timer);
    }

    function question(k) {
      asked = k;
      show(questions[k].from);
      clear();
      wait(true);
      make(top, "p", { class: "title" }, questions[k].ask);
      const row = make(top, "div", { class: "answers" });
      questions[k].answers.forEach(([words], answer) => button(row, words, () => guess(answer)));
      button(row, "Skip", () => guess(-1), "plain");
    }

    function guess(answer) {
      const { answers, truth, because, then } = questions[asked], value = truth(), right = answers.findIndex((one) => one[1] === value);
      const counted = guesses(answer < 0 ? {} : { [id(questions[asked])]: answer === right }), hits = counted.filter(Boolean).length;
      clear();
      wait(false);
      if (answer >= 0) make(top, "p", { class: "because", tabindex: -1 }, make(null, "b", {}, answer === right ? "Right. " : "Not so. "), because).focus({ preventScroll: true });
      tally.textContent = counted.length ? `Your first guesses: ${hits} of ${counted.length} right` : "";
      picture.run(then);
    }

    function open(state) {
      show(state);
      if (picture.free) picture.free();
    }

    function step(k) {
      const { words, state, light } = tour[k];
      clear();
      open(state);
      stage.querySelectorAll(light).forEach((part) => part.classList.add("lit"));
      const box = make(top, "div", { class: "tour" });
      make(box, "p", { tabindex: -1 }, make(null, "b", {}, `${k + 1}/${tour.length} `), words).focus({ preventScroll: true });
      if (k) button(box, "Back", () => step(k - 1));
      button(box, k + 1 < tour.length ? "Next" : "Done", () => (k + 1 < tour.length ? step(k + 1) : clear()));
      remember();
    }

    function clear() {
      top.replaceChildren();
      stage.querySelectorAll(".lit").forEach((part) => part.classList.remove("lit"));
    }

    function changed() {
      clearTimeout(timer);
      if (!asking) timer = setTimeout(remember, PAUSE);
    }

    function remember() {
      if (tell) tell(picture.read());
      else if (!scene) all.remember(name, differs());
    }

    async function copy() {
      const address = all.address({ [name]: differs() });
      try {
        await navigator.clipboard.writeText(address);
        link.textContent = "Copied";
      } catch {
        prompt("The link to this scene:", address);
      }
      setTimeout(() => (link.textContent = "Copy link"), 1500);
    }

    function restore(state) {
      clear();
      wait(false);
      open(state);
    }

    const stop = all.watch(board, picture.seen);
    const end = () => (stop(), picture.seen(false), clearTimeout(timer), live[name].splice(live[name].indexOf(self), 1));
    const self = { board, restore, read: picture.read, end };
    more.hidden = questions.length < 2;
    link.hidden = !!tell;
    (live[name] = live[name] || [])[scene || tell ? "push" : "unshift"](self);
    if (scene) restore(scene);
    else question(0);
    if (scene || tell) return self;
    all.listen();
    if (all.scenes(location.hash)[name]) all.open(location.hash, "auto");
    return self;
  };
})(typeof globalThis === "undefined" ? this : globalThis);
