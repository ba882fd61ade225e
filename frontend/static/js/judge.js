/* Judging by keyboard, one answer per item, and the time it took. An answer that does not reach the server is kept and
   sent again. Without this file the page still works by its buttons. */
"use strict";

(() => {
  const SHOW_CHOICE_MS = 350; // how long the chosen answer stays in sight, at least
  const SETTLE_MS = 300; // a second press meant for the last item must not judge this one
  const SLOW_MS = 700;
  const AGAIN_MS = 3000; // between attempts to send a kept answer
  const LONGEST_TIMER_MS = 2 ** 31 - 1; // browsers run a longer one at once
  const JUDGED = ["item", "qualification"];
  const AWAY = [502, 503, 504]; // a server that is being restarted, as its proxy tells
  const LETTERS_KEY = "touchstone-letters";
  const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp"];

  const stage = () => document.getElementById("stage");
  const answer = () => document.getElementById("answer");
  const skip = () => document.getElementById("skip");
  const why = () => document.querySelector(".why");
  const keys = () => document.getElementById("keys");
  const choices = () => [...document.querySelectorAll("#answer button[name=choice]")];

  let shownAt = performance.now();
  let sentAt = null;
  let slowTimer = 0;
  let stateBefore = null;
  let kept = false; // an answer that was given and has not reached the server
  let againTimer = 0;
  let undoTimer = 0;
  let leaseTimer = 0;
  let askedAboutUnseen = false; // whether this item's answer was held back, because a reply had not been on screen

  // What is on the stage ---------------------------------------------------------------------------------

  const markOverflow = (box) => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    const overflows = box.scrollHeight > box.clientHeight + 1;
    const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
    box.toggleAttribute("data-more", overflows && !atEnd);
    if (!overflows && !wide) {
      for (const name of ["tabindex", "role"]) box.removeAttribute(name);
      return;
    }
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "region");
    if (box.dataset.region) box.setAttribute("aria-label", box.dataset.region);
  };

  const markAllOverflows = () => document.querySelectorAll(".scrolls").forEach(markOverflow);

  // What lasts for some seconds: the offer to undo, and the lease.
  const startClocks = () => {
    clearTimeout(undoTimer);
    clearTimeout(leaseTimer);
    const saved = document.getElementById("saved");
    if (saved) undoTimer = setTimeout(forgetUndo, 1000 * saved.dataset.forS, saved);
    const over = document.getElementById("lease-over");
    const left = over && Math.min(1000 * over.dataset.afterS, LONGEST_TIMER_MS);
    if (over) leaseTimer = setTimeout(() => { over.hidden = false; }, left);
  };

  const forgetUndo = (saved) => {
    const held = saved.contains(document.activeElement);
    saved.remove();
    const back = document.getElementById("back");
    if (back) back.hidden = false;
    if (held) (back ?? document.getElementById("stage-heading"))?.focus();
  };

  const goBack = () => (document.getElementById("undo") ?? document.getElementById("back"))?.click();

  const showItem = () => {
    startClocks();
    showButtons();
    shownAt = performance.now();
    sentAt = null;
    kept = false;
    clearTimeout(slowTimer);
    clearTimeout(againTimer);
    document.body.classList.remove("slow");
    markAllOverflows();
    showShortcuts();
    askedAboutUnseen = false;
    window.touchstoneCompare?.show();
  };

  const setDisabled = (buttons, disabled) => {
    for (const button of buttons) button.disabled = disabled;
  };

  const settle = () => {
    const buttons = choices();
    setDisabled(buttons, true);
    setTimeout(() => setDisabled(buttons, false), SETTLE_MS);
  };

  // Sending ----------------------------------------------------------------------------------------------

  const complain = (kind) => {
    const box = document.getElementById("trouble");
    box.hidden = !kind;
    box.textContent = kind ? box.dataset[kind] : "";
  };

  const markChoice = (button) => {
    answer().classList.add("chosen");
    button.dataset.chosen = "";
    const buttons = choices();
    setTimeout(() => setDisabled(sentAt === null ? [] : buttons, true)); // later: the form is being read now
    const card = document.querySelector(`.card[data-side="${CSS.escape(button.value)}"]`);
    if (card) card.dataset.chosen = "";
  };

  const takeBack = () => {
    sentAt = null;
    kept = false;
    clearTimeout(againTimer);
    clearTimeout(slowTimer);
    document.body.classList.remove("slow");
    answer()?.classList.remove("chosen");
    setDisabled(choices(), false);
    answer()?.querySelector("button[data-chosen]")?.focus();
    for (const marked of document.querySelectorAll("[data-chosen]")) delete marked.dataset.chosen;
  };

  const sendAgain = () => {
    clearTimeout(againTimer);
    if (!kept || !answer() || sentAt !== null) return;
    const button = answer().querySelector("button[data-chosen]");
    setDisabled(choices(), false);
    if (button) button.click();
    else answer().requestSubmit();
  };

  const keep = () => {
    sentAt = null;
    kept = true;
    clearTimeout(slowTimer);
    document.body.classList.remove("slow");
    setTimeout(() => setDisabled(kept ? choices() : [], true)); // after markChoice has had its turn
    complain("kept");
    againTimer = setTimeout(sendAgain, AGAIN_MS);
  };

  // An answer before a reply has been on screen is asked about, once.
  const holdsUnseen = () => {
    const unseen = askedAboutUnseen || kept ? null : window.touchstoneCompare?.unseen();
    if (!unseen) return false;
    askedAboutUnseen = true;
    complain("unseen");
    unseen.scrollIntoView({ block: "start" });
    return true;
  };

  const onSubmit = (event) => {
    if (!stage()?.contains(event.target) || !JUDGED.includes(stage().dataset.state)) return;
    if (sentAt !== null || (event.target === answer() && holdsUnseen())) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    sentAt = performance.now();
    slowTimer = setTimeout(() => document.body.classList.add("slow"), SLOW_MS);
    if (!kept) complain(null);
    if (event.target !== answer()) return;
    if (!kept) answer().elements.client_ms.value = Math.round(sentAt - shownAt); // decided once, sent perhaps often
    if (event.submitter?.name === "choice") markChoice(event.submitter);
    else answer().classList.add("chosen");
  };

  // Capture: before htmx sees the event, so that a second press is stopped and client_ms is in the form.
  document.addEventListener("submit", onSubmit, true);

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id !== "stage") return;
    stateBefore = stage().dataset.state;
    if (sentAt === null || !answer()?.classList.contains("chosen")) return;
    const rest = Math.max(0, SHOW_CHOICE_MS - (performance.now() - sentAt));
    event.detail.swapOverride = `outerHTML swap:${Math.round(rest)}ms`;
  });

  document.addEventListener("htmx:afterSwap", () => {
    if (!stage()) return;
    const state = stage().dataset.state;
    if (state !== "item" && state === stateBefore) return; // still waiting: say nothing, move nothing
    complain(null);
    showItem();
    if (stateBefore === "item" && state === "item") settle();
    scrollTo(0, 0);
    const first = stage().querySelector("[autofocus]") ?? document.getElementById("stage-heading");
    first?.focus({ preventScroll: true });
  });

  const chosenButNotSent = () => answer()?.classList.contains("chosen") ?? false;

  document.addEventListener("htmx:sendError", () => {
    if (sentAt === null) return;
    if (chosenButNotSent()) {
      keep();
      return;
    }
    takeBack();
    complain("unreachable");
  });

  document.addEventListener("htmx:responseError", (event) => {
    if (sentAt === null) return;
    if (chosenButNotSent() && AWAY.includes(event.detail.xhr.status)) {
      keep();
      return;
    }
    takeBack();
    complain("refused");
  });

  addEventListener("online", sendAgain);

  // Keys -------------------------------------------------------------------------------------------------

  const lettersAnswer = () => document.documentElement.dataset.letters !== "off";

  const setLetters = (on) => {
    document.documentElement.dataset.letters = on ? "on" : "off";
    showShortcuts();
  };

  // A function, so that it may be called from above.
  function showShortcuts() {
    for (const element of document.querySelectorAll("[aria-keyshortcuts], [data-shortcuts]")) {
      element.dataset.shortcuts ??= element.getAttribute("aria-keyshortcuts");
      const names = element.dataset.shortcuts.split(" ").filter((name) => lettersAnswer() || name.length > 1);
      if (names.length) element.setAttribute("aria-keyshortcuts", names.join(" "));
      else element.removeAttribute("aria-keyshortcuts");
    }
  }

  const storedLetters = () => {
    try {
      return localStorage.getItem(LETTERS_KEY);
    } catch {
      return null; // storage is switched off: the choice lasts as long as the page
    }
  };

  const storeLetters = (on) => {
    try {
      localStorage.setItem(LETTERS_KEY, on ? "on" : "off");
    } catch {
      /* as above */
    }
  };

  const isTyping = (element) =>
    element?.closest("input:not([type=radio]):not([type=checkbox]), select, textarea, [contenteditable]") !== null;

  // Several aspects: each press answers one, and the press that answers the last one sends all.
  const aspects = () => [...document.querySelectorAll(".aspects fieldset")];

  const sendIfComplete = () => {
    // Of several labels nobody knows which is the last one: they are sent by the button.
    if (!document.querySelector(".aspects[data-sends-itself]") || document.querySelector(".aspects [type=checkbox]")) return;
    if (aspects().every((aspect) => aspect.querySelector("input:checked"))) answer().requestSubmit();
  };

  const pressAspect = (key) => {
    const box = sentAt === null && pressed(key, [...document.querySelectorAll(".aspects input")]);
    if (!box) return false;
    box.checked = box.type === "radio" || !box.checked;
    sendIfComplete();
    return true;
  };

  document.addEventListener("click", (event) => {
    if (event.detail > 0 && event.target.closest(".aspects label")) setTimeout(sendIfComplete); // not by Tab and arrows
  });

  const arrowsScroll = (key) => {
    const box = document.activeElement?.closest(".scrolls[tabindex], pre[tabindex]");
    const page = document.documentElement;
    const vertical = key === "ArrowUp" || key === "ArrowDown";
    return Boolean(box) || (vertical && page.scrollHeight > page.clientHeight + 1);
  };

  // The button or box with this key among its shortcuts. A function, so that it may be called from above.
  function pressed(key, among) {
    if (ARROWS.includes(key) && arrowsScroll(key)) return null;
    const name = ARROWS.includes(key) ? key : lettersAnswer() && key.length === 1 ? key.toUpperCase() : null;
    return name && among.find((one) => (one.dataset.shortcuts ?? "").split(" ").includes(name));
  }

  const closeSkip = () => {
    skip().open = false;
    skip().querySelector("summary").focus();
  };

  document.addEventListener("click", (event) => {
    if (!skip()?.open) return;
    if (!skip().contains(event.target)) skip().open = false;
    else if (event.target.closest("[data-closes-skip]")) closeSkip();
  });

  const openSkip = () => {
    if (!skip()) return;
    skip().open = true;
    skip().querySelector("input[type=radio]").focus();
  };

  const onKey = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && aspects().length && answer()?.contains(document.activeElement)) {
      event.preventDefault();
      answer().requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    if (event.key === "Escape" && skip()?.open) {
      closeSkip();
      return;
    }
    if (isTyping(document.activeElement) || keys().open) return;
    const onRadio = document.activeElement?.matches("input[type=radio], input[type=checkbox]");
    if (onRadio && (ARROWS.includes(event.key) || event.key === " " || event.key === "Enter")) return; // its own keys
    if (event.key === "?" && lettersAnswer()) {
      keys().showModal();
    } else if (event.key.toLowerCase() === "s" && lettersAnswer()) {
      openSkip();
    } else if (event.key.toLowerCase() === "u" && lettersAnswer()) {
      if (sentAt === null) goBack();
    } else if (event.key.toLowerCase() === "w" && lettersAnswer() && why()) {
      why().open = !why().open || "required" in why().dataset;
      if (why().open) why().querySelector("input, textarea").focus();
    } else if (aspects().length && !skip()?.open) {
      if (!pressAspect(event.key)) return;
    } else {
      const button = skip()?.open ? null : pressed(event.key, choices());
      if (!button) return;
      button.click();
    }
    event.preventDefault();
  };

  document.addEventListener("keydown", onKey);

  // The completion code ----------------------------------------------------------------------------------

  const showButtons = () => {
    for (const button of document.querySelectorAll("[data-copies]")) button.hidden = !navigator.clipboard;
    for (const button of document.querySelectorAll("[data-closes-skip]")) button.hidden = false;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    button.textContent = button.dataset.done;
  });

  // Start ------------------------------------------------------------------------------------------------

  document.addEventListener("scroll", (event) => {
    if (event.target.classList?.contains("scrolls")) markOverflow(event.target);
  }, { capture: true, passive: true });

  addEventListener("resize", markAllOverflows, { passive: true });
  addEventListener("pageshow", (event) => {
    if (event.persisted) takeBack(); // back from the browser's memory: the buttons must work again
  });

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-opens-keys]")) {
      button.hidden = false;
      button.addEventListener("click", () => keys().showModal());
    }
    const letters = document.getElementById("letters");
    letters.checked = storedLetters() !== "off";
    letters.addEventListener("change", () => {
      setLetters(letters.checked);
      storeLetters(letters.checked);
    });
    setLetters(letters.checked);
    showItem();
  });
})();
