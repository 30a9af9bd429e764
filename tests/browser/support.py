"""A server with a model of every task, and a browser that visits its page."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

SOURCE = os.environ["VIG_SOURCE_DIR"]
BINARY = os.environ["VIG_BINARY"]
# A folder for images of the page, to look at; none: no images.
SHOTS = os.environ.get("VIG_SHOTS")
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--hide-scrollbars"]


def photo(name):
    return os.path.join(SOURCE, "tests", "fixtures", "image", "photos", name)


def wait_for(condition, what, seconds=60):
    """The first value of `condition()` that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("waited in vain for " + what)


class Server:
    """vig-serve on a free port."""

    def __init__(self, folder):
        segmenter, detector = (os.path.join(folder, name) for name in ("streets.safetensors", "things.safetensors"))
        for arch, path in (("test_vig_upernet", segmenter), ("test_vig_maskrcnn", detector)):
            subprocess.run([BINARY, "convert", arch, path, "--random"], check=True, stdout=subprocess.DEVNULL)
        default = os.path.join(SOURCE, "models", "default.safetensors")
        program = os.path.join(os.path.dirname(BINARY), "vig-serve")
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--log", "none", "-m", "pets=" + default, "-m", "streets=" + segmenter,
             "-m", "things=" + detector, "--max-size", "512"], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise AssertionError("the server does not start: " + line)
        self.address = line[line.index("http://"):].split()[0]

    def stop(self):
        self.process.terminate()
        status = self.process.wait(60)
        self.process.stdout.close()
        if status != 0:
            raise AssertionError(f"the server ended with status {status}")


class PageTest(unittest.TestCase):
    """One server and one browser with an empty profile for all tests of a class, a new page for each test."""

    size = (1200, 900)
    dark = False
    phone = False

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = Server(cls.folder.name)
        cls.addClassCleanup(cls.server.stop)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        profile = os.path.join(cls.folder.name, "profile")
        for switch in [*SWITCHES, "--user-data-dir=" + profile, "--window-size=%d,%d" % cls.size]:
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if cls.phone:
            options.add_experimental_option("mobileEmulation", {"deviceMetrics": {
                "width": cls.size[0], "height": cls.size[1], "pixelRatio": 2.0, "touch": True}})
        cls.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        cls.addClassCleanup(cls.browser.quit)
        if cls.dark:
            cls.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": "dark"}]})

    def setUp(self):
        self.expected_errors = 0
        self.browser.get(self.server.address)
        wait_for(lambda: len(self.all("#model option")) == 3, "the models")

    def tearDown(self):
        self.shoot("end")
        entries = self.browser.get_log("browser")
        self.assertEqual(len(entries), self.expected_errors, entries)
        for address in self.script("return performance.getEntriesByType('resource').map(one => one.name)"):
            self.assertTrue(address.startswith((self.server.address, "data:", "blob:")), address)

    def shoot(self, name):
        if SHOTS:
            self.browser.save_screenshot(os.path.join(SHOTS, self.id().split(".", 1)[1] + "-" + name + ".png"))

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def message(self):
        return self.one("#message").text

    def send(self, *files):
        """Chooses files; waits for the prediction of the last one."""
        self.one("#file").send_keys("\n".join(files))
        self.wait_for_prediction(os.path.basename(files[-1]))

    def wait_for_prediction(self, name):
        wait_for(lambda: self.message().startswith(name + ": "), "a prediction for " + name)

    def choose_model(self, name):
        Select(self.one("#model")).select_by_visible_text(name)

    def pixels(self, text):
        """What a script makes of `data`, the bytes R, G, B, A of the drawing over the image."""
        return self.script("""
            const over = document.getElementById("over"), copy = document.createElement("canvas");
            [copy.width, copy.height] = [over.width, over.height];
            const context = copy.getContext("2d", {willReadFrequently: true});
            context.drawImage(over, 0, 0);
            const {data} = context.getImageData(0, 0, copy.width, copy.height);
            """ + text)

    def colours(self):
        """How many different colours the drawing over the image has, and what share of its pixels is drawn."""
        return self.pixels("""
            const colours = new Set();
            let drawn = 0;
            for (let i = 0; i < data.length; i += 4) {
              if (data[i + 3] === 0) continue;
              ++drawn;
              colours.add(data[i] << 24 | data[i + 1] << 16 | data[i + 2] << 8 | data[i + 3]);
            }
            return [colours.size, 4 * drawn / data.length];""")

    def drawing(self):
        return self.script("return document.getElementById('over').toDataURL()")

    def bars(self):
        """(name, text, width of the bar in %)"""
        return [tuple(row) for row in self.script("""
            return [...document.querySelectorAll("#predictions .bar")].map(bar => [
              bar.querySelector("b").textContent, bar.querySelector(".name > span").textContent,
              parseFloat(bar.querySelector(".part").style.width)]);""")]

    def no_scrolling_across(self):
        wide, seen = self.script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        self.assertLessEqual(wide, seen)


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
