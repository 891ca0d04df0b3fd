//! The canonical form of ranks of characters of which some are equal: one run for each token
//! (twin: `canonical_of` in `merging/canonical.py`).
#![forbid(unsafe_code)]

use crate::canonical::{Form, SYMBOL};
use crate::pairs::NONE;
use crate::piece_merging::{PieceMerging, Work};
use crate::table::Table;

/// The form of a table's numbers, as ranks; `known`: only symbols that are tokens are there before
/// merging. None: a token is no text, or something else is irregular.
pub fn form_by_runs(table: &Table, known: bool) -> Option<Form> {
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
        let form = form_by_runs(&table(&entries), false).unwrap();
        assert_eq!(form.tokens, [3, 4, 5, 2]);
        assert_eq!(form.left, [1, 0, SYMBOL | u32::from('x'), 4]);
        assert_eq!(form.right, [0, 1, 0, 0]);
        assert_eq!(form.priority, [1, 1, 1, 5]);
        assert_eq!(form.unreachable, [6]);
        assert!(form.disordered.is_empty());
        let form = form_by_runs(&table(&entries), true).unwrap();
        assert_eq!(form.tokens, [3, 4, 2]);
        assert_eq!(form.unreachable, [5, 6]);
    }

    #[test]
    fn tokens_before_their_parts_are_disordered() {
        let entries = [("a", 9), ("b", 9), ("ab", 3), ("aba", 3), ("abab", 1)];
        let form = form_by_runs(&table(&entries), false).unwrap();
        assert_eq!(form.tokens, [4, 2, 3]);
        assert_eq!(form.disordered, [0, 2]);
    }
}
