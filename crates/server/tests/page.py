"""The chat page in a real Chromium, driven as a user drives it. WOOTZ_KEEP is a folder for pictures."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest
import websocket

URL = os.environ["WOOTZ_URL"]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """A tab, by the DevTools protocol."""

    def __init__(self, url):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--window-size=1000,760"]
        flags += ["--remote-allow-origins=*", f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen([BROWSER, *flags], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"ws://([^/]+)/", line):
                break
        import urllib.request

        with urllib.request.urlopen(f"http://{found[1]}/json/list") as answer:
            tab = next(t for t in json.load(answer) if t["type"] == "page")
        self.socket = websocket.create_connection(tab["webSocketDebuggerUrl"], timeout=300)
        self.number, self.errors = 0, []
        self.call("Runtime.enable")
        self.call("Page.enable")
        self.call("Log.enable")
        self.call("Page.navigate", url=url)
        self.until("document.documentElement?.dataset.ready === 'true'")

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(answer["params"]["exceptionDetails"])
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.errors.append(answer["params"]["entry"]["text"])
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def js(self, code):
        result = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, code, seconds=300):
        deadline = time.time() + seconds
        while not self.js(code):
            assert time.time() < deadline, f"never true: {code}"
            time.sleep(0.05)

    def type(self, text):
        self.js("document.getElementById('input').focus()")
        self.call("Input.insertText", text=text)

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, name):
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if folder := os.environ.get("WOOTZ_KEEP"):
            pathlib.Path(folder, name).write_bytes(data)
        return data

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()


@pytest.fixture
def page():
    page = Page(f"{URL}/")
    yield page
    errors = page.errors
    page.close()
    assert not errors


IDLE = "document.documentElement.dataset.running === 'false'"
LAST = "[...document.querySelectorAll('.message.assistant .body')].at(-1)"
PROMPT = os.environ.get("WOOTZ_PROMPT", "Hello")


def set_field(page, name, value):
    page.js(f"{{ const f = document.getElementById('{name}'); f.value = '{value}'; f.dispatchEvent(new Event('change')) }}")


def test_chat_edit_retry_and_stop(page):
    page.until("document.getElementById('model').textContent.includes(' on ')")
    page.js("document.getElementById('open-settings').click()")
    set_field(page, "temperature", 0)
    set_field(page, "max_tokens", os.environ.get("WOOTZ_TOKENS", "40"))
    page.js("document.getElementById('open-settings').click()")
    page.type(PROMPT)
    page.press("Enter", 13)
    page.until(f"{LAST} && {IDLE}")
    answer = page.js(f"{LAST}.textContent")
    assert answer.strip()
    assert "tokens/s" in page.js("document.querySelector('.note').textContent")
    light = page.picture("server-chat.png")
    page.js("document.getElementById('theme').click()")
    assert page.js("document.documentElement.dataset.theme") == "dark"
    assert page.picture("server-chat-dark.png") != light
    click = "[...document.querySelectorAll('.message button')].find((b) => b.textContent === '{}').click()"
    page.js(click.format("Retry"))
    page.until(IDLE)
    assert page.js(f"{LAST}.textContent") == answer, "greedy answers do not change"
    page.js(click.format("Edit"))
    page.js("document.querySelector('.message textarea').value = 'Something else'")
    page.js("[...document.querySelectorAll('.message .tools button')].find((b) => b.textContent === 'Send').click()")
    page.until(IDLE)
    assert page.js("document.querySelector('.message.user .body').textContent") == "Something else"
    assert page.js("document.querySelectorAll('.message').length") == 2
    set_field(page, "max_tokens", 2000)
    set_field(page, "temperature", 1)
    page.type("A long one")
    page.press("Enter", 13)
    page.until(f"{LAST}.textContent.length > 0")
    page.press("Escape", 27)
    page.until(IDLE)
    page.js("document.getElementById('clear').click()")
    assert page.js("document.querySelectorAll('.message').length") == 0


def test_another_model_is_chosen(page):
    page.until("document.getElementById('name').options.length > 1")
    set_field(page, "max_tokens", 8)
    set_field(page, "name", "second")
    assert page.js("document.getElementById('model').textContent").startswith("second")
    page.type(PROMPT)
    page.press("Enter", 13)
    page.until(f"{LAST} && {IDLE}")
    page.until("document.getElementById('model').textContent.startsWith('second on ')")
    assert page.js("document.querySelector('.error')") is None
    page.js("location.reload()")
    page.until("document.documentElement?.dataset.ready === 'true' && document.getElementById('name').value === 'second'")


def test_markdown_is_shown_and_never_run(page):
    text = "# T\n\nA **b** *c* `d<e` [l](https://x.y)\n\n- one\n- two\n\n|a|b|\n|-|-|\n|1|2|\n\n> q\n\n```js\nlet x = 1 < 2;\n```\n" \
        "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script> [bad](javascript:alert(1))"
    html = page.js(
        "import('./markdown.js').then(({ markdown }) => { const d = document.createElement('div');"
        f" d.append(markdown({json.dumps(text)})); document.body.append(d); return d.innerHTML; }})"
    )
    for part in ("<h2>T</h2>", "<strong>b</strong>", "<em>c</em>", "<code>d&lt;e</code>", "<li>one</li>", "<td>2</td>",
                 "<blockquote>", "let x = 1 &lt; 2;", "&lt;img src=x", 'href="https://x.y"'):
        assert part in html, part
    assert "<img" not in html and "<script" not in html and 'href="javascript' not in html
    time.sleep(0.2)
    assert not page.js("window.hacked === 1")


def test_nothing_comes_from_elsewhere(page):
    names = page.js("performance.getEntriesByType('resource').map((e) => e.name)")
    assert names and all(name.startswith(URL) for name in names)
