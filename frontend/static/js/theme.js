/* Light or dark. Loaded before the first paint, so that the page never flashes in the wrong theme.
   The system's setting is the default; choosing what the system already says forgets the choice. */
"use strict";

(() => {
  const KEY = "touchstone-theme";
  const root = document.documentElement;
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: the theme lasts as long as the page
    }
  };

  const store = (theme) => {
    try {
      theme ? localStorage.setItem(KEY, theme) : localStorage.removeItem(KEY);
    } catch {
      /* as above */
    }
  };

  const system = () => (systemIsDark.matches ? "dark" : "light");
  const current = () => root.dataset.theme || system();

  const apply = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };

  const label = (button) => {
    const dark = current() === "dark";
    button.setAttribute("aria-label", dark ? button.dataset.toLight : button.dataset.toDark);
    button.querySelector("[data-icon=moon]").toggleAttribute("hidden", dark);
    button.querySelector("[data-icon=sun]").toggleAttribute("hidden", !dark);
  };

  apply(stored());

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector(".theme-switch");
    if (!button) return;
    button.hidden = false;
    label(button);
    button.addEventListener("click", () => {
      const wanted = current() === "dark" ? "light" : "dark";
      const chosen = wanted === system() ? null : wanted;
      apply(chosen);
      store(chosen);
      label(button);
    });
    systemIsDark.addEventListener("change", () => label(button));
  });
})();
