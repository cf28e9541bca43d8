"""The keys of a deck: on and back, overview, article, the speaker's window in step, answers, steppers."""

from __future__ import annotations

from gpukit.slides.checks.browser.session import CURRENT, SECONDS, VIEW, Tab

PICTURE = "(box) => (box.querySelector('svg') || box).outerHTML"


async def faults(tab: Tab) -> list[tuple[int, str]]:
    """Number of the slide (0: none) and what a key does not do."""
    found: list[tuple[int, str]] = []
    for look in (_steps, _views, _answer, _stepper, _speaker):
        await tab.view("slides")
        await tab.go(1)
        found += await look(tab)
    return found


async def _steps(tab: Tab) -> list[tuple[int, str]]:
    page = tab.page
    slides = await page.locator("section.slide").count()
    found = []
    for key, wanted in (("ArrowRight", 2), ("PageDown", 3), ("ArrowLeft", 2), ("End", slides), ("Home", 1)):
        await page.keyboard.press(key)
        if (now := await page.evaluate(CURRENT)) != min(wanted, slides):
            found.append((0, f"after {key} slide {now} shows, and not {wanted}"))
        elif (place := await page.evaluate("() => location.hash")) != f"#{now}":
            found.append((now, f"after {key} its address ends in {place!r}, and not in #{now}"))
    return found


async def _views(tab: Tab) -> list[tuple[int, str]]:
    page = tab.page
    found = []
    for key, wanted in (("o", "overview"), ("Escape", "slides"), ("a", "article"), ("a", "slides")):
        await page.keyboard.press(key)
        if (now := await page.evaluate(VIEW)) != wanted:
            found.append((0, f"after {key} the view is {now}, and not {wanted}"))
    return found


async def _answer(tab: Tab) -> list[tuple[int, str]]:
    page = tab.page
    with_one = await page.evaluate(
        "() => [...document.querySelectorAll('section.slide')].findIndex((s) => s.querySelector('.answer')) + 1"
    )
    if not with_one:
        return []
    await tab.go(with_one)
    box = page.locator("section.slide.current details.answer").first
    found = []
    for state in (True, False):
        await page.keyboard.press("Enter")
        if await box.evaluate("(box) => box.open") != state:
            found.append((with_one, f"enter does not {'show' if state else 'hide'} its answer"))
    return found


async def _stepper(tab: Tab) -> list[tuple[int, str]]:
    """Each stepper plays on its slide: a step on is another picture, a step back the one before."""
    page = tab.page
    found = []
    boxes = page.locator("[data-stepper]")
    for i in range(await boxes.count()):
        box = boxes.nth(i)
        number = await box.evaluate("(box) => Number(box.closest('section.slide').id)")
        await tab.go(number)
        first = await box.evaluate(PICTURE)
        for on, back in ((".", ","), (",", ".")):  # it may begin with its last step
            await page.keyboard.press(on)
            if await box.evaluate(PICTURE) != first:
                await page.keyboard.press(back)
                if await box.evaluate(PICTURE) != first:
                    found.append((number, f"its stepper does not go back: after {on} and {back} it is another picture"))
                break
        else:
            found.append((number, "its stepper does not play: the keys . and , show no other step"))
    return found


async def _speaker(tab: Tab) -> list[tuple[int, str]]:
    """The speaker's window opens, and the two are in step both ways."""
    from playwright.async_api import TimeoutError

    page = tab.page
    if await page.locator("section.slide").count() < 2:
        return []
    async with page.expect_popup(timeout=SECONDS) as opened:
        await page.keyboard.press("p")
    other = await opened.value
    tab.listen(other)
    found = []
    try:
        await other.wait_for_load_state()
        for here, there, what, wanted in (
            (page, other, "the speaker's window does not follow the slides", 2),
            (other, page, "the slides do not follow the speaker's window", 1),
        ):
            await here.keyboard.press("ArrowRight" if wanted == 2 else "ArrowLeft")
            try:
                await there.wait_for_function(f"number => ({CURRENT})() === number", arg=wanted, timeout=SECONDS)
            except TimeoutError:
                found.append((0, what))
    finally:
        await other.close()
    return found
