"""Pictures of every page and dialog in every light and scale, of real engine data, to be looked at by a person.

``python -m tests.gallery FOLDER`` makes them all; ``--help`` says how to make fewer.
"""
