/* The board looks after itself: its head polls (htmx), and the ranking is fetched when the head tells of another one.
   This file keeps that calm. Rows glide when they change places, a reader's selection and focus are not torn away, a
   hidden page does not ask, and screen readers hear changes at a decent pace. */
"use strict";

(() => {
  const MOVE_MS = 300;
  const SPEAK_EVERY_MS = 30_000;
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  const live = () => document.getElementById("live");
  const ranking = () => document.getElementById("ranking");
  const rows = () => [...document.querySelectorAll("#ranking tr[data-key]")];
  const isLive = (event) => event.detail.elt?.id === "live" || event.detail.target?.id === "live";
  const isRefresh = (event) => event.detail.requestConfig?.elt?.id === "ranking"; // a search is the reader's own doing

  let tops = new Map();
  let spoken = { text: null, state: null, at: 0 };

  const remember = () => {
    tops = new Map(rows().map((row) => [row.dataset.key, row.getBoundingClientRect().top]));
  };

  const glide = () => {
    if (still.matches) return;
    for (const row of rows()) {
      const before = tops.get(row.dataset.key);
      const by = before === undefined ? 0 : before - row.getBoundingClientRect().top;
      if (Math.abs(by) < 8) continue; // a changed line of text above is not a change of place
      row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], { duration: MOVE_MS, easing: "ease-in-out" });
    }
  };

  const order = () => rows().map((row) => row.dataset.key).join("\n");

  const speak = () => {
    const { status, state } = live().dataset;
    const due = Date.now() - spoken.at >= SPEAK_EVERY_MS;
    if (status === spoken.text || !(due || state !== spoken.state)) return;
    if (spoken.text !== null) document.getElementById("announce").textContent = status;
    spoken = { text: status, state, at: Date.now() };
  };

  const isBeingRead = (part) => {
    const selection = getSelection();
    return Boolean(selection) && !selection.isCollapsed && part.contains(selection.anchorNode);
  };

  const setStale = (stale) => {
    document.getElementById("stale").hidden = !stale;
  };

  const fetchRanking = () => {
    const part = ranking();
    if (!part || part.dataset.stamp === live().dataset.stamp) return;
    if (!isBeingRead(part) && !part.classList.contains("htmx-request")) htmx.trigger(part, "snapshot");
  };

  let orderBefore = "";
  let focusBefore = null;

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isLive(event) && document.hidden) event.preventDefault();
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.detail.shouldSwap || !(isLive(event) || isRefresh(event))) return;
    if (isBeingRead(event.detail.target)) {
      event.detail.shouldSwap = false;
      return;
    }
    if (!isRefresh(event)) return;
    orderBefore = order();
    focusBefore = ranking().contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    remember();
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (isRefresh(event)) {
      if (order() !== orderBefore) glide();
      if (focusBefore) ranking().querySelector(`[href="${CSS.escape(focusBefore)}"]`)?.focus({ preventScroll: true });
      return;
    }
    if (!live()) return;
    speak();
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    if (!isLive(event)) return;
    setStale(!event.detail.successful); // 304 counts as success
    fetchRanking();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.documentElement.classList.add("tips-off");
  });
  for (const name of ["pointermove", "focusin"]) {
    document.addEventListener(name, () => document.documentElement.classList.remove("tips-off"), { passive: true });
  }

  document.addEventListener("DOMContentLoaded", speak);
})();
