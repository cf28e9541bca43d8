"""What must hold for every deck. Each check is a function that returns findings; all of them are shown.

form.py        slides, kinds, headings, notes, minutes, alts, lengths of lines
typed.py       code and measured figures that were typed into a deck
names.py       commands, files, kernels, families, labs and decks that are named are there
curriculum.py  every row of slides/curriculum.toml is on a slide, with its words
pages.py       built pages: nothing fetched, alts, links, ids, the same bytes in another build
browser/       the pages in Chromium: overflow, sizes of text, console, requests, axe, PDF, keys; pictures
running.py     all of them over the decks of a repository
"""
