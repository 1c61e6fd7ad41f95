"""The pages in a browser: headless Chromium, three window sizes, both colour schemes."""

from __future__ import annotations

import base64
import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeconv.report.against.figures import Figures, of_report
from edgeconv.report.html import against, compared, frontier, page
from edgeconv.search.budget.frontier import Point
from tests.html_page import filled, planned_report

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

SIZES = {"phone": (390, 844), "tablet": (800, 1100), "desk": (1600, 900)}
SCHEMES = ("light", "dark")
CHARTS = ("regions", "arena", "sqnr", "time", "energy", "traffic", "roofline")
MOST_BYTES = 1_000_000  # of a page of 400 layers
PRINTED_WIDTH = 1032  # pixels between the margins of A4 landscape

Driver = Any
VIEWS = [(size, scheme) for size in SIZES for scheme in SCHEMES]


def program(name: str) -> str:
    """Where a program of Debian's chromium packages is."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install chromium chromium-driver)")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Driver]:
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium")
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(program("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One with every number, accuracy on samples, and a map of the arena with a workspace and two
    banks."""
    planned = planned_report(tmp_path_factory.mktemp("model"))
    place = {"bytes": 4096, "first": 0, "last": 3, "layer": planned["layers"][0]["name"]}
    entries = [
        {"name": "first <tensor>", "bank": "fast", "offset": 0, **place},
        {"name": "workspace of x", "bank": "fast", "offset": 4096, **place, "last": 0},
        {"name": "second", "bank": "slow", "offset": 0, **place, "last": 5},
    ]
    full = filled(planned)
    samples = {"source": "20 samples of x.npz", "promised": True, "top1": 0.9, "agreement": 1.0}
    choice = {"objective": "memory", "min_sqnr": 20.0, "max_drop": None, "gap": 0.0}
    return {
        **full,
        "arena_map": entries,
        "accuracy": {**full["accuracy"], **samples, "samples": 20},
        "choice": {**choice, "finished": True},
        "layers": [{**one, "sqnr_db": 40.0 + n} for n, one in enumerate(full["layers"])],
    }


