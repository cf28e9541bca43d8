"""Every slide as PNG, light and dark, and sheets of them: axe and tests do not see what is ugly."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from gpukit.slides.checks.browser.session import HEIGHT, WIDTH, Tab

COLUMNS, ROWS = 3, 4
CELL = (WIDTH // 2, HEIGHT // 2)  # pixels of a slide on a sheet
GAP = 8


async def take(tab: Tab, name: str, scheme: str, folder: Path) -> None:
    """The slides of the deck that is open as folder/NAME/01-light.png, and folder/NAME-light-1.png with 3 x 4 each."""
    page = tab.page
    await tab.view("slides")
    (folder / name).mkdir(parents=True, exist_ok=True)
    taken = []
    for number in range(1, await page.locator("section.slide").count() + 1):
        await tab.go(number)
        taken.append(await page.screenshot(path=folder / name / f"{number:02}-{scheme}.png"))
    sheets(taken, folder, f"{name}-{scheme}")


def sheets(pictures: Sequence[bytes], folder: Path, name: str) -> None:
    """Twelve pictures a sheet, in reading order."""
    from PIL import Image

    on_one = COLUMNS * ROWS
    for start in range(0, len(pictures), on_one):
        some = pictures[start : start + on_one]
        rows = -(-len(some) // COLUMNS)
        size = (COLUMNS * (CELL[0] + GAP) + GAP, rows * (CELL[1] + GAP) + GAP)
        sheet = Image.new("RGB", size, "#808080")
        for place, data in enumerate(some):
            row, column = divmod(place, COLUMNS)
            small = Image.open(io.BytesIO(data)).convert("RGB").resize(CELL, Image.Resampling.LANCZOS)
            sheet.paste(small, (GAP + column * (CELL[0] + GAP), GAP + row * (CELL[1] + GAP)))
        sheet.save(folder / f"{name}-{start // on_one + 1}.png")
