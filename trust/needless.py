"""Comparisons on which no answer of a proof depends, and why they stay.

By module, and then by function and comparison. One that a test does see does not belong here.
"""

from __future__ import annotations

_KEPT = "it only says what was found before, and spares finding it again"
_ORDER = "it only says which of two ways is tried first"
_KERNEL = "the kernel gives the same answer as what follows, sooner"

_REFUSED = "a pattern that matches the empty text was refused before"
_WORK = "it only spares work: what is found without it is no shorter, and looked at as well"

_QUICK = "a quick look: what it lets through is read from every state, or has no such cut"

NEEDLESS: dict[str, dict[str, str]] = {
    "theory.acting_steps": {
        "_never_writes: present != EVERYTHING": "it spares a table: of all characters some change",
        "_one_character: node.high is None": (
            "what matches one of them matches each of them, however many it takes at once"
        ),
    },
    "theory.equality": {
        "System.neighbours: symbol in parts": (
            "it spares work: all symbols that never merge would stand beside others (Theorem 21)"
        ),
        "System.form: self.model is not None": _KEPT,
        "System.has_form: self.known is not None": _ORDER,
        "System.has_form: self.model is not None": _ORDER,
        "System.has_form: canonical.known(self.model)": _ORDER,
        "plainly_equal: not a.has_form": _ORDER,
        "_decide_with_affixes: forms[0].splits == forms[1].splits": (
            "tokens in one order have one split each: it is what merges before them leave"
        ),
        "plainly_equal: a.form.splits == b.form.splits": (
            "tokens in one order have one split each: it is what merges before them leave"
        ),
        "_ranked_as_listed: found is not None": _KERNEL,
        "_listed_as_ranked: found is not None": _KERNEL,
        "_listed_as_ranked: listed.model is not None": _KEPT,
        "_listed_as_ranked: not canonical.known(kept)": _KEPT,
        "_learned: model is not None": _KEPT,
        "_learned: not canonical.known(model)": _KEPT,
    },
    "theory.automata": {
        "Machine.step: known is None": _KEPT,
        "Machine.signature: known is None": _KEPT,
        "Machine._add_repeat: isinstance(node.part, Leaf)": "what is no leaf was refused before",
        "classes_of: _plainness(code) < _plainness(plainest_of[signature])": (
            "it only says which character stands for a class in a text that is shown"
        ),
    },
    "theory.split_tables": {
        "_entry: not begun[1]": _REFUSED,
        "_prove_transitions: not empty": _REFUSED,
    },
    "proof.prove": {
        "narrower: not left": "it spares a proof that would say no",
    },
    "theory.splitters": {
        "_class: less == NOTHING": "to take no character away changes nothing",
        "Reader.read: known is None": _KEPT,
        "_Splitter._choice: before != 'fresh'": "where a step begins afresh, there is a cut anyway",
    },
    "theory.conflicts": {
        "Conflicts.paths: not self.theirs.keeps_apart(*path)": (
            "each pair of the search lies in a rectangle of theirs (Theorem 6); a second look"
        ),
        "Conflicts._beside: token not in shared": _WORK,
        "Conflicts._beside: token not in self.changed": _WORK,
    },
    "theory.contexts": {
        "Contents.utf8: not symbol.isascii()": _WORK,
        "Contexts._grown: best is None": _WORK,
        "Contexts._grown: queue[0][0] < limit": _WORK,
        "Contexts.shortest: best is None": _WORK,
    },
    "theory.gaps": {
        "with_gaps: parse(pattern) == joined": "a pattern is read as it was written; a check",
    },
    "proof.merging": {
        "_decision: _whole_characters(a)": (
            "both sides have the same symbols; how texts are cut is the pre-tokenizer's to compare"
        ),
        "_decision: _whole_characters(b)": (
            "both sides have the same symbols; how texts are cut is the pre-tokenizer's to compare"
        ),
        "_other_user_defined: len(t) == 1": (
            "no character of a token is a longer text; it spares looking at them"
        ),
        "_other_unused: a.affixes != Affixes()": "no format has affixes and UNUSED tokens",
        "unused: 'unused' not in kinds.values()": _KEPT,
    },
    "proof.ids": {
        "given_tokens: token in ids": "what is no token has no id to leave out",
        "unknown_id: has_utf8_bytes(model)": (
            "readers state no rule for missing symbols where every byte has a token"
        ),
    },
    "diff": {
        "_sequence_template: left is None": "who asks has seen that both sides say one",
        "_sequence_template: right is None": "who asks has seen that both sides say one",
    },
    "diff.tokens": {
        "compare_merges: paired.keys() == other.keys()": (
            "merges that are proved to give the same tokens build the same ones; this is sooner"
        ),
        "_splits: not always": "it spares looking for nothing in each token",
    },
    "fingerprint": {
        "_plain: not isinstance(value, type)": "for the type checker: no field holds a class",
    },
    "theory.utf8": {"is_inside_utf8: content.isascii()": "it spares a match, which says the same"},
    "theory.byte_ranks": {
        "rank_table: b'' not in ids": "it spares a copy of the vocabulary",
        "as_byte_ranks.ok: content not in table": (
            "tiktoken looks such texts up, so they would not show it; but the shortest text on "
            "which the two differ was never a token of ours (60,000 random systems)"
        ),
    },
    "theory.pretokens": {"can_occur: decided.possible is None": _ORDER},
    "theory.normalizers": {
        "pipeline: model.pretokenizer is None": (
            "normalizers are compared in one way either way; how texts are split is unknown then"
        ),
    },
    "theory.rewrite": {
        "as_ranks: token not in built": "what is built has two symbols; it spares counting them",
        "forced_circle: spines.priority[token] == spines.priority[other]": (
            "what merges before another has no greater rank, so those of a circle have equal ones"
        ),
        "forced_circle: other in short": (
            "each of a circle comes before another one, and only short tokens are asked for that"
        ),
    },
    "theory.symbol_codes": {
        "SymbolCodes.form: symbol not in base": (
            "merges are of tokens, so nothing that they build has a missing symbol"
        ),
        "SymbolCodes._places: known is not None": _KEPT,
    },
    "theory.cuts": {
        "DifferingCuts._code: first < min(end, codes[-1] + 1)": (
            "it chooses between texts that are tried, and each of them holds the token"
        ),
        "_right_ways: label != other": (
            "each side's readings are all there: where both drop, some pair has one of them keep it"
        ),
        "DifferingCuts._doubtful: left in classes": _QUICK,
        "DifferingCuts._doubtful: right in classes": _QUICK,
        "DifferingCuts._may_stand_across: (left, right) in self._sides": _QUICK,
    },
    "theory.unused_pieces": {
        "_as_if_missing: 'unused' not in kinds.values()": _KEPT,
        "_as_if_missing: model.alphabet != 'byte'": "no format of bytes has UNUSED tokens",
        "_as_if_missing: not out": _KEPT,
        "decide_resplit.shows: len(path) > 1": "what one token becomes is never that of two",
        "_beside_unused: token in a.form.splits": (
            "what is not built is its own only part, and the other side merges none of it"
        ),
    },
}
