// A click on a command of a card or of the table of parameters copies it.
document.addEventListener("click", (event) => {
  const command = event.target.closest(".claim-command, .parameters .command");
  if (!command || !navigator.clipboard) return;
  navigator.clipboard.writeText(command.dataset.command ?? command.textContent).then(() => {
    command.classList.add("copied");
    setTimeout(() => command.classList.remove("copied"), 1500);
  });
});
