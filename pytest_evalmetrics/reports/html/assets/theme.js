// Light or dark: as the system has it, until the button says otherwise.

const THEMES = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
const repaints = new Set(); // what can't follow by CSS alone

function kept() {
  try {
    return localStorage.getItem("evalmetrics-theme");
  } catch {
    return null; // a file may have no storage
  }
}

function setTheme(theme) {
  const root = document.documentElement;
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  document.getElementById("theme").textContent = THEMES[theme];
  try {
    localStorage.setItem("evalmetrics-theme", theme);
  } catch { /* then it is forgotten with the page */ }
  for (const repaint of repaints) repaint();
}

function startTheme() {
  let theme = THEMES[kept()] ? kept() : "auto";
  const names = Object.keys(THEMES);
  setTheme(theme);
  document.getElementById("theme").addEventListener("click", () => {
    theme = names[(names.indexOf(theme) + 1) % names.length];
    setTheme(theme);
    say(THEMES[theme]);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(theme));
}

const probe = h("span", { class: "hidden-text", "aria-hidden": "true" });
function colour(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}
