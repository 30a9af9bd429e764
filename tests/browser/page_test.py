"""The page of the server in a real browser: what people do with it, and what they then see."""

import base64
import os

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import support
from support import photo, wait_for

CAT, FLOWER, KITTEN = photo("cat_chelsea.png"), photo("flower.webp"), photo("kitten_gray.jpg")


class Desktop(support.PageTest):
    def test_a_image_gets_bars(self):
        self.send(CAT)
        bars = self.bars()
        self.assertEqual(len(bars), 5)
        self.assertEqual(bars[0][0], "cat")
        for name, text, width in bars:
            self.assertRegex(text, r"^\d+\.\d %$", name)
            self.assertAlmostEqual(float(text.split()[0]), width, delta=0.06)
        self.assertGreater(bars[0][2], bars[1][2])
        self.assertRegex(self.message(), r"^cat_chelsea\.png: \d+ ms at \d+ pixels$")
        self.assertEqual(self.one("#shown").get_attribute("alt"), "cat_chelsea.png")
        self.assertGreater(self.script("return document.getElementById('shown').naturalWidth"), 0)
        self.shoot("prediction")

    def test_dropped_and_pasted_images(self):
        event = """
            const bytes = Uint8Array.from(atob(arguments[2]), c => c.charCodeAt(0));
            const transfer = new DataTransfer();
            transfer.items.add(new File([bytes], arguments[1], {type: "image/jpeg"}));
            const name = arguments[0] === "drop" ? "dataTransfer" : "clipboardData";
            const Kind = arguments[0] === "drop" ? DragEvent : ClipboardEvent;
            document.body.dispatchEvent(new Kind(arguments[0], {[name]: transfer, bubbles: true, cancelable: true}));"""
        with open(KITTEN, "rb") as file:
            text = base64.b64encode(file.read()).decode()
        for kind in ("drop", "paste"):
            self.script(event, kind, kind + ".jpg", text)
            self.wait_for_prediction(kind + ".jpg")
            wait_for(self.bars, "bars")

    def test_neighbours_from_the_second_image_on(self):
        self.send(CAT)
        self.assertFalse(self.one("#nearby").is_displayed())
        self.send(FLOWER)
        wait_for(lambda: len(self.all("#near button")) == 1, "the first neighbour")
        self.send(CAT)  # the same once more is its own neighbour
        wait_for(lambda: len(self.all("#near button")) == 2, "two neighbours")
        near = [button.text.split() for button in self.all("#near button")]
        self.assertEqual(near[0][0], "cat_chelsea.png")
        self.assertEqual(near[0][1], "1.000")
        self.assertLess(float(near[1][1]), 1)
        self.shoot("neighbours")
        self.all("#near button")[1].click()
        self.wait_for_prediction("flower.webp")

    def test_several_images_at_once_are_all_neighbours(self):
        self.send(CAT, FLOWER, KITTEN)
        wait_for(lambda: len(self.all("#near button")) == 2, "the others")

    def test_segmentation_lies_over_the_image(self):
        self.choose_model("streets (segment)")
        self.send(CAT)
        wait_for(lambda: self.colours()[1] > 0.99, "a colour for each pixel")
        bars = self.bars()
        shares = sum(float(text.split()[0]) for _, text, _ in bars)
        self.assertAlmostEqual(shares, 100, delta=0.1 * len(bars))
        # The bars have the colours of the classes in the image.
        rgb = self.pixels("""
            const count = {};
            for (let i = 0; i < data.length; i += 4) {
              const key = "rgb(" + data[i] + ", " + data[i + 1] + ", " + data[i + 2] + ")";
              count[key] = (count[key] || 0) + 1;
            }
            const most = Object.keys(count).reduce((a, b) => count[a] > count[b] ? a : b);
            return [most, getComputedStyle(document.querySelector("#predictions .swatch")).backgroundColor];""")
        self.assertEqual(rgb[0], rgb[1])
        self.assertFalse(self.one("#sizeLabel").is_displayed())
        self.assert_opacity_follows()

    def test_detection_draws_boxes_and_masks(self):
        self.choose_model("things (detect)")
        self.send(CAT)
        wait_for(self.bars, "detections")
        colours, share = self.colours()
        self.assertGreater(colours, 1)
        self.assertGreater(share, 0.01)
        # Masks are half transparent, boxes and their names opaque.
        alphas = self.pixels("return [...new Set(data.filter((_, i) => i % 4 === 3))];")
        self.assertIn(130, alphas)
        self.assertIn(255, alphas)
        self.assert_opacity_follows()

    def assert_opacity_follows(self):
        opacity = lambda: float(self.script("return getComputedStyle(document.getElementById('over')).opacity"))
        slider = self.one("#opacity")
        self.assertTrue(slider.is_displayed())
        before = opacity()
        slider.send_keys(Keys.HOME)
        self.assertEqual(opacity(), 0)
        slider.send_keys(Keys.END)
        self.assertEqual(opacity(), 1)
        self.assertNotEqual(before, 1)
        self.shoot("overlay")

    def view(self, name):
        self.browser.find_element(By.XPATH, f"//button[text()='{name}']").click()

    def test_evidence_of_a_class(self):
        self.send(CAT)
        self.assertFalse(self.one("#opacityLabel").is_displayed())
        self.view("Evidence")
        wait_for(lambda: "speaks for cat" in self.one("#hint").text, "the evidence for the best class")
        wait_for(lambda: self.colours()[1] > 0.3, "a map")
        first = self.drawing()
        self.assert_opacity_follows()
        other = self.bars()[1][0]
        self.all("#predictions button")[1].click()
        wait_for(lambda: "speaks for " + other in self.one("#hint").text, "the evidence for " + other)
        self.assertNotEqual(self.drawing(), first)
        pressed = [bar.get_attribute("aria-pressed") for bar in self.all("#predictions button")]
        self.assertEqual(pressed, ["false", "true", "false", "false", "false"])
        self.view("Prediction")
        wait_for(lambda: self.colours()[1] == 0, "the image alone")

    def test_a_click_shows_the_attention_of_its_position(self):
        self.send(CAT)
        stage = self.one("#stage")
        ActionChains(self.browser).move_to_element_with_offset(stage, 20, 30).click().perform()
        wait_for(lambda: "takes from each position" in self.one("#hint").text, "attention")
        wait_for(lambda: self.colours()[1] > 0.1, "a map")
        first = self.drawing()
        self.shoot("attention")
        self.assert_opacity_follows()
        ActionChains(self.browser).move_to_element_with_offset(stage, -60, -40).click().perform()
        wait_for(lambda: self.drawing() != first, "the attention of another position")

    def test_the_resolution_shows_time_and_what_changes(self):
        self.send(CAT)
        own = self.one("#sizeText").text
        self.assertFalse(self.one("#changes").is_displayed())
        self.one("#size").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        size = self.one("#sizeText").text
        self.assertNotEqual(size, own)
        wait_for(lambda: len(self.all("#sizes tr")) == 2, "two sizes")
        rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in self.all("#sizes tr")]
        self.assertEqual([rows[0][0], rows[1][0]], sorted([own, size], key=int))
        for row in rows:
            self.assertRegex(row[1], r"^\d+ ms$")
            self.assertRegex(row[3], r"^\d+\.\d %$")
        self.assertEqual(self.one("#sizes tr.now td").text, size)
        wait_for(lambda: all("(" in text for _, text, _ in self.bars()[:1]), "the change of the predictions")
        self.assertIn("at " + size + " pixels", self.message())
        self.assertEqual(self.one("#size").get_attribute("max"), "512")
        self.shoot("resolution")

    def test_a_broken_file_is_an_error_and_no_neighbour(self):
        broken = os.path.join(self.folder.name, "broken.jpg")
        with open(KITTEN, "rb") as whole, open(broken, "wb") as file:
            file.write(whole.read()[:300])
        self.send(broken)
        message = self.one("#message")
        self.assertEqual(message.get_attribute("class"), "bad")
        self.assertIn("JPEG", message.text)
        self.assertEqual(self.bars(), [])
        self.send(CAT)
        self.assertEqual(self.one("#message").get_attribute("class"), "")
        wait_for(lambda: len(self.bars()) == 5, "bars")
        self.assertFalse(self.one("#nearby").is_displayed())
        self.expected_errors = 2  # the browser logs the status 422 of /v1/classify and of /v1/embed

    def test_the_page_allows_no_other_scripts(self):
        added = self.script("""
            const script = document.createElement("script");
            script.textContent = "window.foreign = true";
            document.body.append(script);
            return window.foreign === true;""")
        self.assertFalse(added)
        self.expected_errors = 1  # the refused script

    def test_everything_is_reachable_by_keyboard(self):
        self.send(CAT)
        self.script("document.activeElement.blur()")
        reached = []
        for _ in range(30):
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
            element = self.browser.switch_to.active_element
            name = element.get_attribute("id") or element.text.split("\n")[0]
            if name in reached or element.tag_name == "body":
                break
            reached.append(name)
            if name == "Attention":
                element.send_keys(Keys.ENTER)
                wait_for(lambda: "takes from each position" in self.one("#hint").text, "attention")
                break
        self.assertEqual(reached[:3], ["model", "file", "stage"])
        self.assertIn("Attention", reached)
        before = self.drawing()
        stage = self.one("#stage")
        self.script("arguments[0].focus()", stage)
        stage.send_keys(Keys.ARROW_RIGHT)
        wait_for(lambda: self.drawing() != before, "another position by the arrow key")
        # The focus is visible.
        self.assertNotEqual(self.script("return getComputedStyle(arguments[0]).outlineStyle", stage), "none")
        bar = self.one("#predictions button")
        bar.send_keys(Keys.ENTER)
        wait_for(lambda: "speaks for" in self.one("#hint").text, "the evidence of a bar")

    def test_every_control_has_a_name(self):
        self.send(CAT)
        nameless = [element.get_attribute("outerHTML") for element in
                    self.all("button, select, input, [role=group], img")
                    if element.is_displayed() and not element.accessible_name]
        self.assertEqual(nameless, [])
        self.assertEqual(self.one("#message").get_attribute("role"), "status")
        self.assertEqual(self.one("html").get_attribute("lang"), "en")


