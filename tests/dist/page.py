#!/usr/bin/env python3
"""page.py PAGE...: looks at HTML pages in Chromium, as wide as a phone and a laptop, and on paper.

Nothing may be wider than the page or cut, and the last column has to be seen. Prints what is wrong; exit status 1 if anything is."""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

WIDTHS = [390, 1280]

# A frame is as wide as the window of its page; Chromium's own window is never as narrow as a phone.
LOOK = """
addEventListener("load", () => {
  const wrong = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, width = frame.clientWidth;
    const say = (element, what) => wrong.push(`${frame.title}: ${element.tagName.toLowerCase()}.${element.className} ${what}: ${element.textContent.trim().slice(0, 60)}`);
    if (!page.querySelector("footer")) say(page.documentElement, "did not load");
    if (page.documentElement.scrollWidth > width) say(page.documentElement, `is ${page.documentElement.scrollWidth} wide`);
    for (const element of page.body.querySelectorAll("*")) {
      const box = element.getBoundingClientRect();
      if (box.width && (box.left < 0 || box.right > width + 0.5)) say(element, `ends at ${box.right}`);
      if (element.clientWidth && element.scrollWidth > element.clientWidth + 1) say(element, `is cut at ${element.clientWidth} of ${element.scrollWidth}`);
    }
    const last = page.querySelectorAll("td:last-child");
    if (!last.length) say(page.documentElement, "has no table");
    for (const cell of last) if (cell.textContent.trim() && cell.getBoundingClientRect().width < 60) say(cell, "is not seen");
  }
  document.body.textContent = "SEEN " + JSON.stringify(wrong) + " END";
});
"""


def chromium(work, *args):
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={work}/profile"]
    done = subprocess.run(["chromium", *flags, *args], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"chromium: exit status {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def on_screens(work, pages):
    frames = [
        f'<iframe title="{html.escape(page.stem)} at {width}" width={width} height=2000 style="border:0" srcdoc="{html.escape(page.read_text())}"></iframe>'
        for page in pages
        for width in WIDTHS
    ]
    around = work / "around.html"
    around.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{''.join(frames)}<script>{LOOK}</script>")
    dom = chromium(work, "--virtual-time-budget=20000", "--window-size=1400,2000", "--dump-dom", around.as_uri())
    seen = re.search("SEEN (.*) END", dom, re.S)
    return json.loads(html.unescape(seen[1])) if seen else [f"nothing was seen: {dom[-500:]}"]


def text(page):
    """The words of a page, without what is between them: a line may break anywhere in a long name."""
    body = re.sub("<style>.*?</style>", "", page.read_text(), flags=re.S)
    body = re.sub('<span class="unit">.*?</span>', "", body)
    return html.unescape(re.sub("<[^>]*>", " ", body.split("<body>")[1]))


def on_paper(work, page):
    pdf = work / "page.pdf"
    chromium(work, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri())
    run = lambda *command: subprocess.run(command, capture_output=True, text=True, check=True).stdout
    info = dict(line.split(":", 1) for line in run("pdfinfo", pdf).splitlines() if ":" in line)
    width = float(info["Page size"].split()[0])
    wrong = []
    if not 1 <= int(info["Pages"]) <= 4 + page.read_text().count("<tr>") // 5:
        wrong.append(f"has {info['Pages'].strip()} pages")
    for word in re.finditer(r'<word xMin="([\d.-]+)" yMin="[\d.-]+" xMax="([\d.-]+)"[^>]*>(.*?)</word>', run("pdftotext", "-bbox", pdf, "-")):
        if float(word[1]) < 20 or float(word[2]) > width - 20:
            wrong.append(f"{word[3]} is outside the margins of the paper, from {word[1]} to {word[2]} of {width}")
    # Each word is there, whole. Columns are read one after the other, or line by line.
    squeeze = lambda words: re.sub(r"\s", "", words)
    paper = squeeze(run("pdftotext", "-raw", pdf, "-")) + squeeze(run("pdftotext", pdf, "-"))
    missing = [word for word in text(page).split() if word not in paper and len(word) < 30]
    if missing:
        wrong.append(f"lacks {len(missing)} words: {' '.join(missing[:10])}")
    return [f"{page.stem} on paper: {what}" for what in wrong]


def main():
    pages = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        wrong = on_screens(work, pages)
        for page in pages:
            wrong += on_paper(work, page)
    print("\n".join(wrong))
    sys.exit(1 if wrong or not pages else 0)


main()
