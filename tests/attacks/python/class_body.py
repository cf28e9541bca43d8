"""Code in a class body runs when the class is made.

Deserves: refused
Named: class
"""


class Answer:
    made = print("forged")

    def __eq__(self, other):
        return True


STEPS = Answer()
