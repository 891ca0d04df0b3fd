//! The C interface: the only file with `unsafe`, which makes slices of what the caller points to.
//!
//! The twin is `bpe_interop/kernel/library.py`, which declares the same functions. A result above
//! 0 is the number of an object, or a count; the statuses are below. No panic leaves a function.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Mutex;

use crate::added::Phase;
use crate::around::{Around, Before};
use crate::canonical::{form, Alphabet, Rule, SYMBOL};
use crate::character_maps::CharacterMap;
use crate::comparing::{apart, same_pairs};
use crate::decoding::Decoder;
use crate::encoding::{Encoder, Inner, Whole, LONGEST};
use crate::equality::{listed_as_ranked, ranked_as_listed};
use crate::json;
use crate::merges::Merges;
use crate::merging::Merging;
use crate::normal_forms::NormalForm;
use crate::objects::{self, get, hold, release, Object};
use crate::pairs::NONE;
use crate::piece_encoding::{PieceEncoder, Settings, Spacing};
use crate::piece_forms;
use crate::piece_merging::PieceMerging;
use crate::pieces;
use crate::ranks;
use crate::seed::Seed;
use crate::splitting::{self, Splitter};
use crate::table::Table;
use crate::tokens::Tokens;
use crate::training::{Counter, Learner};
use crate::writing::{self, Listing, Others, Way};

/// To be raised with every change of what is declared here.
const INTERFACE: u32 = 24;

const DONE: i64 = 0;
/// Not for the kernel: Python does it.
const NOT_MINE: i64 = -1;
/// A defect of the kernel.
const PANICKED: i64 = -2;

/// Ids of a text that are given back in one call.
const ROOM: usize = 4096;
/// They are more: an object holds them.
const HELD: i64 = -3;

/// What makes the kernel leave something to Python.
struct NotMine;

type Answer = Result<i64, NotMine>;

/// `None` leaves the work to Python.
fn or_python<T>(found: Option<T>) -> Result<T, NotMine> {
    found.ok_or(NotMine)
}

fn guarded(work: impl FnOnce() -> Answer) -> i64 {
    // What a panic interrupts is dropped: nothing of it is held, so nothing half done is seen.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(number)) => number,
        Ok(Err(NotMine)) => NOT_MINE,
        Err(_) => PANICKED,
    }
}

/// The caller's array; an empty one may be anywhere.
///
/// # Safety
/// `count` values at `start` can be read, and nobody writes them, while the slice is used.
unsafe fn given<'a, T>(start: *const T, count: usize) -> &'a [T] {
    if count == 0 || start.is_null() {
        return &[];
    }
    std::slice::from_raw_parts(start, count)
}

/// Copies into the caller's array, if that has exactly this size.
///
/// # Safety
/// `room` values at `start` can be written, and nobody else uses them meanwhile.
unsafe fn copy<T: Copy>(from: &[T], start: *mut T, room: usize) -> Result<(), NotMine> {
    if from.len() != room || (start.is_null() && room > 0) {
        return Err(NotMine);
    }
    if room > 0 {
        std::slice::from_raw_parts_mut(start, room).copy_from_slice(from);
    }
    Ok(())
}

/// The caller's array, to be written.
///
/// # Safety
/// `room` values at `start` can be written, and nobody else uses them while the slice is used.
unsafe fn taken<'a, T>(start: *mut T, room: usize) -> Result<&'a mut [T], NotMine> {
    if room == 0 {
        return Ok(&mut []);
    }
    if start.is_null() {
        return Err(NotMine);
    }
    Ok(std::slice::from_raw_parts_mut(start, room))
}

fn with_table(number: i64, work: impl FnOnce(&Table) -> Answer) -> Answer {
    let object = or_python(get(number))?;
    work(or_python(object.table())?)
}

fn with_merges(table: i64, merges: i64, work: impl FnOnce(&Table, &Merges) -> Answer) -> Answer {
    let object = or_python(get(merges))?;
    let merges = or_python(object.merges())?;
    with_table(table, |table| {
        if !merges.fits(table) {
            return Err(NotMine);
        }
        work(table, merges)
    })
}

fn alphabet(characters: u32) -> Alphabet {
    if characters == 0 {
        Alphabet::Bytes
    } else {
        Alphabet::Characters
    }
}

/// The number of this interface.
#[no_mangle]
pub extern "C" fn kernel_interface() -> u32 {
    INTERFACE
}

/// The hash of the sources that this was built from, as the build gave it; 64 characters.
///
/// # Safety
/// `out` has room for `room` bytes.
#[no_mangle]
pub unsafe extern "C" fn kernel_sources(out: *mut u8, room: usize) -> i64 {
    guarded(|| {
        let sources = or_python(option_env!("BPE_INTEROP_SOURCES"))?;
        copy(sources.as_bytes(), out, room)?;
        Ok(DONE)
    })
}

/// Ends without an answer, so that a test sees that a panic is caught.
#[no_mangle]
pub extern "C" fn kernel_panics() -> i64 {
    guarded(|| panic!("asked for by a test"))
}

/// Takes every lock for which another thread may wait, until `after_fork`. To be called by the
/// thread that forks, and before it does: a child has none of the threads that hold one.
#[no_mangle]
pub extern "C" fn before_fork() -> i64 {
    guarded(|| {
        Seed::of_process();
        objects::before_fork();
        Ok(DONE)
    })
}

/// Gives the locks back, in the parent and in the child.
#[no_mangle]
pub extern "C" fn after_fork() -> i64 {
    guarded(|| {
        objects::after_fork();
        Ok(DONE)
    })
}

/// How many objects are held, so that a test sees that all are let go of.
#[no_mangle]
pub extern "C" fn objects_held() -> i64 {
    guarded(|| Ok(objects::count() as i64))
}

/// Lets go of an object; of one that is gone, nothing.
#[no_mangle]
pub extern "C" fn object_release(number: i64) -> i64 {
    guarded(|| {
        release(number);
        Ok(DONE)
    })
}

/// The table of a rank file.
///
/// # Safety
/// `size` bytes at `file`.
#[no_mangle]
pub unsafe extern "C" fn ranks_read(file: *const u8, size: usize) -> i64 {
    guarded(|| {
        Ok(hold(Object::Table(or_python(ranks::read(given(
            file, size,
        )))?)))
    })
}

