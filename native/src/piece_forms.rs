//! The canonical form of ranks of characters of which some are equal (twin: `canonical_of` in
//! `merging/canonical.py`): as where none are, if no token of equal rank is ever built, else by one
//! run for each token.
#![forbid(unsafe_code)]

use crate::canonical::{form, Alphabet, Form, Rule, SYMBOL};
use crate::pairs::NONE;
use crate::piece_merging::{PieceMerging, Work};
use crate::table::Table;

/// The longest token of equal rank, in characters, that is merged step by step here.
const LONGEST_RUN: usize = 512;

/// The form of a table's numbers, as ranks; `known`: only symbols that are tokens are there before
/// merging. None: a token is no text, or something else is irregular.
pub fn form_of_ties(table: &Table, known: bool) -> Option<Form> {
    let untied = ranks_of_untied(&table.numbers);
    let mut tied = (0..untied.len()).filter(|&at| untied[at] != table.numbers[at]);
    // Lemma 2: where the own run of no token with an equal in rank builds it, no run does, and its
    // rank is of no use.
    if tied.all(|at| is_idle(table, at)) {
        if let Some(found) = form(table, Alphabet::Characters, &Rule::Ranks(&untied), known) {
            return Some(found);
        }
    }
    form_by_runs(table, known)
}

/// Whether the own run of a token is seen not to build it.
fn is_idle(table: &Table, at: usize) -> bool {
    let content = table.tokens.get(at);
    let Ok(text) = std::str::from_utf8(content) else {
        return false;
    };
    let mut ends: Vec<usize> = text.char_indices().map(|(start, _)| start).collect();
    ends.push(content.len());
    // Each merge looks at every pair again.
    if ends.len() > LONGEST_RUN {
        return false;
    }
    while ends.len() > 2 {
        let pairs = ends.windows(3).map(|three| {
            let found = table.tokens.find(&content[three[0]..three[2]]);
            found.map_or(NONE, |product| table.numbers[product as usize])
        });
        // The leftmost of equals.
        match pairs.enumerate().min_by_key(|&(_, rank)| rank) {
            Some((place, rank)) if rank != NONE => ends.remove(place + 1),
            _ => return true,
        };
    }
    // A single character is there without merging.
    text.chars().count() == 1
}

/// The ranks, with none for tokens of equal rank.
fn ranks_of_untied(ranks: &[u32]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_unstable_by_key(|&at| ranks[at]);
    let mut untied = ranks.to_vec();
    for two in order
        .windows(2)
        .filter(|two| ranks[two[0]] == ranks[two[1]])
    {
        untied[two[0]] = NONE;
        untied[two[1]] = NONE;
    }
    untied
}

/// The form by the own run of each token.
fn form_by_runs(table: &Table, known: bool) -> Option<Form> {
    let merging = PieceMerging::of_ranks(table, table)?;
    let ranks = &table.numbers;
    let (mut form, mut work) = (Form::empty(), Work::default());
    let mut built = vec![];
    for (at, &rank) in ranks.iter().enumerate() {
        let text = std::str::from_utf8(table.tokens.get(at)).ok()?;
        work.symbols.clear();
        work.symbols
            .extend(text.chars().map(|each| merging.symbol(each)));
        let there = !known || work.symbols.iter().all(|symbol| symbol & SYMBOL == 0);
        if there {
            merging.run(&mut work, 2)?;
        }
        match work.symbols[..] {
            [_] if there => {}
            [left, right] if there && rank != NONE => built.push((at, left, right)),
            _ => form.unreachable.push(at as u32),
        }
    }
    built.sort_by_key(|&(at, _, _)| ranks[at]);
    let mut priority = vec![None; table.tokens.len()];
    built
        .iter()
        .for_each(|&(at, _, _)| priority[at] = Some(ranks[at]));
    let of = |part: u32| priority.get(part as usize).copied().flatten();
    for (place, &(at, left, right)) in (0..).zip(&built) {
        form.tokens.push(at as u32);
        form.left.push(left);
        form.right.push(right);
        form.priority.push(ranks[at]);
        if of(left).max(of(right)) >= Some(ranks[at]) {
            form.disordered.push(place);
        }
    }
    Some(form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokens;

    fn table(entries: &[(&str, u32)]) -> Table {
        let mut tokens = Tokens::with_room(0, 0);
        for (content, _) in entries {
            tokens.push(content.as_bytes()).unwrap();
        }
        Table::ranked(tokens, entries.iter().map(|entry| entry.1).collect()).unwrap()
    }

    #[test]
    fn the_leftmost_of_equals_makes_a_token() {
        let entries = [
            ("a", 9),
            ("b", 9),
            ("aba", 5),
            ("ba", 1),
            ("ab", 1),
            ("xa", 1),
            ("cd", NONE),
        ];
        let form = form_of_ties(&table(&entries), false).unwrap();
        assert_eq!(form.tokens, [3, 4, 5, 2]);
        assert_eq!(form.left, [1, 0, SYMBOL | u32::from('x'), 4]);
        assert_eq!(form.right, [0, 1, 0, 0]);
        assert_eq!(form.priority, [1, 1, 1, 5]);
        assert_eq!(form.unreachable, [6]);
        assert!(form.disordered.is_empty());
        let form = form_of_ties(&table(&entries), true).unwrap();
        assert_eq!(form.tokens, [3, 4, 2]);
        assert_eq!(form.unreachable, [5, 6]);
    }

    #[test]
    fn tied_tokens_that_nothing_builds_change_nothing() {
        let entries = [
            ("a", 9),
            ("b", 9),
            ("ab", 1),
            ("abb", 3),
            ("ba", 2),
            ("bab", 4),
            ("cd e", 7),
            ("aab a", 7),
        ];
        let table = table(&entries);
        for known in [false, true] {
            let quick = form_of_ties(&table, known).unwrap();
            let runs = form_by_runs(&table, known).unwrap();
            assert_eq!(quick.tokens, runs.tokens);
            assert_eq!(quick.left, runs.left);
            assert_eq!(quick.right, runs.right);
            assert_eq!(quick.priority, runs.priority);
            assert_eq!(quick.disordered, runs.disordered);
            assert_eq!(quick.unreachable, runs.unreachable);
        }
    }

    #[test]
    fn tokens_before_their_parts_are_disordered() {
        let entries = [("a", 9), ("b", 9), ("ab", 3), ("aba", 3), ("abab", 1)];
        let form = form_of_ties(&table(&entries), false).unwrap();
        assert_eq!(form.tokens, [4, 2, 3]);
        assert_eq!(form.disordered, [0, 2]);
    }
}
