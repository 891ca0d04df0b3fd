"""Comparisons on which no answer of a proof depends, and why they stay.

By module, and then by function and comparison. One that a test does see does not belong here.
"""

from __future__ import annotations

_KEPT = "it only says what was found before, and spares finding it again"
_ORDER = "it only says which of two ways is tried first"
_KERNEL = "the kernel gives the same answer as what follows, sooner"

NEEDLESS: dict[str, dict[str, str]] = {
    "theory.core": {
        "System.form: self.model is not None": _KEPT,
        "System.has_form: self.known is not None": _ORDER,
        "System.has_form: self.model is not None": _ORDER,
        "System.has_form: canonical.known(self.model)": _ORDER,
        "plainly_equal: not a.has_form": _ORDER,
        "_decide_spelled: forms[0].splits == forms[1].splits": (
            "tokens in one order have one split each: it is what merges before them leave"
        ),
        "plainly_equal: a.form.splits == b.form.splits": (
            "tokens in one order have one split each: it is what merges before them leave"
        ),
        "_missing: systems[0].alphabet == 'byte'": (
            "a character of one byte would serve both; with bytes there are no others"
        ),
        "_ranked_as_listed: native is not None": _KERNEL,
        "_listed_as_ranked: native is not None": _KERNEL,
        "_listed_as_ranked: listed.model is not None": _KEPT,
        "_listed_as_ranked: not canonical.known(kept)": _KEPT,
        "_learned: model is not None": _KEPT,
        "_learned: not canonical.known(model)": _KEPT,
    },
    "verify.stages.merging": {
        "_decision: _whole_characters(a)": (
            "both sides have the same symbols; how texts are cut is the pre-tokenizer's to compare"
        ),
        "_decision: _whole_characters(b)": (
            "both sides have the same symbols; how texts are cut is the pre-tokenizer's to compare"
        ),
        "_bytes_apart: a.affixes == Affixes()": (
            "a format with affixes has the tokens of all bytes, or of none"
        ),
        "_unused_apart: a.affixes != Affixes()": "no format has affixes and UNUSED tokens",
        "unused: 'unused' not in kinds.values()": _KEPT,
    },
}