/// A table of tokens that stand one after the other, with the size of each. Two may have one
/// number.
///
/// # Safety
/// `size` bytes at `bytes`, `count` values at `sizes` and at `numbers`.
#[no_mangle]
pub unsafe extern "C" fn table_new(
    bytes: *const u8,
    size: usize,
    sizes: *const u32,
    numbers: *const u32,
    count: usize,
) -> i64 {
    guarded(|| {
        let mut rest = given(bytes, size);
        let mut tokens = Tokens::with_room(count, size);
        for &each in given(sizes, count) {
            if each as usize > rest.len() {
                return Err(NotMine);
            }
            let (token, after) = rest.split_at(each as usize);
            or_python(tokens.push(token))?;
            rest = after;
        }
        let table = or_python(Table::ranked(tokens, given(numbers, count).to_vec()))?;
        Ok(hold(Object::Table(table)))
    })
}

/// How many tokens a table has, and how many bytes all of them together (`sizes`, two values).
///
/// # Safety
/// `sizes` has room for two values.
#[no_mangle]
pub unsafe extern "C" fn table_sizes(table: i64, sizes: *mut u64) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let found = [table.tokens.len() as u64, table.tokens.bytes().len() as u64];
            copy(&found, sizes, 2)?;
            Ok(DONE)
        })
    })
}

/// All contents of a table one after the other, and where each ends.
///
/// # Safety
/// `size` bytes at `bytes`, `count` values at `ends`.
#[no_mangle]
pub unsafe extern "C" fn table_tokens(
    table: i64,
    bytes: *mut u8,
    size: usize,
    ends: *mut u32,
    count: usize,
) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            copy(table.tokens.bytes(), bytes, size)?;
            copy(&table.tokens.ends()[1..], ends, count)?;
            Ok(DONE)
        })
    })
}

/// The number of each token of a table.
///
/// # Safety
/// `count` values at `numbers`.
#[no_mangle]
pub unsafe extern "C" fn table_numbers(table: i64, numbers: *mut u32, count: usize) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            copy(&table.numbers, numbers, count)?;
            Ok(DONE)
        })
    })
}

/// How many tokens have one of some numbers, which are in order; writes the place of each.
///
/// # Safety
/// `count` values at `wanted`, room for as many at `places`.
#[no_mangle]
pub unsafe extern "C" fn table_numbered(
    table: i64,
    wanted: *const u32,
    count: usize,
    places: *mut u32,
) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let found = table.numbered(given(wanted, count));
            copy(&found, places, found.len())?;
            Ok(found.len() as i64)
        })
    })
}

/// The number of a token of a table; `NOT_MINE` if it has none of this content.
///
/// # Safety
/// `size` bytes at `content`.
#[no_mangle]
pub unsafe extern "C" fn table_find(table: i64, content: *const u8, size: usize) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let at = or_python(table.tokens.find(given(content, size)))?;
            Ok(i64::from(table.numbers[at as usize]))
        })
    })
}

/// Copies the token at a place of a table, if it has at most `room` bytes; returns how many it has.
///
/// # Safety
/// `room` bytes at `content`.
#[no_mangle]
pub unsafe extern "C" fn table_token(table: i64, at: usize, content: *mut u8, room: usize) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            if at >= table.tokens.len() {
                return Err(NotMine);
            }
            let token = table.tokens.get(at);
            if token.len() <= room {
                copy(token, content, token.len())?;
            }
            Ok(token.len() as i64)
        })
    })
}

/// A list of merges over a table: the parts of each pair one after the other, with their sizes.
///
/// # Safety
/// `size` bytes at `bytes`, `count` values at `sizes`.
#[no_mangle]
pub unsafe extern "C" fn merges_new(
    table: i64,
    bytes: *const u8,
    size: usize,
    sizes: *const u32,
    count: usize,
) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let merges = Merges::new(table, given(bytes, size), given(sizes, count));
            Ok(hold(Object::Merges(or_python(merges)?)))
        })
    })
}

/// The canonical form of a table's numbers, or of a list over it (0: none). `characters`: what
/// symbols are; `known`: only those that are tokens are there before merging.
#[no_mangle]
pub extern "C" fn canonical_form(table: i64, merges: i64, characters: u32, known: u32) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let alphabet = alphabet(characters);
            let found = if merges == 0 {
                form(table, alphabet, &Rule::Ranks(&table.numbers), known != 0)
            } else {
                let object = or_python(get(merges))?;
                let merges = or_python(object.merges())?;
                if !merges.fits(table) {
                    return Err(NotMine);
                }
                form(table, alphabet, &Rule::List(merges), known != 0)
            };
            Ok(hold(Object::Form(or_python(found)?)))
        })
    })
}

/// The canonical form of a table's numbers over characters, of which some may be equal; `known`
/// as above.
#[no_mangle]
pub extern "C" fn form_of_ties(table: i64, known: u32) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let found = piece_forms::form_of_ties(table, known != 0);
            Ok(hold(Object::Form(or_python(found)?)))
        })
    })
}

/// How many tokens a form builds, how many of them are disordered, how many tokens of its table
/// are unreachable (`sizes`, three values).
///
/// # Safety
/// `sizes` has room for three values.
#[no_mangle]
pub unsafe extern "C" fn form_sizes(form: i64, sizes: *mut u64) -> i64 {
    guarded(|| {
        let object = or_python(get(form))?;
        let form = or_python(object.form())?;
        let found =
            [&form.tokens, &form.disordered, &form.unreachable].map(|each| each.len() as u64);
        copy(&found, sizes, 3)?;
        Ok(DONE)
    })
}

/// What a form says of each token that it builds: the token, its parts, its priority.
///
/// # Safety
/// `count` values at each of the four.
#[no_mangle]
pub unsafe extern "C" fn form_copy(
    form: i64,
    tokens: *mut u32,
    left: *mut u32,
    right: *mut u32,
    priority: *mut u32,
    count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(form))?;
        let form = or_python(object.form())?;
        copy(&form.tokens, tokens, count)?;
        copy(&form.left, left, count)?;
        copy(&form.right, right, count)?;
        copy(&form.priority, priority, count)?;
        Ok(DONE)
    })
}

