"""The stages of two tokenizers, compared one by one: equal for every text, or shown not to be.

Each function says of one stage *proved* (equal for every text, and by which argument), *refuted*
(a text gives other ids in the end) or *unknown* (neither was established). The theorems named
are in ``docs/theory.md``; each stage names those that it rests on.
"""
