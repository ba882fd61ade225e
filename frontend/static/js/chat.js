/* The chat page by keyboard: sending, selecting, and saying what happened to a screen reader. A message that does not
   reach the server is kept and sent again: the server takes it once. Without this file the page works by its buttons. */
"use strict";

(() => {
  const SLOW_MS = 12_000; // replies that take longer are explained
  const AGAIN_MS = 3000; // between attempts to send what was kept
  const AWAY = [502, 503, 504]; // a server that is being restarted, as its proxy tells
  const LETTERS_KEY = "touchstone-letters";
  const DRAFT_KEY = "touchstone-draft";

  const stage = () => document.getElementById("stage");
  const byId = (id) => document.getElementById(id);
  const state = () => stage()?.dataset.state ?? "";
  const keys = () => byId("keys");
  const hasKeyboard = matchMedia("(hover: hover)").matches;

  let shownAt = performance.now();
  let sent = null; // the form that is under way
  let kept = null; // a form whose content has not reached the server
  let stateBefore = "";
  let lateTimer = 0;
  let againTimer = 0;

  // What is written and not sent survives a reload -------------------------------------------------------

  const draftKey = () => {
    const form = byId("message");
    return form && `${DRAFT_KEY}:${form.elements.conversation.value}:${form.elements.key.value}`;
  };

  const stored = (storage, key) => {
    try {
      return storage.getItem(key);
    } catch {
      return null; // storage is switched off
    }
  };

  const store = (storage, key, value) => {
    try {
      if (value) storage.setItem(key, value);
      else storage.removeItem(key);
    } catch {
      /* as above */
    }
  };

  const restoreDraft = () => {
    const key = draftKey();
    if (!key || byId("text").value) return;
    byId("text").value = stored(sessionStorage, key) ?? "";
  };

  document.addEventListener("input", (event) => {
    if (event.target.id === "text") store(sessionStorage, draftKey(), event.target.value);
  });

  // Showing a stage --------------------------------------------------------------------------------------

  const complain = (kind) => {
    const box = byId("trouble");
    box.hidden = !kind;
    box.textContent = kind ? box.dataset[kind] : "";
  };

  const say = () => {
    const said = stage().dataset.said;
    if (byId("said").textContent !== said) byId("said").textContent = said;
  };

  const show = () => {
    shownAt = performance.now();
    sent = null;
    kept = null;
    clearTimeout(againTimer);
    clearTimeout(lateTimer);
    document.body.classList.remove("sending", "late-now");
    if (state() === "waiting") lateTimer = setTimeout(() => document.body.classList.add("late-now"), SLOW_MS);
    showShortcuts();
    restoreDraft();
  };

  const place = () => {
    // The newest part in sight: the question of the turn and its replies, or the last messages.
    const spoken = [...document.querySelectorAll(".transcript .bubble")];
    const own = spoken.filter((one) => one.dataset.speaker === "user").at(-1);
    if (state() === "choose" && own) own.scrollIntoView({ block: "start" });
    else if (["write", "waiting", "rate"].includes(state())) scrollTo(0, document.documentElement.scrollHeight);
    else scrollTo(0, 0);
  };

  const focusFirst = () => {
    const first = stage().querySelector("[data-autofocus]");
    const typing = first?.matches("textarea, input");
    const target = first && (hasKeyboard || !typing) ? first : byId("stage-heading");
    target?.focus({ preventScroll: true });
    if (target?.matches("textarea")) target.setSelectionRange(target.value.length, target.value.length);
  };

  // Sending ----------------------------------------------------------------------------------------------

  const takeBack = () => {
    sent = null;
    clearTimeout(againTimer);
    document.body.classList.remove("sending");
  };

  const sendAgain = () => {
    clearTimeout(againTimer);
    if (kept && document.contains(kept) && sent === null) kept.requestSubmit();
  };

  const keep = () => {
    kept = sent;
    sent = null;
    complain("kept");
    againTimer = setTimeout(sendAgain, AGAIN_MS);
  };

  // Capture: before htmx sees the event, so that a second press is stopped and client_ms is in the form.
  document.addEventListener("submit", (event) => {
    if (!stage()?.contains(event.target)) return;
    if (sent !== null || (kept !== null && kept !== event.target)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    sent = event.target;
    document.body.classList.add("sending");
    const clock = event.target.elements.client_ms;
    if (clock && !clock.value) clock.value = Math.round(performance.now() - shownAt);
  }, true);

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id !== "stage") return;
    stateBefore = state();
    if (sent?.id === "message") store(sessionStorage, draftKey(), "");
  });

  document.addEventListener("htmx:afterSwap", () => {
    if (!stage()) return;
    complain(null);
    const still = state() === "waiting" && stateBefore === "waiting";
    show();
    if (still) return;
    say();
    place();
    focusFirst();
  });

  // A poll that answers "nothing new" swaps nothing: the server is there again.
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.xhr?.status === 204 && sent === null && kept === null) complain(null);
  });

  const failed = (away) => {
    if (sent === null) {
      if (kept === null && away) complain("away");
      return;
    }
    if (away && ["message", "choice", "rating"].includes(sent.id)) {
      keep();
      return;
    }
    takeBack();
    complain(away ? "unreachable" : "refused");
  };

  document.addEventListener("htmx:sendError", () => failed(true));
  document.addEventListener("htmx:responseError", (event) => failed(AWAY.includes(event.detail.xhr.status)));
  addEventListener("online", sendAgain);

  // Another tab, or another device, may have gone on: look when this one is in sight again.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible" || sent !== null || kept !== null) return;
    const seen = encodeURIComponent(stage()?.dataset.stamp ?? "");
    if (!seen || state() === "waiting") return;
    htmx.ajax("GET", `${location.pathname}?seen=${seen}`, { target: "#stage", swap: "outerHTML" });
  });

  // Keys -------------------------------------------------------------------------------------------------

  const lettersWork = () => document.documentElement.dataset.letters !== "off";

  // A function, so that it may be called from above.
  function showShortcuts() {
    for (const element of document.querySelectorAll("[aria-keyshortcuts], [data-shortcuts]")) {
      element.dataset.shortcuts ??= element.getAttribute("aria-keyshortcuts");
      const names = element.dataset.shortcuts.split(" ").filter((name) => lettersWork() || name.length > 1);
      if (names.length) element.setAttribute("aria-keyshortcuts", names.join(" "));
      else element.removeAttribute("aria-keyshortcuts");
    }
  }

  const setLetters = (on) => {
    document.documentElement.dataset.letters = on ? "on" : "off";
    showShortcuts();
  };

  const isTyping = (element) =>
    element?.closest("input:not([type=radio]):not([type=checkbox]), select, textarea, [contenteditable]") !== null;

  const press = (digit) => {
    const picks = document.querySelectorAll("#choice .pick input, #rating .scale input");
    const found = picks[digit - 1];
    if (!found) return false;
    if (found.type === "radio" && found.checked && found.form.id === "choice") found.checked = false;
    else found.click();
    found.focus({ preventScroll: true });
    return true;
  };

  const openAside = (id) => {
    const aside = byId(id);
    if (!aside) return false;
    for (const other of document.querySelectorAll("details.skip[open]")) other.open = other === aside;
    aside.open = true;
    aside.querySelector("input[type=radio], button")?.focus();
    return true;
  };

  const closeAsides = () => {
    const open = document.querySelector("details.skip[open]");
    if (!open) return false;
    open.open = false;
    open.querySelector("summary").focus();
    return true;
  };

  const goOn = () => {
    const form = byId("choice") ?? byId("rating");
    if (!form) return false;
    form.requestSubmit();
    return true;
  };

  const onOwnKey = (element) => element?.closest("button, a, summary, details.skip form") !== null;

  const act = (key) => {
    if (key === "Enter") return !onOwnKey(document.activeElement) && goOn();
    if (!lettersWork() || document.querySelector("details.skip[open]")) return false;
    if (/^[1-8]$/.test(key)) return press(Number(key));
    if (key.toLowerCase() === "s") return openAside("skip");
    if (key.toLowerCase() === "r") return openAside("report");
    if (key !== "?") return false;
    keys().showModal();
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.isComposing || keys().open) return;
    const within = document.activeElement;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const form = within?.closest("#message, #choice, #rating");
      if (!form) return;
      event.preventDefault();
      form.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && closeAsides()) {
      event.preventDefault();
      return;
    }
    if (isTyping(within)) return;
    if (act(event.key)) event.preventDefault();
  });

  // A press anywhere on a reply selects it; text that is being marked is not a press.
  document.addEventListener("click", (event) => {
    const card = event.target.closest(".candidate");
    if (!card || event.target.closest("label, a, button, summary, .question") || String(getSelection())) return;
    card.querySelector(".pick input").click();
  });

  // Start ------------------------------------------------------------------------------------------------

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-opens-keys]")) {
      button.hidden = false;
      button.addEventListener("click", () => keys().showModal());
    }
    const letters = byId("letters");
    letters.checked = stored(localStorage, LETTERS_KEY) !== "off";
    letters.addEventListener("change", () => {
      setLetters(letters.checked);
      store(localStorage, LETTERS_KEY, letters.checked ? "on" : "off");
    });
    setLetters(letters.checked);
    show();
    place();
    focusFirst();
  });

  addEventListener("pageshow", (event) => {
    if (event.persisted) takeBack(); // back from the browser's memory: the buttons must work again
  });
})();