/// The places of a form's disordered tokens in it, and of its table's unreachable ones there.
///
/// # Safety
/// `disordered_count` values at `disordered`, `unreachable_count` at `unreachable`.
#[no_mangle]
pub unsafe extern "C" fn form_copy_rest(
    form: i64,
    disordered: *mut u32,
    disordered_count: usize,
    unreachable: *mut u32,
    unreachable_count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(form))?;
        let form = or_python(object.form())?;
        copy(&form.disordered, disordered, disordered_count)?;
        copy(&form.unreachable, unreachable, unreachable_count)?;
        Ok(DONE)
    })
}

/// Takes the vocabulary and the merges out of a `tokenizer.json`; `characters`: what symbols are.
/// Into `found`: the table, the merges, where each of the two begins and ends, and how many tokens
/// are not spelled in the byte alphabet; the places of these into `literal`.
///
/// # Safety
/// `size` bytes at `document`; room for seven values at `found`, for `room` at `literal`.
#[no_mangle]
pub unsafe extern "C" fn json_read(
    document: *const u8,
    size: usize,
    characters: u32,
    found: *mut u64,
    literal: *mut u32,
    room: usize,
) -> i64 {
    guarded(|| {
        let taken = json::read(given(document, size), alphabet(characters));
        give(or_python(taken)?, found, literal, room)
    })
}

/// The same of the vocabulary and the merges of a pair of files; nothing begins or ends in them.
///
/// # Safety
/// `size` bytes at `vocabulary`, `merges_size` at `merges`; the rest as above.
#[no_mangle]
pub unsafe extern "C" fn pair_read(
    vocabulary: *const u8,
    size: usize,
    merges: *const u8,
    merges_size: usize,
    found: *mut u64,
    literal: *mut u32,
    room: usize,
) -> i64 {
    guarded(|| {
        let taken = json::read_pair(given(vocabulary, size), given(merges, merges_size));
        give(or_python(taken)?, found, literal, room)
    })
}

/// # Safety
/// Room for seven values at `found`, for `room` at `literal`.
unsafe fn give(taken: json::Taken, found: *mut u64, literal: *mut u32, room: usize) -> Answer {
    if taken.literal.len() > room {
        return Err(NotMine);
    }
    copy(&taken.literal, literal, taken.literal.len())?;
    let [start, end, merges_start, merges_end] = taken.cuts;
    let count = taken.literal.len() as u64;
    let table = hold(Object::Table(taken.table)) as u64;
    let merges = hold(Object::Merges(taken.merges)) as u64;
    copy(
        &[table, merges, start, end, merges_start, merges_end, count],
        found,
        7,
    )?;
    Ok(DONE)
}

/// Which places of a table its merges name (`used`: a byte for each, 1 or 0).
///
/// # Safety
/// Room for `count` bytes at `used`.
#[no_mangle]
pub unsafe extern "C" fn merges_used(table: i64, merges: i64, used: *mut u8, count: usize) -> i64 {
    guarded(|| {
        with_merges(table, merges, |table, merges| {
            let found: Vec<u8> = merges
                .used(table.tokens.len())
                .into_iter()
                .map(u8::from)
                .collect();
            copy(&found, used, count)?;
            Ok(DONE)
        })
    })
}

/// A table and its merges without the tokens at some places (`found`: both, as numbers). Merges
/// may be 0: none.
///
/// # Safety
/// `count` values at `places`, room for two values at `found`.
#[no_mangle]
pub unsafe extern "C" fn table_without(
    table: i64,
    merges: i64,
    places: *const u32,
    count: usize,
    found: *mut u64,
) -> i64 {
    guarded(|| {
        let places = given(places, count);
        if merges == 0 {
            return with_table(table, |table| {
                let rest = hold(Object::Table(or_python(table.without(places))?));
                copy(&[rest as u64, 0], found, 2)?;
                Ok(DONE)
            });
        }
        with_merges(table, merges, |table, merges| {
            let rest = or_python(table.without(places))?;
            let moved = or_python(merges.without(places, table.tokens.len()))?;
            let both = [hold(Object::Table(rest)), hold(Object::Merges(moved))];
            copy(&both.map(|number| number as u64), found, 2)?;
            Ok(DONE)
        })
    })
}

/// The place of a token in a table.
///
/// # Safety
/// `size` bytes at `content`.
#[no_mangle]
pub unsafe extern "C" fn table_place(table: i64, content: *const u8, size: usize) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            Ok(i64::from(or_python(
                table.tokens.find(given(content, size)),
            )?))
        })
    })
}

/// How many merges there are.
#[no_mangle]
pub extern "C" fn merges_count(merges: i64) -> i64 {
    guarded(|| {
        let object = or_python(get(merges))?;
        Ok(or_python(object.merges())?.left.len() as i64)
    })
}

/// The places of both parts of each merge.
///
/// # Safety
/// Room for `count` values at each.
#[no_mangle]
pub unsafe extern "C" fn merges_copy(
    merges: i64,
    left: *mut u32,
    right: *mut u32,
    count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(merges))?;
        let merges = or_python(object.merges())?;
        copy(&merges.left, left, count)?;
        copy(&merges.right, right, count)?;
        Ok(DONE)
    })
}

/// The canonical form of a list that has each token's split in the order of ranks; 0: it has not.
/// `form` is that of the table `ranked`, `merges` are over the table `listed`.
#[no_mangle]
pub extern "C" fn form_listed(
    ranked: i64,
    form: i64,
    listed: i64,
    merges: i64,
    characters: u32,
) -> i64 {
    guarded(|| {
        let object = or_python(get(form))?;
        let form = or_python(object.form())?;
        with_table(ranked, |ranked| {
            if !form.fits(ranked) {
                return Err(NotMine);
            }
            with_merges(listed, merges, |listed, merges| {
                let found = listed_as_ranked(ranked, form, listed, merges, alphabet(characters));
                Ok(found.map_or(DONE, |form| hold(Object::Form(form))))
            })
        })
    })
}

