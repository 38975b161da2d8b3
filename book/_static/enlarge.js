// A picture that is shown smaller than it is opens alone at its own size, by a tap, a click or the keyboard: on a phone the
// labels of a wide figure are a few pixels high. Scrolling sideways then moves over the picture. Escape or a tap closes it.
// A picture that opens its live twin has a button below it for this, where it is shown smaller than a page would show it.
document.addEventListener("DOMContentLoaded", () => {
  const pictures = [...document.querySelectorAll(".bd-article figure:not(.explorable) img, .bd-article .default-run img")];
  const small = (img) => img.naturalWidth > 1.3 * img.clientWidth && img.clientWidth > 0;
  let box = null;

  function open(img, from = img.closest("a") || img) {
    box = document.createElement("dialog");
    box.className = "enlarged";
    box.setAttribute("aria-label", "Picture at its own size");
    const close = Object.assign(document.createElement("button"), { type: "button", textContent: "Close" });
    const large = Object.assign(new Image(), { src: img.currentSrc || img.src, alt: img.alt });
    box.append(close, large);
    box.addEventListener("click", () => box.close());
    box.addEventListener("close", () => (box.remove(), from.focus()));
    document.body.append(box);
    box.showModal();
    const pixels = img.naturalWidth; // twice those of a page
    large.style.width = `${Math.min(pixels, Math.max(pixels / 2, 2.4 * innerWidth))}px`;
  }

  for (const img of pictures) {
    const link = img.closest("a");
    if (link && link.classList.contains("door")) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "enlarge", textContent: "Enlarge" });
      button.addEventListener("click", () => open(img, button));
      new ResizeObserver(() => (img.naturalWidth / 2 > 1.3 * img.clientWidth ? link.after(button) : button.remove())).observe(img);
      continue;
    }
    if (link && link.href !== img.src) continue; // it leads elsewhere
    if (link) { // to the file of the picture, as where no script runs
      link.addEventListener("click", (event) => small(img) && (event.preventDefault(), open(img)));
      continue;
    }
    Object.assign(img, { tabIndex: 0, title: "Enlarge" });
    img.setAttribute("role", "button");
    img.style.cursor = "zoom-in";
    img.addEventListener("click", () => small(img) && open(img));
    img.addEventListener("keydown", (event) => event.key === "Enter" && small(img) && open(img));
  }
});
