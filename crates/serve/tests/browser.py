"""Opens pages in Chromium: no console error, no page that is wider than the screen, and nothing serious that axe finds.

Each page is opened on a desktop and on a phone; in the lab tier, both in light and in dark.

Usage: browser.py ADDRESS PATH... Prints what is wrong, one line each, and exits with 1 if there is any. With SHOTS=DIRECTORY
it keeps a picture of each page.
"""

import os
import sys

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

SCREENS = [(1280, 900, "light"), (390, 844, "dark")]
if os.environ.get("PLUMB_TEST_LAB"):
    SCREENS += [(390, 844, "light"), (1280, 900, "dark")]


def check(page, address, path, screen):
    """Yields what is wrong with a page."""
    messages = []
    page.on("console", lambda message: message.type in ("error", "warning") and messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    answer = page.goto(address + path, wait_until="load")
    if answer.status != 200:
        yield f"status {answer.status}"
    yield from messages
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if over > 0:
        yield f"{over} pixels wider than the screen"
    if page.locator("h1").count() != 1:
        yield f"{page.locator('h1').count()} headings of the first level"
    for found in Axe().run(page).response["violations"]:
        if found["impact"] in ("serious", "critical"):
            yield f"{found['id']}: {found['help']}: {found['nodes'][0]['html'][:200]}"
    directory = os.environ.get("SHOTS")
    if directory:
        name = path.strip("/").replace("/", "-").replace("?", "-")[:60] or "start"
        page.screenshot(path=f"{directory}/{name}-{screen[0]}-{screen[2]}.png", full_page=True)


def keyboard(page, address):
    """Yields what is wrong with a search that uses the keyboard alone, without scripts."""
    page.goto(address + "/runs")
    page.keyboard.press("Tab")
    if page.evaluate("document.activeElement.className") != "skip":
        yield "the first stop of the keyboard is not the link to the content"
    page.locator("input[type=search]").first.focus()
    page.keyboard.type("tmpfs")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs?q=tmpfs")
    if page.locator("table.runs tbody tr").count() != 1:
        yield "the search finds something else than one run"
    page.locator("table.runs a").first.press("Enter")
    page.wait_for_url("**/runs/*")
    if page.locator("svg:visible").count() == 0:
        yield "a run has no charts"


def main():
    address, paths = sys.argv[1], sys.argv[2:]
    wrong = 0
    with sync_playwright() as playwright:
        # As root, Chromium starts only without its sandbox.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for screen in SCREENS:
            context = browser.new_context(
                viewport={"width": screen[0], "height": screen[1]}, color_scheme=screen[2]
            )
            for path in paths:
                page = context.new_page()
                for text in check(page, address, path, screen):
                    print(f"{path} at {screen[0]}, {screen[2]}: {text}")
                    wrong += 1
                page.close()
            context.close()
        context = browser.new_context(java_script_enabled=True)
        for text in keyboard(context.new_page(), address):
            print(f"keyboard: {text}")
            wrong += 1
        context.close()
        # Every page has the same content without scripts.
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(address + "/runs")
        if page.locator("table.runs tbody tr").count() < 3:
            print("without scripts the list is empty")
            wrong += 1
        browser.close()
    sys.exit(1 if wrong else 0)


main()
