// Light or dark: as the system has it, until the button says otherwise.

const THEME_KEY = "evalmetrics-theme";
const THEMES = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
const repaints = new Set(); // what can't follow by CSS alone

// A file may have no storage: then a choice is forgotten with the page.
function keptTheme() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

function keepTheme(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // nowhere to keep it
  }
}

function setTheme(theme) {
  const root = document.documentElement;
  if (theme === "auto") {
    delete root.dataset.theme;
  } else {
    root.dataset.theme = theme;
  }
  document.getElementById("theme").textContent = THEMES[theme];
  keepTheme(theme);
  for (const repaint of repaints) {
    repaint();
  }
}

function startTheme() {
  const kept = keptTheme();
  const names = Object.keys(THEMES);
  let theme = names.includes(kept) ? kept : "auto";
  setTheme(theme);
  document.getElementById("theme").hidden = false;
  document.getElementById("theme").addEventListener("click", () => {
    theme = names[(names.indexOf(theme) + 1) % names.length];
    setTheme(theme);
    say(THEMES[theme]);
  });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => setTheme(theme));
}

// A canvas knows no variables of CSS: an element is asked what a colour is now.
const probe = h("span", { class: "hidden-text", "aria-hidden": "true" });

function colour(name) {
  if (!probe.isConnected) {
    document.body.append(probe);
  }
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}
