"""The proof that two tokenizers are equal, stage by stage, or a text that shows they are not.

Each function says of one stage *proved* (equal for every text, and by which argument), *different*
(a text gives other ids in the end) or *unknown* (neither was established). The theorems named
are in ``docs/theory.md``; each stage names those that it rests on.
"""