/// The tokens of a table that another has not, or has with another number: their places into
/// `places`; how many they are, and how many tokens both tables have, into `counts`.
///
/// # Safety
/// Room for two values at `counts`, for `room` at `places`.
#[no_mangle]
pub unsafe extern "C" fn tables_apart(
    table: i64,
    other: i64,
    counts: *mut u64,
    places: *mut u32,
    room: usize,
) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            with_table(other, |other| {
                let found = apart(table, other);
                if found.places.len() > room {
                    return Err(NotMine);
                }
                copy(&found.places, places, found.places.len())?;
                let sizes = [found.places.len(), found.shared].map(|size| size as u64);
                copy(&sizes, counts, 2)?;
                Ok(DONE)
            })
        })
    })
}

/// 1 if two lists have the same pairs in the same order, each over its own table, else 0.
#[no_mangle]
pub extern "C" fn merges_same(table: i64, merges: i64, other: i64, others: i64) -> i64 {
    guarded(|| {
        with_merges(table, merges, |table, merges| {
            with_merges(other, others, |other, others| {
                Ok(i64::from(same_pairs(table, merges, other, others)))
            })
        })
    })
}

/// The steps of a pre-tokenizer (0: none) and then the one of a table. `flags`: 1 inverts, 2 says
/// that every text begins with a match.
///
/// # Safety
/// `page_count` values at `pages`, `class_count` at `classes`, `count` at `entries`.
#[no_mangle]
pub unsafe extern "C" fn splitter_after(
    before: i64,
    pages: *const u16,
    page_count: usize,
    classes: *const u8,
    class_count: usize,
    entries: *const u32,
    count: usize,
    numbers: *const u32,
) -> i64 {
    guarded(|| {
        let &[stride, start, end, behavior, flags] = given(numbers, 5) else {
            return Err(NotMine);
        };
        let table = splitting::Table::new(&splitting::Given {
            pages: given(pages, page_count),
            classes: given(classes, class_count),
            entries: given(entries, count),
            stride,
            start,
            end,
            behavior,
            invert: flags & 1 != 0,
            covers: flags & 2 != 0,
        });
        let table = or_python(table)?;
        let held = if before == 0 {
            None
        } else {
            Some(or_python(get(before))?)
        };
        let before = match &held {
            Some(object) => Some(or_python(object.splitter())?),
            None => None,
        };
        Ok(hold(Object::Splitter(Splitter::after(before, table))))
    })
}

/// How many pretokens a text is cut into, and where they start and end.
///
/// # Safety
/// `size` bytes at `text`, room for `room` values at `starts` and at `ends`.
#[no_mangle]
pub unsafe extern "C" fn splitter_cut(
    splitter: i64,
    text: *const u8,
    size: usize,
    starts: *mut u32,
    ends: *mut u32,
    room: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(splitter))?;
        let text = as_text(text, size)?.as_bytes();
        let pieces = or_python(or_python(object.splitter())?.pieces(text))?;
        if pieces.len() > room {
            return Err(NotMine);
        }
        let starts = taken(starts, pieces.len())?;
        let ends = taken(ends, pieces.len())?;
        for ((&piece, start), end) in pieces.iter().zip(starts).zip(ends) {
            (*start, *end) = piece;
        }
        Ok(pieces.len() as i64)
    })
}

/// UTF-8 of a size that can be counted.
///
/// # Safety
/// `size` bytes at `text`.
unsafe fn as_text<'a>(text: *const u8, size: usize) -> Result<&'a str, NotMine> {
    if size > LONGEST {
        return Err(NotMine);
    }
    or_python(std::str::from_utf8(given(text, size)).ok())
}

/// An encoder over a table, by merges over it (0: none, then by `form`, the canonical form of its
/// numbers). `splitter` 0: a text is one pretoken. Of a pretoken, the characters of `gaps`
/// (first and last) are left out at its beginning; `again` (0: nothing) cuts the rest once more, and
/// `letters` then its bytes, spelled by letters. `suffix`: glued to the last byte of a pretoken.
/// `ids`: of the table's tokens; `count` 0: they are its numbers.
///
/// # Safety
/// `count` values at `ids`, `suffix_size` bytes at `suffix`, two for each of `gap_count` at `gaps`.
#[no_mangle]
pub unsafe extern "C" fn encoder_new(
    splitter: i64,
    again: i64,
    letters: i64,
    table: i64,
    merges: i64,
    form: i64,
    suffix: *const u8,
    suffix_size: usize,
    gaps: *const u32,
    gap_count: usize,
    ids: *const u32,
    count: usize,
    lookup_first: u32,
) -> i64 {
    guarded(|| {
        let held = or_python(get(table))?;
        let known = or_python(held.table())?;
        let suffix = given(suffix, suffix_size);
        let symbols = |after: &[u8]| {
            std::array::from_fn(|byte| {
                let symbol = [&[byte as u8], after].concat();
                known.tokens.find(&symbol).unwrap_or(NONE)
            })
        };
        let bytes = symbols(&[]);
        let object = or_python(get(if merges == 0 { form } else { merges }))?;
        let merging = match (object.merges(), object.form()) {
            (Some(list), _) if list.fits(known) => {
                Merging::new(&list.left, &list.right, &list.product, bytes)
            }
            (_, Some(form)) if form.fits(known) => {
                // A part that is no token stands for a byte without one, which is never there.
                let part = |&at: &u32| if at & SYMBOL == 0 { at } else { NONE };
                let left: Vec<u32> = form.left.iter().map(part).collect();
                let right: Vec<u32> = form.right.iter().map(part).collect();
                Merging::new(&left, &right, &form.tokens, bytes)
            }
            _ => None,
        };
        let ids = match count {
            0 => known.numbers.clone(),
            _ => given(ids, count).to_vec(),
        };
        let cutting = |number: i64| match number {
            0 => Ok(None),
            _ => Ok(Some(or_python(or_python(get(number))?.splitter())?.clone())),
        };
        let gaps = given(gaps, or_python(gap_count.checked_mul(2))?).chunks_exact(2);
        let inner = Inner {
            gaps: gaps.map(|range| (range[0], range[1])).collect(),
            again: cutting(again)?,
            letters: cutting(letters)?,
        };
        let splitters = (cutting(splitter)?, inner);
        let mut merging = or_python(merging)?;
        if !suffix.is_empty() {
            merging = merging.with_suffix(symbols(suffix));
        }
        let whole = if lookup_first != 0 {
            Whole::Any
        } else {
            Whole::Merged(suffix)
        };
        let made = Encoder::new(held.clone(), splitters, merging, ids, whole);
        Ok(hold(Object::Encoder(Box::new(or_python(made)?))))
    })
}

