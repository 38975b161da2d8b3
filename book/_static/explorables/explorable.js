// What live pictures share: how one starts beside its still picture, parts of SVG, controls, and the loop of frames.
(function (root) {
  "use strict";
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const all = (root.explorables = root.explorables || {});

  // An element of HTML, or of SVG where its parent is of SVG; children are elements or text.
  all.make = function (parent, tag, attributes = {}, ...children) {
    const within = tag === "svg" || (parent && parent.namespaceURI === NAMESPACE);
    const made = within ? document.createElementNS(NAMESPACE, tag) : document.createElement(tag);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    made.append(...children);
    if (parent) parent.append(made);
    return made;
  };

  // A labelled slider: {input, value(), tell()}; `says` turns its number into words, also for screen readers. The label's first
  // control is the number beside the words, so the slider says its own name.
  all.slider = function (parent, words, attributes, says, moved) {
    const label = all.make(parent, "label"), line = all.make(label, "span", {}, words);
    const shown = all.make(line, "output"), input = all.make(label, "input", { type: "range", "aria-label": words, ...attributes });
    const tell = () => {
      shown.textContent = says(+input.value);
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    input.addEventListener("input", () => (tell(), moved()));
    tell();
    return { input, value: () => +input.value, tell };
  };

  // Calls `frame` once per frame from `wake()` on, until it returns false.
  all.loop = function (frame) {
    let running = false;
    const next = () => {
      running = frame();
      if (running) requestAnimationFrame(next);
    };
    return () => {
      if (!running) requestAnimationFrame(next);
      running = true;
    };
  };

  all.still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  // Calls `seen(true)` once at least 60 % of an element is on screen, or 60 % of the screen shows it, and `seen(false)` once
  // less than a tenth is; returns what ends it.
  all.watch = function (element, seen) {
    let now = false;
    const tell = ([...entries]) => {
      const { intersectionRect, boundingClientRect, rootBounds } = entries.pop();
      const most = Math.min(boundingClientRect.height, rootBounds ? rootBounds.height : innerHeight);
      const share = most ? intersectionRect.height / most : 0;
      if (now ? share >= 0.1 : share < 0.6) return;
      seen((now = !now));
    };
    const observer = new IntersectionObserver(tell, { threshold: Array.from({ length: 41 }, (_, k) => k / 40) });
    observer.observe(element);
    return () => observer.disconnect();
  };

  // Brings one element to life and returns its lesson. A picture that fails stays the still one.
  all.enliven = function (element, name, options) {
    const board = all.make(element, "div", { class: "board" });
    element.classList.add("live");
    try {
      return all.lesson(board, name, all.lessons[name], options);
    } catch (error) {
      board.remove();
      element.classList.remove("live");
      element.dataset.explorable = `${name}, failed`;
      throw error;
    }
  };

  // Makes a picture known and brings it to life on this page, with its copies. A notebook's front end may run the script
  // before it attaches the element, so it looks again for five seconds; copies may stand below a script of the page.
  all.start = function (name, draw, lesson) {
    (all.lessons = all.lessons || {})[name] = { draw, ...lesson };
    if (typeof document === "undefined") return;
    const look = (tries) => {
      const found = document.querySelectorAll(`.explorable[data-explorable="${name}"]:not(.live)`);
      found.forEach((element) => all.enliven(element, name));
      if (found.length) all.repeat(name);
      else if (tries) setTimeout(() => look(tries - 1), 100);
    };
    look(50);
    document.addEventListener("DOMContentLoaded", () => (all.live[name] || []).length && all.repeat(name));
  };

  // The picture as a widget, {render({model, el})}, of the protocol that anywidget uses. The model's values, by the keys of a
  // scene, are where it opens and follows; those it has not are left alone. render returns what ends it.
  all.module = (name, style) => ({
    render({ model, el }) {
      all.make(el, "style", {}, style);
      const figure = all.make(el, "figure", { class: "explorable", "data-explorable": name });
      const given = () => Object.fromEntries(keys.map((key) => [key, model.get(key)]));
      let keys = [], telling = false; // a model says at once what is set, before the next key is
      const tell = (state) => {
        telling = true;
        keys.forEach((key) => model.set(key, state[key]));
        telling = false;
        model.save_changes();
      };
      const lesson = all.enliven(figure, name, { tell });
      keys = Object.keys(lesson.read()).filter((key) => model.get(key) !== undefined);
      const follow = () => telling || (keys.some((key) => model.get(key) !== lesson.read()[key]) && lesson.restore({ ...lesson.read(), ...given() }));
      keys.forEach((key) => model.on(`change:${key}`, follow));
      follow();
      return () => (keys.forEach((key) => model.off && model.off(`change:${key}`, follow)), lesson.end(), el.replaceChildren());
    },
  });
})(typeof globalThis === "undefined" ? this : globalThis);