@pytest.fixture(scope="module")
def url(report: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    page.replace(path, page.render(report))
    return path.as_uri()


def show(browser: Driver, url: str, size: str, scheme: str) -> None:
    width, height = SIZES[size]
    prefer(browser, scheme)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get_log("performance")  # of the page before
    browser.get(url)
    assert browser.execute_script("return document.documentElement.dataset.drawn") == "true"


def prefer(browser: Driver, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


# Labels of charts and of the drawing that lie on one another, or are cut by what they lie in.
COLLISIONS = """
const seen = (text) => {
    const box = text.getBoundingClientRect();
    return text.textContent.trim() && box.width > 0 && box.height > 0;
};
const found = [];
for (const drawing of document.querySelectorAll('.chart, #graph')) {
    const all = drawing.id === 'graph';
    const whole = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll(all ? 'text' : '.main-svg text')].filter(seen);
    const boxes = texts.map((text) => [text, text.getBoundingClientRect()]);
    boxes.sort(([, a], [, b]) => a.top - b.top);
    boxes.forEach(([text, box], number) => {
        const inside = (text.closest('#graph svg') ?? drawing).getBoundingClientRect();
        if (box.right > inside.right + 1 || box.left < inside.left - 1)
            found.push(`${drawing.id}: ${text.textContent} is cut`);
        for (const [other, near] of boxes.slice(number + 1)) {
            if (near.top > box.bottom) break;
            const wide = Math.min(box.right, near.right) - Math.max(box.left, near.left);
            const high = Math.min(box.bottom, near.bottom) - Math.max(box.top, near.top);
            if (wide > 1 && high > 2)
                found.push(`${drawing.id}: ${text.textContent} on ${other.textContent}`);
        }
    });
}
return found;
"""
# Pixels beyond the window, and elements that hide a part of their text with no way to see it.
CUT = """
const cut = [...document.querySelectorAll('main *')].filter((one) =>
    one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 &&
    getComputedStyle(one).overflowX === 'hidden').map((one) => one.outerHTML.slice(0, 80));
return [document.documentElement.scrollWidth - document.documentElement.clientWidth, cut];
"""


def require_readable(browser: Driver) -> None:
    """No label on another or cut, nothing beyond the window, nothing hidden."""
    assert browser.execute_script(COLLISIONS) == []
    assert browser.execute_script(CUT) == [0, []]


def complaints(browser: Driver) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def bar_colours(browser: Driver) -> tuple[str, str]:
    """Of the first bar of the time chart, and what style.css says it should be."""
    return tuple(
        browser.execute_script(
            """const bar = document.querySelector('#time .bars .point path');
            const probe = document.createElement('i');
            probe.style.color = 'var(--predicted)';
            document.body.append(probe);
            const wanted = getComputedStyle(probe).color;
            probe.remove();
            return [getComputedStyle(bar).fill, wanted];"""
        )
    )


def wait_for_colours(browser: Driver) -> str:
    """The colour of the bars once it is that of the scheme, which takes a frame or two."""
    WebDriverWait(browser, 10).until(lambda _: len(set(bar_colours(browser))) == 1)
    return bar_colours(browser)[0]


@pytest.mark.parametrize(("size", "scheme"), VIEWS)
def test_page_is_whole(browser: Driver, url: str, size: str, scheme: str) -> None:
    show(browser, url, size, scheme)
    assert complaints(browser) == []
    for chart in CHARTS:
        marks = f"#{chart} .main-svg :is(.bars .point path, .scatterlayer path)"
        assert browser.find_elements(By.CSS_SELECTOR, marks), chart
    width, window = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert width <= window <= SIZES[size][0]
    overhanging = browser.execute_script(
        """return [...document.querySelectorAll('.chart')].filter((chart) =>
            chart.querySelector('.main-svg').getBoundingClientRect().width >
            chart.getBoundingClientRect().width + 1).map((chart) => chart.id)"""
    )
    assert overhanging == []
    shown, wanted = bar_colours(browser)
    assert shown == wanted
    require_readable(browser)


@pytest.fixture(scope="module")
def other_pages(report: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of a comparison with long names, and of a frontier whose points are crowded."""
    folder = tmp_path_factory.mktemp("pages")
    first = of_report(report, "a/project/" + "with/a/long/path/" * 4)
    others = [
        Figures(f"engine <{number}> of a long name", {"ram_bytes": 9000 + number, "time_ms": 0.1})
        for number in range(6)
    ]
    points = [
        Point(6000 + 700 * (n % 5), 20_000 + 3000 * n, 1 + 0.01 * n, None, 10.0**-n, {"w": "int8"})
        for n in range(9)
    ]
    texts = {
        "against": against.render([first, *others]),
        "compared": compared.render(report, report, ("one", "two/" * 30)),
        "frontier": frontier.render(points, model="net", board="some-board"),
    }
    for name, text in texts.items():
        page.replace(folder / f"{name}.html", text)
    return {name: (folder / f"{name}.html").as_uri() for name in texts}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["against", "compared", "frontier"])
def test_other_pages_are_whole(
    browser: Driver, other_pages: dict[str, str], name: str, size: str
) -> None:
    show(browser, other_pages[name], size, "light")
    assert complaints(browser) == []
    require_readable(browser)


def test_nothing_is_requested(browser: Driver, url: str) -> None:
    show(browser, url, "desk", "light")
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    requested = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert {address for address in requested if not address.startswith("data:")} == {url}


def test_charts_follow_the_colour_scheme(browser: Driver, url: str) -> None:
    show(browser, url, "desk", "light")
    light, wanted = bar_colours(browser)
    assert light == wanted
    prefer(browser, "dark")
    assert wait_for_colours(browser) != light


def test_pointer_shows_the_tensor(browser: Driver, url: str) -> None:
    show(browser, url, "desk", "light")
    bar = browser.find_element(By.CSS_SELECTOR, "#arena .bars .point path")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
    ActionChains(browser).move_to_element(bar).pause(0.3).perform()
    label = browser.find_element(By.CSS_SELECTOR, "#arena .hoverlayer").text
    assert "first <tensor>" in label
    assert "4,096 bytes" in label
    assert "addresses 0 to 4,095" in label
    assert "live from step 0 to step 3" in label


def test_pointer_leads_to_the_row(browser: Driver, url: str) -> None:
    show(browser, url, "desk", "light")
    bar = browser.find_elements(By.CSS_SELECTOR, "#time .bars .point path")[2]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
    ActionChains(browser).move_to_element(bar).pause(0.3).click().pause(0.3).perform()
    assert browser.current_url.endswith("#layer-2")


def test_keyboard_reaches_the_table_and_sorts_it(
    browser: Driver, url: str, report: dict[str, Any]
) -> None:
    show(browser, url, "desk", "light")
    ActionChains(browser).send_keys(Keys.TAB).perform()
    assert browser.switch_to.active_element.text == "Skip to the table of layers"
    button = browser.find_element(By.CSS_SELECTOR, "th[data-key=measured_ms] button")

    def steps() -> list[int]:
        rows = browser.find_elements(By.CSS_SELECTOR, "#layer-table tbody tr")
        return [int(row.get_attribute("id").removeprefix("layer-")) for row in rows]

    times = [layer["measured_ms"] for layer in report["layers"]]
    assert steps() == list(range(len(times)))
    button.send_keys(Keys.ENTER)
    assert [times[step] for step in steps()] == sorted(times, reverse=True)
    button.send_keys(Keys.SPACE)
    assert [times[step] for step in steps()] == sorted(times)
    sorted_by = button.find_element(By.XPATH, "..").get_attribute("aria-sort")
    assert sorted_by == "ascending"


@pytest.mark.parametrize(("size", "scheme"), [("phone", "dark"), ("desk", "light")])
def test_prints_light_and_whole(browser: Driver, url: str, size: str, scheme: str) -> None:
    show(browser, url, size, scheme)
    browser.execute_script(
        """addEventListener('beforeprint', () => {
            const widest = Math.max(...[...document.querySelectorAll('.chart .main-svg')]
                .map((chart) => chart.getBoundingClientRect().width));
            const style = getComputedStyle(document.documentElement);
            window.seen = [widest, style.getPropertyValue('--page').trim()];
        })"""
    )
    printed = browser.execute_cdp_cmd(
        "Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True}
    )
    assert base64.b64decode(printed["data"]).startswith(b"%PDF-")
    widest, background = browser.execute_script("return window.seen")
    assert 0.8 * PRINTED_WIDTH < widest <= PRINTED_WIDTH
    assert background == "#ffffff"
    assert complaints(browser) == []
    wait_for_colours(browser)  # the screen's scheme is back


@pytest.mark.parametrize("size", SIZES)
def test_hundreds_of_layers(
    browser: Driver, report: dict[str, Any], tmp_path: Path, size: str
) -> None:
    large = copy.deepcopy(report)
    large["layers"] = [
        {**layer, "name": f"{layer['name']}/{copied}" + "/long" * 30}
        for copied in range(400 // len(report["layers"]) + 1)
        for layer in report["layers"]
    ]
    count = len(large["layers"])
    assert count >= 400
    path = tmp_path / "report.html"
    page.replace(path, page.render(large))
    assert path.stat().st_size <= MOST_BYTES
    show(browser, path.as_uri(), size, "light")
    assert complaints(browser) == []
    bars = browser.find_elements(By.CSS_SELECTOR, "#energy .bars .point path")
    assert len(bars) == count
    first, second = (bar.rect["x"] for bar in bars[:2])
    assert second - first >= 3, "bars that can be told apart"
    require_readable(browser)