class Dark(support.PageTest):
    dark = True

    def test_dark_mode_is_dark_and_legible(self):
        self.send(CAT)
        back, fore, soft = self.script("""
            const light = colour => {
              const [r, g, b] = colour.match(/\\d+/g).map(Number).map(v => v / 255).map(
                v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
              return .2126 * r + .7152 * g + .0722 * b;
            };
            const body = getComputedStyle(document.body);
            return [light(body.backgroundColor), light(body.color),
                    light(getComputedStyle(document.getElementById("message")).color)];""")
        self.assertLess(back, 0.05)
        self.assertGreater((fore + 0.05) / (back + 0.05), 7)
        self.assertGreater((soft + 0.05) / (back + 0.05), 4.5)
        self.shoot("dark")


class Phone(support.PageTest):
    size = (390, 844)
    phone = True

    def test_nothing_is_wider_than_a_phone(self):
        self.no_scrolling_across()
        camera = self.one("#camera")
        self.assertEqual(camera.get_attribute("capture"), "environment")
        self.assertEqual(camera.get_attribute("accept"), "image/*")
        self.assertTrue(self.one("label[for=camera]").is_displayed())
        self.shoot("empty")
        self.send(FLOWER, CAT)
        wait_for(lambda: len(self.all("#near button")) == 1, "the neighbour")
        self.one("#size").send_keys(Keys.ARROW_RIGHT)
        wait_for(lambda: len(self.all("#sizes tr")) == 2, "two sizes")
        self.no_scrolling_across()
        self.shoot("prediction")
        for button in self.all("button"):
            self.assertGreaterEqual(button.size["height"], 40, "large enough for a thumb: " + button.text)
        for name in ("streets (segment)", "things (detect)"):
            self.choose_model(name)
            self.wait_for_prediction("cat_chelsea.png")
            wait_for(lambda: self.colours()[1] > 0.01, name)
            self.no_scrolling_across()
        self.script("window.scrollTo(0, 0)")
        self.shoot("detect")


if __name__ == "__main__":
    support.main()
