"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const chunks = [...document.querySelectorAll(".chunk")];
  const tools = byId("tools");
  if (!chunks.length) return;
  const search = byId("search");
  const reason = byId("reason");
  const kind = byId("kind");
  const number = byId("number");
  const count = byId("count");
  let current = null;

  const shown = () => chunks.filter((chunk) => !chunk.hidden);
  const numberOf = (chunk) => Number(chunk.id.slice(1));

  const markHere = (chunk) => {
    document.querySelectorAll(".mark.here").forEach((mark) => mark.classList.remove("here"));
    const mark = byId("b" + chunk.id.slice(1));
    if (mark) mark.classList.add("here");
  };
  const enter = (chunk) => {
    if (current) current.removeAttribute("aria-current");
    current = chunk;
    chunk.setAttribute("aria-current", "true");
    number.value = String(numberOf(chunk));
    markHere(chunk);
  };
  const go = (chunk) => {
    if (!chunk) return;
    enter(chunk);
    chunk.focus({ preventScroll: true });
    chunk.scrollIntoView({ block: "start" });
  };
  /* Without a current chunk, the first one below the top of the window is next. */
  const step = (by) => {
    const visible = shown();
    if (!visible.length) return;
    const at = visible.indexOf(current);
    if (at >= 0) {
      go(visible[Math.min(Math.max(at + by, 0), visible.length - 1)]);
      return;
    }
    const below = visible.find((chunk) => chunk.getBoundingClientRect().bottom > 0);
    go(below || visible[visible.length - 1]);
  };
  const say = () => {
    const n = shown().length;
    count.textContent = n === chunks.length ? "" : n + " of " + chunks.length + " shown";
  };
  const filter = () => {
    const wanted = search.value.toLocaleLowerCase();
    for (const chunk of chunks) {
      const one = chunk.dataset;
      const fits =
        (!reason.value || one.reason === reason.value) &&
        (!kind.value || one.kind === kind.value) &&
        (!wanted || chunk.textContent.toLocaleLowerCase().includes(wanted));
      chunk.hidden = !fits;
    }
    if (current && current.hidden) {
      current.removeAttribute("aria-current");
      current = null;
    }
    say();
  };
  const clear = () => {
    search.value = reason.value = kind.value = "";
    filter();
  };
  /* The last chunk whose number is not above the one asked for: a group holds many. */
  const find = (asked) => chunks.filter((chunk) => numberOf(chunk) <= asked).pop();
  const follow = () => {
    const target = byId(location.hash.slice(1));
    if (!target || !target.classList.contains("chunk")) return;
    if (target.hidden) clear();
    go(target);
  };

  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  reason.addEventListener("change", filter);
  kind.addEventListener("change", filter);
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  number.addEventListener("change", () => {
    if (number.value === "") return;
    const chunk = find(number.valueAsNumber);
    if (chunk && chunk.hidden) clear();
    go(chunk);
  });
  window.addEventListener("hashchange", follow);
  document.addEventListener("focusin", (event) => {
    const chunk = event.target.closest(".chunk");
    if (chunk && chunk !== current) enter(chunk);
  });

  const actions = {
    j: () => step(1),
    n: () => step(1),
    k: () => step(-1),
    p: () => step(-1),
    g: () => { number.focus(); number.select(); },
    "/": () => search.focus(),
    "?": () => { byId("keys").open = !byId("keys").open; },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape") {
      clear();
      if (typing) event.target.blur();
      return;
    }
    const action = actions[event.key];
    if (!action || typing || !byId("shortcuts").checked) return;
    event.preventDefault();
    action();
  });

  tools.hidden = false;
  if (location.hash) follow();
})();
