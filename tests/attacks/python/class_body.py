"""Code in a class body runs when the class is made.

Deserves: refused
Named: a class: a lab needs functions only
"""


class Answer:
    made = print("forged")

    def __eq__(self, other):
        return True


STEPS = Answer()
