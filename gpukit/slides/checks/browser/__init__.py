"""Pages as a browser shows them. Nothing here knows how they are made, but for what they are made of:
`section.slide` with a `.stage` of 1280 by 720 pixels, and the keys of the deck.

    session.py    Chromium: found, started, its console and its requests listened to
    looks.py      overflow, overlap, sizes of text (measure.js measures)
    contrast.py   what axe finds
    paper.py      the PDF: its pages and tags
    keys.py       keys, article, overview, the speaker's window, steppers
    pictures.py   every slide as PNG, and sheets of them
    checking.py   all of them over a folder of pages
"""
