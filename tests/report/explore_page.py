#!/usr/bin/env python3
"""The page of `lanewise explore` in headless Chromium, over its debugging pipe.

  explore_page.py test COMMAND FOLDER           the test: click, search, picture, load time; 77 without Chromium
  explore_page.py picture PAGE[#PC] OUT.png     a picture of a page, for the documentation (SIZE=1280x840)
"""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

WIDTH, HEIGHT = (int(n) for n in os.environ.get("SIZE", "1500x1000").split("x"))
LOAD_GOAL, LOAD_LIMIT = 2.0, 10.0  # seconds for 5,000 instructions: what is wanted, and what fails on a busy machine
REPLY = 60


class Chromium:
    """Messages are JSON objects that end in a NUL: commands on the browser's descriptor 3, replies on its 4."""

    def __init__(self, program, folder):
        commands, self.commands = os.pipe()
        self.replies, replies = os.pipe()
        commands, replies = (fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in (commands, replies))

        def place():
            os.dup2(commands, 3)
            os.dup2(replies, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe", "--hide-scrollbars",
             f"--user-data-dir={folder}", f"--window-size={WIDTH},{HEIGHT}", "about:blank"],
            preexec_fn=place, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(replies)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        try:
            self.attach()
        except BaseException:
            self.close()
            raise

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError):
            self.process.kill()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready = select.select([self.replies], [], [], max(0, deadline - time.monotonic()))[0]
            part = os.read(self.replies, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("Chromium does not answer")
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        deadline = time.monotonic() + REPLY
        while True:
            message = self.message(deadline)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        deadline = time.monotonic() + REPLY
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(i)
            self.events.append(self.message(deadline))

    def open(self, url):
        """Seconds until the page is loaded and has been drawn once."""
        self.events.clear()
        start = time.monotonic()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")
        self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")
        return time.monotonic() - start

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def click(self, selector):
        x, y = self.value(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                          "return [b.left + Math.min(90, b.width / 2), b.top + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self):
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def faults(self):
        """Exceptions, errors in the log, and requests for anything but files."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            if method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(str(parameters["entry"]))
            if method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("file:", "data:")):
                found.append("asks for " + parameters["request"]["url"])
        return found


# The start: s_load_dwordx2 s[4:5], s[0:1], 0x0; global_load_dwordx2 v[2:3], v0, s[4:5]; s_waitcnt vmcnt(0).
START = "f4040100 fa000000 dc348000 02040000 bf8c3f70".split()
START_INSTRUCTIONS = 3
# Seventeen instructions as compilers write them: a region under a mask with a load, and a store.
PIECE = """7c080702 be863c6a bf88000a dc348000 04040001 bf8c3f70 d54b0002 040a0b04 10060702 4a020288 360202ff 0000ffff
02040503 887e067e 81078107 8f088207 3a0c0208 d7460007 04010506 dc708000 00040207 bf800000""".split()
PIECE_INSTRUCTIONS = 17


def write_program(path, pieces):
    words = START + PIECE * pieces + ["bf810000"]
    path.write_text(json.dumps({
        "format": "lanewise-raw-1", "words": ["0x" + w for w in words],
        "kernels": [{"name": "pieces <&>", "wave": 32, "vgprs": 8, "user_sgprs": ["kernarg_segment_ptr"],
                     "args": [{"name": "out", "kind": "global_buffer", "offset": 0, "size": 8}]}]}))
    return START_INSTRUCTIONS + pieces * PIECE_INSTRUCTIONS + 1


def pixels(png):
    """Width, height and the number of different bytes of a PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        size = struct.unpack(">I", png[at:at + 4])[0]
        if png[at + 4:at + 8] == b"IDAT":
            data += png[at + 8:at + 8 + size]
        at += 12 + size
    return width, height, len(set(zlib.decompress(data)))


class Test:
    def __init__(self):
        self.failed = 0

    def expect(self, what, holds, seen=""):
        print(f"{'ok    ' if holds else 'FAILED'} {what}{'' if holds else ': ' + str(seen)}")
        self.failed += not holds


def run_test(program, command, folder):
    test = Test()
    pages = {}
    for name, pieces in (("small", 3), ("large", 295)):
        description, page = folder / f"{name}.json", folder / f"{name}.html"
        instructions = write_program(description, pieces)
        start = time.monotonic()
        subprocess.run([command, "explore", description, "-o", page], check=True)
        print(f"       {name}: {instructions} instructions, made in {time.monotonic() - start:.1f} s, "
              f"{page.stat().st_size / 1e6:.1f} MB")
        pages[name] = (page.as_uri(), instructions)
    browser = Chromium(program, folder / "profile")
    try:
        drive(test, browser, pages)
    finally:
        browser.close()
    return 1 if test.failed else 0


def drive(test, browser, pages):
    url, instructions = pages["small"]
    browser.open(url)
    test.expect("the title is the kernel's name", browser.value("document.title") == "pieces <&>")
    rows = browser.value("document.querySelectorAll('.machine p').length")
    test.expect("a row for every instruction", rows == instructions, rows)
    test.expect("EXEC in words", "launched" in browser.value("document.querySelector('.machine i').textContent"))
    test.expect("nothing is lit at first", browser.value("document.querySelectorAll('.on').length") == 0)

    # The product of the first piece: under a mask, and in all columns.
    product = "[...document.querySelectorAll('.machine p')].find(p => p.textContent.includes('v_mul_f32'))"
    index = browser.value(f"{product}.dataset.g")
    browser.click(f".machine p[data-g='{index}']")
    for column, word in (("machine", "v_mul_f32"), ("optimised", "fmul"), ("spirv", "OpFMul")):
        lit = browser.value(f"[...document.querySelectorAll('.{column} p.on')].map(p => p.textContent).join('')")
        test.expect(f"a click on the machine code lights up the {column} lines", word in lit, lit)
    test.expect("and no others", browser.value(
        f"[...document.querySelectorAll('.on:not(.n)')].every(p => p.dataset.g === '{index}')"))
    detail = browser.value("document.querySelector('#detail').textContent")
    test.expect("EXEC of the line is told", "EXEC" in detail and "launched" in detail and "&" in detail, detail)
    test.expect("the address names the line", browser.value("location.hash") == "#" + browser.value(
        f"{product}.querySelector('a').textContent.trim()"))

    # A SPIR-V line, against the IR of an invocation.
    value = browser.value("(() => { document.querySelector('#invocation').click();"
                          "const p = [...document.querySelectorAll('.spirv p.on')].find(p => p.textContent.includes('OpFMul'));"
                          "p.scrollIntoView({block: 'center'}); p.id = 'wanted'; return p.dataset.v; })()")
    browser.click("#wanted")
    exact = browser.value("[...document.querySelectorAll('.lowered p.exact')].map(p => p.textContent).join('')")
    test.expect("a SPIR-V line lights up the very value it comes from", "fmul" in exact and exact.count("\n") == 1,
                (value, exact))

    browser.value("document.activeElement.blur()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="/", text="/" if kind == "keyDown" else "")
    browser.call("Input.insertText", text="v_xor_b32")
    time.sleep(0.5)
    found = browser.value("document.querySelector('#find output').value")
    test.expect("a search counts what it finds", found == "1 of 3", found)
    test.expect("and goes there", "v_xor_b32" in browser.value("document.querySelector('.machine p.pin').textContent"))
    browser.call("Input.insertText", text=" nowhere")
    time.sleep(0.5)
    found = browser.value("document.querySelector('#find output').value")
    test.expect("a search finds nothing where there is nothing", found == "nothing found", found)

    width, height, colours = pixels(browser.picture())
    test.expect("the picture has the window's size", (width, height) == (WIDTH, HEIGHT), (width, height))
    test.expect("and shows something", colours > 60, colours)
    light = browser.value("getComputedStyle(document.body).backgroundColor")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    test.expect("dark where the reader wants it", browser.value("getComputedStyle(document.body).backgroundColor") != light)
    test.expect("no errors, no requests", not browser.faults(), browser.faults())

    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.call("Page.navigate", url=url)
    browser.wait_for("Page.loadEventFired")
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    plain = len(browser.call("DOM.querySelectorAll", nodeId=root, selector=".machine p i")["nodeIds"])
    test.expect("without script the masks can still be read", plain >= 3, plain)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)

    url, instructions = pages["large"]
    times = sorted(browser.open(url) for _ in range(3))
    print(f"       {instructions} instructions open in {', '.join(f'{t:.2f}' for t in times)} s (goal: {LOAD_GOAL} s)")
    test.expect(f"a page of 5,000 instructions opens in {LOAD_LIMIT} s", instructions >= 5000 and times[0] < LOAD_LIMIT,
                times)
    start = time.monotonic()
    browser.value("document.querySelector('.machine p[data-g=\"4000\"]').click()")
    lit = browser.value("document.querySelectorAll('.on').length")
    print(f"       first click there: {time.monotonic() - start:.2f} s, {lit} lines")
    test.expect("a click far down lights up its lines", lit >= 2, lit)
    for column in ("optimised", "spirv"):
        test.expect(f"and the {column} line is in sight", browser.value(
            f"(() => {{ const p = document.querySelector('.{column} p.on').getBoundingClientRect(),"
            f"l = document.querySelector('.{column}').getBoundingClientRect(); return p.top >= l.top && p.bottom <= l.bottom; }})()"))
    test.expect("no errors in the large page", not browser.faults(), browser.faults())


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("test", "picture"):
        sys.exit(__doc__)
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        print("skipped: there is no Chromium (Debian package chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if sys.argv[1] == "test":
            pathlib.Path(sys.argv[3]).mkdir(parents=True, exist_ok=True)
            sys.exit(run_test(program, sys.argv[2], pathlib.Path(sys.argv[3]).resolve()))
        page, _, place = sys.argv[2].partition("#")
        browser = Chromium(program, folder)
        try:
            browser.open(pathlib.Path(page).resolve().as_uri() + ("#" + place if place else ""))
            pathlib.Path(sys.argv[3]).write_bytes(browser.picture())
        finally:
            browser.close()


main()
