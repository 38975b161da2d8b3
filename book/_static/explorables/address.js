// Scenes of live pictures in addresses: "#clouds:nu=2.1&t=3" opens a picture at a scene, and a link of the prose drives it.
(function (root) {
  "use strict";
  const all = (root.explorables = root.explorables || {}), { make, still } = all;
  const live = (all.live = all.live || {}); // by name: the pictures of a page, {board, restore(state)}, the main one first

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

  // The address of this page with these scenes and nothing else behind its #.
  all.address = (scenes) => location.href.split("#")[0] + all.hash(scenes);

  // Writes a picture's scene into the address; history is not touched, and an anchor of the page stays while all is as usual.
  all.remember = function (name, state) {
    const scenes = all.scenes(location.hash), usual = !Object.keys(state).length;
    if (usual && !scenes[name]) return;
    delete scenes[name];
    try {
      history.replaceState(history.state, "", all.address(usual ? scenes : { ...scenes, [name]: state }));
    } catch {} // a frame without an address
  };

  const shown = (name) => (live[name] || []).filter(({ board }) => board.isConnected);

  // Of the pictures of a name the one that is nearest to a link, or the main one.
  function nearest(name, link) {
    const middle = (element) => (({ top, bottom }) => (top + bottom) / 2)(element.getBoundingClientRect());
    const far = ({ board }) => (link ? Math.abs(middle(board) - middle(link)) : 0);
    return shown(name).reduce((best, other) => (far(other) < far(best) ? other : best));
  }

  // Opens the scenes of a hash, scrolls to the first, and says whether there was one.
  all.open = function (hash, behavior, link = null) {
    const found = Object.entries(all.scenes(hash)).filter(([name]) => shown(name).length);
    const opened = found.map(([name, state]) => [nearest(name, link), state]);
    opened.forEach(([picture, state]) => picture.restore(state));
    if (opened.length) opened[0][0].board.scrollIntoView({ block: "center", behavior });
    return opened.length > 0;
  };

  // Hears links such as <a href="#clouds:nu=2.1">, also where a click repeats the address and the address does not change.
  all.listen = function () {
    if (all.listening) return;
    all.listening = true;
    let clicked = null;
    addEventListener("hashchange", () => {
      const link = clicked && clicked.hash === location.hash ? clicked : null;
      clicked = null;
      all.open(location.hash, "auto", link);
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest('a[href^="#"]');
      if (link && link.hash === location.hash) all.open(link.hash, still() ? "auto" : "smooth", link);
      else clicked = link;
    });
  };

  // A paragraph with <a class="again" href="#clouds:nu=2.1"> has the picture again below it, at that scene. Where no script
  // runs it stays a link to the main picture.
  all.repeat = function (name) {
    for (const link of document.querySelectorAll(`a.again[href^="#${name}:"]`)) {
      link.classList.remove("again");
      const figure = make(null, "figure", { class: "explorable copy", "data-explorable": name });
      (link.closest("p") || link).after(figure);
      all.enliven(figure, name, { scene: all.scenes(link.hash)[name] });
    }
  };
})(typeof globalThis === "undefined" ? this : globalThis);
