/* How two replies are read: which one is in view, whether both have been on screen, a folded prompt, linked scrolling
   and marked differences. The page works without this file. */
"use strict";

(() => {
  const LEAST_SEEN_PX = 48; // so much of a reply must have been on screen
  const MOST_WORDS = 1500; // the table of common words has this many rows and columns
  const KEY = "touchstone-reading";

  const one = (selector) => document.querySelector(selector);
  const cards = () => [...document.querySelectorAll(".task .card")];
  const texts = () => cards().map((card) => card.querySelector(".scrolls"));
  const stacked = () => cards().length === 2 && cards()[1].offsetTop > cards()[0].offsetTop;

  const stored = () => {
    try {
      return JSON.parse(localStorage.getItem(KEY)) ?? {};
    } catch {
      return {}; // storage is switched off, or holds something else
    }
  };

  const store = (name, value) => {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...stored(), [name]: value }));
    } catch {
      /* the choice lasts as long as the page */
    }
  };

  // What has been on screen --------------------------------------------------------------------------------

  const onScreen = (card) => {
    const { top, bottom } = card.getBoundingClientRect();
    const least = Math.min(LEAST_SEEN_PX, bottom - top);
    return Math.min(bottom, innerHeight) - Math.max(top, 0) >= least;
  };

  const look = () => {
    for (const card of cards()) if (onScreen(card)) card.dataset.seen = "";
    const middle = innerHeight * 0.4;
    const current = cards().findLast((card) => card.getBoundingClientRect().top <= middle) ?? cards()[0];
    for (const link of document.querySelectorAll(".sides a")) {
      link.toggleAttribute("aria-current", link.dataset.side === current?.dataset.side);
      if (link.hasAttribute("aria-current")) link.setAttribute("aria-current", "true");
    }
  };

  const unseen = () => {
    look();
    return cards().find((card) => !("seen" in card.dataset)) ?? null;
  };

  // The prompt ---------------------------------------------------------------------------------------------

  const fold = (folded) => {
    one(".task .prompt")?.toggleAttribute("data-folded", folded);
    one("[data-fold]")?.setAttribute("aria-expanded", String(!folded));
  };

  // Scrolling together -------------------------------------------------------------------------------------

  let led = null; // the reply that is moved by script, whose own event is not passed back

  const follow = (event) => {
    const boxes = texts();
    if (!boxes.includes(event.target) || one("[data-together]")?.getAttribute("aria-pressed") !== "true") return;
    if (led === event.target) {
      led = null;
      return;
    }
    const other = boxes.find((box) => box !== event.target);
    const share = event.target.scrollTop / Math.max(1, event.target.scrollHeight - event.target.clientHeight);
    const to = Math.round(share * (other.scrollHeight - other.clientHeight));
    if (Math.abs(other.scrollTop - to) < 1) return;
    led = other;
    other.scrollTop = to;
  };

  // Differences --------------------------------------------------------------------------------------------

  const words = (box) => {
    const found = [];
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest("math")) continue; // a mark would cover half of a fraction
      for (const match of node.data.matchAll(/[\p{L}\p{N}]+/gu))
        found.push({ node, start: match.index, end: match.index + match[0].length, text: match[0].toLowerCase() });
    }
    return found;
  };

  // Lengths of the longest common subsequences of all ends of both lists.
  const common = (left, right) => {
    const width = right.length + 1;
    const table = new Uint16Array((left.length + 1) * width);
    for (let row = left.length - 1; row >= 0; row -= 1)
      for (let column = right.length - 1; column >= 0; column -= 1)
        table[row * width + column] = left[row].text === right[column].text
          ? table[(row + 1) * width + column + 1] + 1
          : Math.max(table[(row + 1) * width + column], table[row * width + column + 1]);
    return table;
  };

  const different = (left, right) => {
    const table = common(left, right);
    const width = right.length + 1;
    const found = [];
    let row = 0;
    let column = 0;
    while (row < left.length && column < right.length) {
      if (left[row].text === right[column].text) {
        row += 1;
        column += 1;
      } else if (table[(row + 1) * width + column] >= table[row * width + column + 1]) found.push(left[row++]);
      else found.push(right[column++]);
    }
    return [...found, ...left.slice(row), ...right.slice(column)];
  };

  const mark = (on) => {
    if (!window.Highlight) return;
    CSS.highlights.delete("different");
    one("[data-differences]")?.setAttribute("aria-pressed", String(on));
    if (!on || texts().length !== 2) return;
    const ranges = different(...texts().map(words)).map(({ node, start, end }) => {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      return range;
    });
    CSS.highlights.set("different", new Highlight(...ranges));
  };

  // The buttons --------------------------------------------------------------------------------------------

  const scrolls = (box) => box.scrollHeight > box.clientHeight + 1;

  const offer = () => {
    const tools = one(".reading-tools");
    if (!tools) return;
    const prompt = one(".task .prompt");
    const few = texts().length === 2 && texts().every((box) => words(box).length <= MOST_WORDS);
    tools.querySelector("[data-fold]").hidden = !prompt || prompt.scrollHeight < 160;
    tools.querySelector("[data-together]").hidden = stacked() || !texts().every(scrolls);
    tools.querySelector("[data-differences]").hidden = !few || !window.Highlight;
    tools.hidden = [...tools.children].every((button) => button.hidden);
  };

  const press = (button, name, apply) => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    store(name, on);
    apply?.(on);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".reading-tools button");
    if (button?.matches("[data-fold]")) fold(button.getAttribute("aria-expanded") === "true");
    else if (button?.matches("[data-together]")) press(button, "together");
    else if (button?.matches("[data-differences]")) press(button, "differences", mark);
    const link = event.target.closest(".sides a");
    if (!link) return;
    event.preventDefault(); // no entry of the history for each look
    document.getElementById(`card-${link.dataset.side}`).scrollIntoView({ block: "start" });
  });

  const show = () => {
    const { together, differences } = stored();
    fold(false);
    offer();
    one("[data-together]")?.setAttribute("aria-pressed", String(Boolean(together)));
    mark(Boolean(differences) && one("[data-differences]")?.hidden === false);
    look();
  };

  document.addEventListener("scroll", follow, { capture: true, passive: true });
  addEventListener("scroll", look, { passive: true });
  addEventListener("resize", () => { offer(); look(); }, { passive: true });

  window.touchstoneCompare = { show, unseen };
})();