/// An encoder of characters over a table, by `rule`: merges over it, or a table of ranks.
/// `splitter` 0: a text is one pretoken. `kinds`: an id and its kind, one after the other;
/// `settings`: as `Settings::of` wants them.
///
/// # Safety
/// `kind_count` values at `kinds`, `count` at `settings`.
#[no_mangle]
pub unsafe extern "C" fn piece_encoder_new(
    splitter: i64,
    table: i64,
    rule: i64,
    kinds: *const u32,
    kind_count: usize,
    settings: *const u32,
    count: usize,
) -> i64 {
    guarded(|| {
        let held = or_python(get(table))?;
        let known = or_python(held.table())?;
        let object = or_python(get(rule))?;
        let merging = match &*object {
            Object::Merges(list) if list.fits(known) => PieceMerging::of_list(known, list),
            Object::Table(ranked) => PieceMerging::of_ranks(known, ranked),
            _ => None,
        };
        let splitter = match splitter {
            0 => None,
            number => Some(or_python(or_python(get(number))?.splitter())?.clone()),
        };
        let settings = or_python(Settings::of(given(settings, count)))?;
        let (merging, kinds) = (or_python(merging)?, given(kinds, kind_count));
        let made = PieceEncoder::new(held.clone(), splitter, merging, kinds, settings);
        Ok(hold(Object::PieceEncoder(or_python(made)?)))
    })
}

/// The same encoder for texts before a step that puts a prefix before each that is not empty, and
/// with `flags` 1 then writes spaces as U+2581; with 2, none that begins with U+2581 by then has
/// the prefix.
///
/// # Safety
/// `size` bytes at `prefix`.
#[no_mangle]
pub unsafe extern "C" fn piece_encoder_spaced(
    encoder: i64,
    prefix: *const u8,
    size: usize,
    flags: u32,
) -> i64 {
    guarded(|| {
        let object = or_python(get(encoder))?;
        let encoder = or_python(object.piece_encoder())?;
        let prefix = or_python(std::str::from_utf8(given(prefix, size)).ok())?.to_string();
        let spacing = Spacing {
            prefix,
            escape: flags & 1 != 0,
            once: flags & 2 != 0,
        };
        Ok(hold(Object::PieceEncoder(encoder.spaced(spacing))))
    })
}

/// Added tokens that are looked for together: their texts one after the other, where each ends, and
/// the id and the flags of each; the characters of words as first and last of each range.
///
/// # Safety
/// `size` bytes at `texts`, `count` values at `ends`, twice as many at `numbers`, `word_count` at
/// `words`.
#[no_mangle]
pub unsafe extern "C" fn phase_new(
    texts: *const u8,
    size: usize,
    ends: *const u64,
    numbers: *const u32,
    count: usize,
    words: *const u32,
    word_count: usize,
) -> i64 {
    guarded(|| {
        let texts = as_text(texts, size)?;
        let numbers = given(numbers, or_python(count.checked_mul(2))?).chunks_exact(2);
        let mut tokens = vec![];
        let mut start = 0;
        for (&end, number) in given(ends, count).iter().zip(numbers) {
            let token = or_python(texts.get(start..end as usize))?;
            tokens.push((token, number[0], number[1]));
            start = end as usize;
        }
        let words = given(words, word_count).chunks_exact(2);
        let words = words.map(|range| (range[0], range[1])).collect();
        Ok(hold(Object::Phase(or_python(Phase::new(tokens, words))?)))
    })
}

/// A normal form: the classes of code points in pages, what is composed, what is decomposed.
///
/// # Safety
/// `page_count` values at `pages`, `class_count` at `classes`, `count` at `composed`,
/// `other_count` at `decomposed`.
#[no_mangle]
pub unsafe extern "C" fn normal_form_new(
    pages: *const u16,
    page_count: usize,
    classes: *const u8,
    class_count: usize,
    composed: *const u32,
    count: usize,
    decomposed: *const u32,
    other_count: usize,
) -> i64 {
    guarded(|| {
        let form = NormalForm::new(
            given(pages, page_count),
            given(classes, class_count),
            given(composed, count),
            given(decomposed, other_count),
        );
        Ok(hold(Object::NormalForm(or_python(form)?)))
    })
}

/// A text in a normal form: the number of what holds it.
///
/// # Safety
/// `size` bytes at `text`.
#[no_mangle]
pub unsafe extern "C" fn normal_form_write(form: i64, text: *const u8, size: usize) -> i64 {
    guarded(|| {
        let object = or_python(get(form))?;
        let mut out = String::new();
        or_python(or_python(object.normal_form())?.write(as_text(text, size)?, &mut out))?;
        Ok(hold(Object::Text(out.into_bytes())))
    })
}

/// Whether a normal form leaves a text as it is (1); 0 also where that is not decided.
///
/// # Safety
/// `size` bytes at `text`.
#[no_mangle]
pub unsafe extern "C" fn normal_form_keeps(form: i64, text: *const u8, size: usize) -> i64 {
    guarded(|| {
        let object = or_python(get(form))?;
        let text = as_text(text, size)?;
        Ok(i64::from(or_python(object.normal_form())?.keeps(text)))
    })
}

/// A map of characters: the kinds of code points in pages, what is changed, what runs become.
///
/// # Safety
/// `page_count` values at `pages`, `kind_count` at `kinds`, `count` at `changed`, `run_count` at
/// `runs`.
#[no_mangle]
pub unsafe extern "C" fn character_map_new(
    pages: *const u16,
    page_count: usize,
    kinds: *const u8,
    kind_count: usize,
    changed: *const u32,
    count: usize,
    runs: *const u32,
    run_count: usize,
) -> i64 {
    guarded(|| {
        let map = CharacterMap::new(
            given(pages, page_count),
            given(kinds, kind_count),
            given(changed, count),
            given(runs, run_count),
        );
        Ok(hold(Object::CharacterMap(or_python(map)?)))
    })
}

