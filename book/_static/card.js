// A click on a card's command copies it.
document.addEventListener("click", (event) => {
  const command = event.target.closest(".claim-command");
  if (!command || !navigator.clipboard) return;
  navigator.clipboard.writeText(command.textContent).then(() => {
    command.classList.add("copied");
    setTimeout(() => command.classList.remove("copied"), 1500);
  });
});
