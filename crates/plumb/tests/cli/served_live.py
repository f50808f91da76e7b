"""Follows a study in Chromium, over HTTPS and with a token.

Usage: served_live.py ADDRESS TOKEN. Opens the page of the newest study as soon as there is one, sees its progress change without a
new load, and the page with the answer once the study has ended. Prints what is wrong, and exits with 1 if there is any.
"""

import sys

from playwright.sync_api import sync_playwright

WAIT_MS = 120_000


def main():
    address, token = sys.argv[1:]
    wrong = []
    with sync_playwright() as playwright:
        # As root, Chromium starts only without its sandbox.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        stranger = browser.new_context(ignore_https_errors=True)
        if stranger.request.get(address + "/runs").status != 401:
            wrong.append("a stranger can read")
        context = browser.new_context(
            ignore_https_errors=True, http_credentials={"username": "ann", "password": token}
        )
        page = context.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address + "/studies")
        while page.locator("main table a").count() == 0:
            page.wait_for_timeout(200)
            page.goto(address + "/studies")
        page.locator("main table a").first.click()
        page.wait_for_url("**/studies/*")
        page.wait_for_selector("[data-events]")
        page.evaluate("window.sameLoad = true")
        first = page.locator("[role=status]").inner_text()
        changed = "first => window.sameLoad && document.querySelector('[role=status]').textContent !== first"
        page.wait_for_function(changed, arg=first, timeout=WAIT_MS)
        # The end loads the page again, with the answer.
        page.wait_for_selector(".report", timeout=WAIT_MS)
        page.wait_for_function("() => !document.querySelector('[data-events]')", timeout=WAIT_MS)
        if page.evaluate("window.sameLoad === true"):
            wrong.append("the page was not loaded again at the end")
        browser.close()
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
