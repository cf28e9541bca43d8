"""Grading: from submissions to records, from records to what people and programs read.

collecting    who submitted what: one file for each student
one           the grade of one submission, in a process of its own
batch         all of them, resumable
record        what a graded submission is, as plain data, and its file
exports/      records for other programs: gradebooks, Gradescope, JUnit, ...; one module per format
feedback/     a record for its student
summary/      the records of a class for its instructor
leaderboard   the records of a class for the class, without names
outputs       all of these, written into a folder
"""