/// What a text becomes by a map of characters: the number of what holds it.
///
/// # Safety
/// `size` bytes at `text`.
#[no_mangle]
pub unsafe extern "C" fn character_map_write(map: i64, text: *const u8, size: usize) -> i64 {
    guarded(|| {
        let object = or_python(get(map))?;
        let mut out = String::new();
        or_python(or_python(object.character_map())?.write(as_text(text, size)?, &mut out))?;
        Ok(hold(Object::Text(out.into_bytes())))
    })
}

/// An encoder with what stands around it. `objects`: the encoders of a stretch that begins a text
/// and of the others; the added tokens that are looked for in the text as it is, and those in the
/// normalized one (0: none); normal forms and maps of characters in their order. `prefix` and `flags` as above; with 4, nothing is
/// put before a stretch or written in it. `template`: the ids before those of a text, `count` of
/// them, and then those after them.
///
/// # Safety
/// `object_count` values at `objects`, `size` bytes at `prefix`, `count + after` values at `template`.
#[no_mangle]
pub unsafe extern "C" fn around_new(
    objects: *const i64,
    object_count: usize,
    prefix: *const u8,
    size: usize,
    flags: u32,
    template: *const u32,
    count: usize,
    after: usize,
) -> i64 {
    guarded(|| {
        let [first, later, raw, normalized, changes @ ..] = given(objects, object_count) else {
            return Err(NotMine);
        };
        let optional = |number: &i64| match number {
            0 => Ok(None),
            &number => or_python(get(number)).map(Some),
        };
        let changes: Option<Vec<_>> = changes.iter().map(|&number| get(number)).collect();
        let prefix = or_python(std::str::from_utf8(given(prefix, size)).ok())?.to_string();
        let spacing = Spacing {
            prefix,
            escape: flags & 1 != 0,
            once: flags & 2 != 0,
        };
        let before = Before {
            changes: or_python(changes)?,
            spacing: (flags & 4 == 0).then_some(spacing),
            raw: optional(raw)?,
            normalized: optional(normalized)?,
        };
        let template = given(template, or_python(count.checked_add(after))?);
        let (placed_before, placed_after) = template.split_at(count);
        let template = (placed_before.to_vec(), placed_after.to_vec());
        let (first, later) = (or_python(get(*first))?, or_python(get(*later))?);
        let made = Around::new(before, first, later, template);
        Ok(hold(Object::Around(or_python(made)?)))
    })
}

/// How many ids a text has: they are at `out`, if there is room for them (`ROOM`). Else `HELD`;
/// the number of the object that holds them is then in the two values behind the room.
///
/// What is asked is in one array, for ctypes takes 0.1 µs for each argument: the encoder, where
/// `out` is, and the size of the text.
///
/// # Safety
/// As many bytes at `text`; room for `ROOM` and two more values at `out`.
#[no_mangle]
pub unsafe extern "C" fn encoder_encode(asked: *const [u64; 3], text: *const u8) -> i64 {
    guarded(|| {
        let [encoder, out, size] = *or_python(asked.as_ref())?;
        let (out, size) = (out as *mut u32, size as usize);
        let object = or_python(get(encoder as i64))?;
        let encoder = or_python(object.encoder())?;
        let text = as_text(text, size)?;
        let mut ids = vec![];
        or_python(ids.try_reserve(size / 3 + 8).ok())?;
        or_python(encoder.encode(text, &mut ids))?;
        let count = ids.len();
        if count > ROOM {
            let number = hold(Object::Ids(ids, vec![count as u64]));
            let parts = [number as u32, (number >> 32) as u32];
            copy(&parts, out.wrapping_add(ROOM), 2)?;
            return Ok(HELD);
        }
        copy(&ids, out, count)?;
        Ok(count as i64)
    })
}

/// How many ids an object holds.
#[no_mangle]
pub extern "C" fn ids_count(object: i64) -> i64 {
    guarded(|| {
        let object = or_python(get(object))?;
        Ok(or_python(object.ids())?.0.len() as i64)
    })
}

/// The ids of texts that end at `ends` in one text, by so many threads: the number of what holds
/// them. The end of the ids of a text that is left to Python has its highest bit set.
///
/// # Safety
/// `size` bytes at `text`, `count` values at `ends`.
#[no_mangle]
pub unsafe extern "C" fn encoder_encode_each(
    encoder: i64,
    text: *const u8,
    size: usize,
    ends: *const u64,
    count: usize,
    threads: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(encoder))?;
        let encoder = or_python(object.encoder())?;
        let each = encoder.encode_each(as_text(text, size)?, given(ends, count), threads);
        let (ids, ends) = or_python(each)?;
        Ok(hold(Object::Ids(ids, ends)))
    })
}

/// Ids that an object holds, and where those of each text end.
///
/// # Safety
/// Room for `count` values at `ids`, for `end_count` at `ends`.
#[no_mangle]
pub unsafe extern "C" fn ids_copy(
    object: i64,
    ids: *mut u32,
    count: usize,
    ends: *mut u64,
    end_count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(object))?;
        let (from, last) = or_python(object.ids())?;
        copy(from, ids, count)?;
        copy(last, ends, end_count)?;
        Ok(DONE)
    })
}

/// The ids of a text with the characters that each stands for: the number of what holds them. If
/// there are more than `most` ids, those at the end may be left out.
///
/// # Safety
/// `size` bytes at `text`.
#[no_mangle]
pub unsafe extern "C" fn encoder_encode_placed(
    encoder: i64,
    text: *const u8,
    size: usize,
    most: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(encoder))?;
        let encoder = or_python(object.encoder())?;
        let (ids, spans) = or_python(encoder.encode_placed(as_text(text, size)?, most))?;
        Ok(hold(Object::Placed(ids, spans)))
    })
}

/// How many ids with their places an object holds.
#[no_mangle]
pub extern "C" fn placed_count(object: i64) -> i64 {
    guarded(|| {
        let object = or_python(get(object))?;
        Ok(or_python(object.placed())?.0.len() as i64)
    })
}

