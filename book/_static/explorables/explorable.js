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
  // less than a tenth is.
  all.watch = function (element, seen) {
    let now = false;
    const tell = ([...entries]) => {
      const { intersectionRect, boundingClientRect, rootBounds } = entries.pop();
      const most = Math.min(boundingClientRect.height, rootBounds ? rootBounds.height : innerHeight);
      const share = most ? intersectionRect.height / most : 0;
      if (now ? share >= 0.1 : share < 0.6) return;
      seen((now = !now));
    };
    new IntersectionObserver(tell, { threshold: Array.from({ length: 41 }, (_, k) => k / 40) }).observe(element);
  };

  // Brings each picture of this name to life. A notebook's front end may run the script before it attaches the element,
  // so it looks again for five seconds. A picture that fails stays the still one.
  all.start = function (name, draw, lesson, tries = 50) {
    (all.lessons = all.lessons || {})[name] = lesson;
    if (typeof document === "undefined") return;
    const found = document.querySelectorAll(`.explorable[data-explorable="${name}"]:not(.live)`);
    for (const element of found) {
      const board = all.make(element, "div", { class: "board" });
      element.classList.add("live");
      try {
        all.lesson(board, name, lesson, draw);
      } catch (error) {
        board.remove();
        element.classList.remove("live");
        element.dataset.explorable = `${name}, failed`;
        throw error;
      }
    }
    if (!found.length && tries) setTimeout(() => all.start(name, draw, lesson, tries - 1), 100);
  };
})(typeof globalThis === "undefined" ? this : globalThis);
