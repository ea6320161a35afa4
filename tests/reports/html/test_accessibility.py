"""What a screen reader and a keyboard need; axe-core looks too, where its script is at hand."""

from itertools import pairwise

import pytest

pytestmark = pytest.mark.browser

PLACES = {
    "overview": ("flipped", ""),
    "failing": ("flipped", "math.bench.yaml::math"),
    "scored": ("evil", ""),
    "calibration": ("unchanged", ""),
}
CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const known = new Map();
const rgb = (text) => {
  if (!known.has(text)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    known.set(text, [...canvas.getImageData(0, 0, 1, 1).data]);
  }
  return known.get(text);
};
const light = (c) => c.slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => {
  for (let at = e; at; at = at.parentElement) {
    const color = rgb(getComputedStyle(at).backgroundColor);
    if (color[3] === 255) return color;
  }
  return rgb('white');
};
const low = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.getClientRects().length || e.closest('script, style, svg, .hidden-text')) continue;
  const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
}
return [...new Set(low)];
"""


@pytest.fixture(params=PLACES)
def place(request, browser, pages):
    name, item = PLACES[request.param]
    path = pages(name)

    def opened(**options):
        browser.open(path, **options)
        if item:
            browser.go(item)
        browser.drawn()
        browser.run(
            "document.querySelectorAll('details').forEach(d => { d.open = true })"
        )
        browser.run("document.querySelector('.open')?.click()")
        return browser

    return opened


def test_headings_go_down_one_at_a_time(place):
    levels = place().run(
        "return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(e => +e.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_everything_has_a_name(place):
    nameless = place().run(
        "return [...document.querySelectorAll('input,select,button,a,svg[role],canvas,[role=img],"
        "[role=group],table,nav,section')].filter(e => !(e.labels?.length || e.ariaLabel ||"
        "e.innerText?.trim() || e.closest('[aria-label]') || e.getAttribute('aria-labelledby')))"
        ".map(e => e.outerHTML.slice(0, 200))"
    )
    assert nameless == []


def test_tables_have_headers_and_ids_are_unique(place):
    browser = place()
    assert browser.run(
        "return [...document.querySelectorAll('table')].every(t => t.caption"
        " && t.querySelector('th[scope=col]'))"
    )
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert browser.run("return document.documentElement.lang") == "en"
    assert browser.run(
        "return ['header', 'main', 'footer'].every(t => document.querySelector(t))"
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(place, dark):
    assert place(dark=dark).run(CONTRAST) == []


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (360, True)], ids=["wide-light", "narrow-dark"]
)
def test_axe_finds_nothing(place, width, dark):
    assert place(width=width, dark=dark).violations() == []