/// Ids that an object holds, and where each starts and ends.
///
/// # Safety
/// Room for `count` values at each of the three.
#[no_mangle]
pub unsafe extern "C" fn placed_copy(
    object: i64,
    ids: *mut u32,
    starts: *mut u32,
    ends: *mut u32,
    count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(object))?;
        let (from, spans) = or_python(object.placed())?;
        copy(from, ids, count)?;
        copy(&spans.starts, starts, count)?;
        copy(&spans.ends, ends, count)?;
        Ok(DONE)
    })
}

/// The pretokens of texts one after the other, counted.
///
/// # Safety
/// `size` bytes at `texts`, `count` values at `ends`.
#[no_mangle]
pub unsafe extern "C" fn counter_of(
    splitter: i64,
    texts: *const u8,
    size: usize,
    ends: *const u64,
    count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(splitter))?;
        let splitter = or_python(object.splitter())?;
        let made = Counter::of(splitter, as_text(texts, size)?, given(ends, count));
        Ok(hold(Object::Counter(Mutex::new(or_python(made)?))))
    })
}

/// Counts what another one has counted, behind its own.
#[no_mangle]
pub extern "C" fn counter_absorb(counter: i64, other: i64) -> i64 {
    guarded(|| {
        let (object, other) = (or_python(get(counter))?, or_python(get(other))?);
        let mut counter = or_python(object.counter())?;
        let other = or_python(other.counter())?;
        or_python(counter.absorb(&other))?;
        Ok(DONE)
    })
}

/// How many distinct ones there are, and how many bytes they have.
///
/// # Safety
/// Room for two values at `sizes`.
#[no_mangle]
pub unsafe extern "C" fn counter_sizes(counter: i64, sizes: *mut u64) -> i64 {
    guarded(|| {
        let object = or_python(get(counter))?;
        let counter = or_python(object.counter())?;
        let (contents, ends, _) = counter.counted();
        copy(&[ends.len() as u64, contents.len() as u64], sizes, 2)?;
        Ok(DONE)
    })
}

/// Their bytes one after the other, where each ends, and how often each came.
///
/// # Safety
/// Room for `size` bytes at `contents`, for `count` values at `ends` and at `counts`.
#[no_mangle]
pub unsafe extern "C" fn counter_copy(
    counter: i64,
    contents: *mut u8,
    size: usize,
    ends: *mut u64,
    counts: *mut u64,
    count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(counter))?;
        let counter = or_python(object.counter())?;
        let (bytes, last, often) = counter.counted();
        copy(bytes, contents, size)?;
        copy(last, ends, count)?;
        copy(often, counts, count)?;
        Ok(DONE)
    })
}

/// What learns merges from pretokens: their bytes one after the other, where each ends, and how
/// often each came.
///
/// # Safety
/// `size` bytes at `contents`, `count` values at `ends` and at `counts`.
#[no_mangle]
pub unsafe extern "C" fn learner_new(
    contents: *const u8,
    size: usize,
    ends: *const u64,
    counts: *const u64,
    count: usize,
) -> i64 {
    guarded(|| {
        let made = Learner::new(
            given(contents, size),
            given(ends, count),
            given(counts, count),
        );
        Ok(hold(Object::Learner(Mutex::new(or_python(made)?))))
    })
}

/// Merges up to `room` times pairs that occur `least` times: their two numbers each, and how often
/// they were counted. How many were merged.
///
/// # Safety
/// Room for twice `room` values at `pairs`, for `room` at `frequencies`.
#[no_mangle]
pub unsafe extern "C" fn learner_more(
    learner: i64,
    least: u64,
    pairs: *mut u32,
    frequencies: *mut u64,
    room: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(learner))?;
        let mut learner = or_python(object.learner())?;
        let pairs = taken(pairs, or_python(room.checked_mul(2))?)?;
        let frequencies = taken(frequencies, room)?;
        let mut count = 0;
        for (two, frequency) in pairs.chunks_exact_mut(2).zip(frequencies) {
            let Some(merge) = or_python(learner.step(least))? else {
                break;
            };
            two.copy_from_slice(&[merge.left, merge.right]);
            *frequency = merge.frequency;
            count += 1;
        }
        Ok(count)
    })
}

/// How many tokens all pretokens are by now, each counted as often as it came.
#[no_mangle]
pub extern "C" fn learner_tokens(learner: i64) -> i64 {
    guarded(|| {
        let object = or_python(get(learner))?;
        let tokens = or_python(object.learner())?.tokens();
        or_python(i64::try_from(tokens).ok())
    })
}

/// What ids stand for: their bytes one after the other, and how many each has.
///
/// # Safety
/// `size` bytes at `bytes`, `count` values at `ids` and at `sizes`.
#[no_mangle]
pub unsafe extern "C" fn decoder_new(
    bytes: *const u8,
    size: usize,
    ids: *const u32,
    sizes: *const u32,
    count: usize,
) -> i64 {
    guarded(|| {
        let made = Decoder::new(given(bytes, size), given(ids, count), given(sizes, count));
        Ok(hold(Object::Decoder(or_python(made)?)))
    })
}

/// How many bytes ids have together.
///
/// # Safety
/// `count` values at `ids`.
#[no_mangle]
pub unsafe extern "C" fn decoder_size(decoder: i64, ids: *const u32, count: usize) -> i64 {
    guarded(|| {
        let object = or_python(get(decoder))?;
        let size = or_python(object.decoder())?.size(given(ids, count));
        Ok(or_python(size)? as i64)
    })
}

/// The bytes of ids; into the rest of the room, something. In one array, as in `encoder_encode`:
/// the decoder, where the ids are and how many, where the room is and how large.
///
/// # Safety
/// So many values and so much room are there.
#[no_mangle]
pub unsafe extern "C" fn decoder_join(asked: *const [u64; 5]) -> i64 {
    guarded(|| {
        let [decoder, ids, count, out, room] = *or_python(asked.as_ref())?;
        let (ids, count) = (ids as *const u32, count as usize);
        let (out, room) = (out as *mut u8, room as usize);
        let object = or_python(get(decoder as i64))?;
        if out.is_null() {
            return Err(NotMine);
        }
        let out = std::slice::from_raw_parts_mut(out, room);
        let size = or_python(object.decoder())?.join(given(ids, count), out);
        Ok(or_python(size)? as i64)
    })
}

