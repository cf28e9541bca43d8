"""Decks, the index and the labs' texts as pages: one HTML file each, which needs no other and no network.

site.py      what there is, in order, read from the sources: decks, labs, who links to whom
deck.py      a `Deck` -> its page
index.py     the page that all others lead back to
labs.py      a lab's README.md -> a page to read
page.py      the frame that all pages have
markdown.py  Markdown -> HTML; code.py: code, changes and output; svg.py: figures; polls.py: questions to the room
marp.py      the same deck for those who use Marp
theme/       style sheets and scripts
"""
