// What makes a lesson of a live picture: it asks before it shows, leads by a tour, and keeps its state in the address.
(function (root) {
  "use strict";
  const all = (root.explorables = root.explorables || {}), { make, still } = all;
  const KEPT = "explorables.guesses", PAUSE = 250; // ms without a move before the address changes
  const live = (all.live = all.live || {}); // by name: {restore(state)}

  // Scenes of an address, {name: {key: number}}: "#clouds:nu=2.1&t=3;circle:leak=0.3". An anchor of the page has none.
  all.scenes = function (hash) {
    const scenes = {};
    for (const part of hash.slice(1).split(";")) {
      const [, name, state] = /^([a-z]+):((?:[a-z]+=-?[\d.]+(?:&|$))*)$/.exec(part) || [];
      if (!name) continue;
      scenes[name] = Object.fromEntries(state.split("&").filter(Boolean).map((pair) => [pair.split("=")[0], +pair.split("=")[1]]));
    }
    return scenes;
  };

  all.hash = function (scenes) {
    const parts = Object.entries(scenes).map(([name, state]) => `${name}:${Object.entries(state).map((pair) => pair.join("=")).join("&")}`);
    return parts.length ? `#${parts.join(";")}` : "";
  };

  // First guesses of this reader, {question: right}; without storage they last as long as the page.
  function guesses(added = {}) {
    try {
      all.guesses = { ...JSON.parse(localStorage.getItem(KEPT)), ...all.guesses };
      all.guesses = { ...added, ...all.guesses };
      localStorage.setItem(KEPT, JSON.stringify(all.guesses));
    } catch {
      all.guesses = { ...added, ...all.guesses };
    }
    return Object.values(all.guesses);
  }

  // Opens the scenes of a hash, scrolls to the first, and says whether there was one.
  function open(hash, behavior) {
    const found = Object.entries(all.scenes(hash)).filter(([name]) => live[name]);
    found.forEach(([name, state]) => live[name].restore(state));
    if (found.length) live[found[0][0]].board.scrollIntoView({ block: "center", behavior });
    return found.length > 0;
  }

  // Links such as <a href="#clouds:nu=2.1"> drive the picture. A click is heard, too: the same address twice is no change.
  function listen() {
    if (all.listening) return;
    all.listening = true;
    addEventListener("hashchange", () => open(location.hash, "auto"));
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest('a[href^="#"]');
      if (link && link.hash === location.hash) open(link.hash, still() ? "auto" : "smooth");
    });
  }

  const button = (parent, words, press, look = "") => {
    const made = make(parent, "button", { type: "button", class: look }, words);
    made.addEventListener("click", press);
    return made;
  };

  // Draws a picture and leads through it.
  //   draw(stage, changed) returns {read() -> state, write(state), run(then), seen(now)}: numbers by key, a scene at rest,
  //     its motion (towards the state `then`), free() where a scene is never at rest, and whether it is on screen; it calls changed() when the reader moves something.
  //   questions: {ask, from, then, answers, truth, because}, answers of [words, value], of which the picture's arithmetic, truth(), picks one; tour: {words, state, light}, a selector of what it speaks of.
  all.lesson = function (board, name, { questions, tour }, draw) {
    const top = make(board, "div", { class: "ask" }), stage = make(board, "div", { class: "stage" });
    const picture = draw(stage, changed), usual = picture.read(), foot = make(board, "div", { class: "foot" });
    let asked = 0, asking = false, timer;
    button(foot, "Take the tour", () => step(0));
    const more = button(foot, "Next question", () => question((asked + 1) % questions.length));
    const link = button(foot, "Copy link", copy);
    const tally = make(foot, "span", { class: "tally", role: "status" });
    for (const kind of ["pointerdown", "keydown"]) stage.addEventListener(kind, (event) => asking && event.stopPropagation(), true);

    const scene = (state) => picture.write({ ...usual, ...state });
    const differs = () => Object.fromEntries(Object.entries(picture.read()).filter(([key, value]) => value !== usual[key]));

    function wait(now) {
      asking = now;
      board.classList.toggle("asking", now);
      stage.querySelectorAll(".controls").forEach((part) => (part.inert = now));
      foot.hidden = now;
      clearTimeout(timer);
    }

    function question(k) {
      asked = k;
      scene(questions[k].from);
      clear();
      wait(true);
      make(top, "p", { class: "title" }, questions[k].ask);
      const row = make(top, "div", { class: "answers" });
      questions[k].answers.forEach(([words], answer) => button(row, words, () => guess(answer)));
      button(row, "Skip", () => guess(-1), "plain");
    }

    function guess(answer) {
      const { ask, answers, truth, because, then } = questions[asked], right = answers.findIndex(([, value]) => value === truth()), first = answer < 0 ? {} : { [`${name}: ${ask}`]: answer === right };
      const counted = guesses(first), hits = counted.filter(Boolean).length;
      clear();
      wait(false);
      if (answer >= 0) make(top, "p", { class: "verdict", tabindex: -1 }, make(null, "b", {}, answer === right ? "Right. " : "Not so. "), because).focus({ preventScroll: true });
      tally.textContent = counted.length ? `Your first guesses: ${hits} of ${counted.length} right` : "";
      picture.run(then);
    }

    function step(k) {
      const { words, state, light } = tour[k];
      clear();
      scene(state);
      stage.querySelectorAll(light).forEach((part) => part.classList.add("lit"));
      const box = make(top, "div", { class: "tour" });
      make(box, "p", { tabindex: -1 }, make(null, "b", {}, `${k + 1}/${tour.length} `), words).focus({ preventScroll: true });
      if (k) button(box, "Back", () => step(k - 1));
      button(box, k + 1 < tour.length ? "Next" : "Done", () => (k + 1 < tour.length ? step(k + 1) : clear()));
      if (picture.free) picture.free();
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

    // Writes the scene into the address; history is not touched, and an anchor of the page stays while all is as usual.
    function remember() {
      const scenes = all.scenes(location.hash), state = differs();
      if (!Object.keys(state).length && !scenes[name]) return;
      delete scenes[name];
      const hash = all.hash(Object.keys(state).length ? { ...scenes, [name]: state } : scenes);
      try {
        history.replaceState(history.state, "", location.href.split("#")[0] + hash);
      } catch {} // a frame without an address
    }

    async function copy() {
      const address = location.href.split("#")[0] + all.hash({ [name]: differs() });
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
      scene(state);
      if (picture.free) picture.free();
    }

    more.hidden = questions.length < 2;
    live[name] = { board, restore };
    listen();
    all.watch(board, picture.seen);
    question(0);
    if (all.scenes(location.hash)[name]) open(location.hash, "auto");
  };
})(typeof globalThis === "undefined" ? this : globalThis);