/// The entries of a JSON object with a table's tokens and their numbers, in the order of these.
/// The tokens at some places are skipped; others, spelled as they shall stand there, with the
/// size of each and its number, least first, are sorted in. `ascii`: nothing else is used;
/// `between` stands between two entries.
///
/// # Safety
/// `skipped_count` values at `skipped`, `size` bytes at `others`, `count` values at `sizes` and
/// at `numbers`, `between_size` bytes at `between`.
#[no_mangle]
pub unsafe extern "C" fn vocabulary_text(
    table: i64,
    skipped: *const u32,
    skipped_count: usize,
    others: *const u8,
    size: usize,
    sizes: *const u32,
    numbers: *const u32,
    count: usize,
    ascii: u32,
    between: *const u8,
    between_size: usize,
) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let others = Others {
                bytes: given(others, size),
                sizes: given(sizes, count),
                numbers: given(numbers, count),
            };
            let way = if ascii == 0 {
                Way::Json
            } else {
                Way::JsonAscii
            };
            let skipped = given(skipped, skipped_count);
            let between = given(between, between_size);
            let text = writing::vocabulary(table, skipped, &others, way, between);
            Ok(hold(Object::Text(or_python(text)?)))
        })
    })
}

/// The pairs of a list, or of a form, over a table: as strings of JSON with `between` between
/// two of them, or with `lines` one to a line.
///
/// # Safety
/// `between_size` bytes at `between`.
#[no_mangle]
pub unsafe extern "C" fn pairs_text(
    table: i64,
    pairs: i64,
    lines: u32,
    between: *const u8,
    between_size: usize,
) -> i64 {
    guarded(|| {
        with_table(table, |table| {
            let object = or_python(get(pairs))?;
            let (left, right) = match &*object {
                Object::Merges(merges) if merges.fits(table) => (&merges.left, &merges.right),
                Object::Form(form) if form.fits(table) => (&form.left, &form.right),
                _ => return Err(NotMine),
            };
            let listing = if lines == 0 {
                Listing::Strings(given(between, between_size))
            } else {
                Listing::Lines
            };
            let text = writing::pairs(table, left, right, &listing);
            Ok(hold(Object::Text(or_python(text)?)))
        })
    })
}

/// The lines of a rank file with a table's tokens and numbers, in its order.
#[no_mangle]
pub extern "C" fn ranks_text(table: i64) -> i64 {
    guarded(|| with_table(table, |table| Ok(hold(Object::Text(writing::ranks(table))))))
}

/// How many bytes a text has.
#[no_mangle]
pub extern "C" fn text_size(text: i64) -> i64 {
    guarded(|| {
        let object = or_python(get(text))?;
        Ok(or_python(object.text())?.len() as i64)
    })
}

/// Copies a text.
///
/// # Safety
/// `room` bytes at `out`.
#[no_mangle]
pub unsafe extern "C" fn text_copy(text: i64, out: *mut u8, room: usize) -> i64 {
    guarded(|| {
        let object = or_python(get(text))?;
        copy(or_python(object.text())?, out, room)?;
        Ok(DONE)
    })
}

/// 1 if a table ranks the tokens that a form builds in the order of the form, and besides them
/// only single bytes; else 0. `form` is that of the table `listed`.
#[no_mangle]
pub extern "C" fn ranks_listed(ranked: i64, listed: i64, form: i64) -> i64 {
    guarded(|| {
        let object = or_python(get(form))?;
        let form = or_python(object.form())?;
        with_table(ranked, |ranked| {
            with_table(listed, |listed| {
                if !form.fits(listed) {
                    return Err(NotMine);
                }
                Ok(i64::from(ranked_as_listed(ranked, listed, form)))
            })
        })
    })
}

/// The pieces that a SentencePiece model begins with. Into `found`: the table of those that a text
/// may give, that of those that may be merged into, what else they say, and where they end.
///
/// # Safety
/// `size` bytes at `file`, room for four values at `found`.
#[no_mangle]
pub unsafe extern "C" fn pieces_read(file: *const u8, size: usize, found: *mut u64) -> i64 {
    guarded(|| {
        let read = or_python(pieces::read(given(file, size)))?;
        let made = [
            Object::Table(read.spelled),
            Object::Table(read.ranked),
            Object::Pieces(read.rest),
        ];
        let [spelled, ranked, rest] = made.map(|object| hold(object) as u64);
        copy(&[spelled, ranked, rest, read.end as u64], found, 4)?;
        Ok(DONE)
    })
}

/// How many pieces there are, how many of them are not NORMAL, how many say that they are, and
/// whether one that others merge into has a character that is no piece (`sizes`, four values).
///
/// # Safety
/// `sizes` has room for four values.
#[no_mangle]
pub unsafe extern "C" fn pieces_sizes(pieces: i64, sizes: *mut u64) -> i64 {
    guarded(|| {
        let object = or_python(get(pieces))?;
        let pieces = or_python(object.pieces())?;
        let counts = [pieces.scores.len(), pieces.others.len(), pieces.typed.len()];
        let [all, others, typed] = counts.map(|count| count as u64);
        copy(&[all, others, typed, u64::from(pieces.lacking)], sizes, 4)?;
        Ok(DONE)
    })
}

/// What pieces say: all scores; of those that are not NORMAL the position, the type, and where
/// the surface starts and ends in the file; the positions of those that say that they are.
///
/// # Safety
/// `count` values at `scores`, four times `other_count` at `others`, `typed_count` at `typed`.
#[no_mangle]
pub unsafe extern "C" fn pieces_copy(
    pieces: i64,
    scores: *mut f32,
    count: usize,
    others: *mut pieces::Other,
    other_count: usize,
    typed: *mut u32,
    typed_count: usize,
) -> i64 {
    guarded(|| {
        let object = or_python(get(pieces))?;
        let pieces = or_python(object.pieces())?;
        copy(&pieces.scores, scores, count)?;
        copy(&pieces.others, others, other_count)?;
        copy(&pieces.typed, typed, typed_count)?;
        Ok(DONE)
    })
}
