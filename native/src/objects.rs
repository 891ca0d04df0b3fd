//! What the caller holds: values by number, so that a wrong number is an answer and no crash.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::added::Phase;
use crate::around::Around;
use crate::canonical::Form;
use crate::character_maps::CharacterMap;
use crate::decoding::Decoder;
use crate::encoding::{Encoder, Encodes};
use crate::merges::Merges;
use crate::normal_forms::NormalForm;
use crate::offsets::Spans;
use crate::piece_encoding::PieceEncoder;
use crate::pieces::Pieces;
use crate::splitting::Splitter;
use crate::table::Table;
use crate::training::{Counter, Learner};

/// A value that stays here until it is released.
pub enum Object {
    Table(Table),
    Merges(Merges),
    Form(Form),
    Splitter(Splitter),
    Encoder(Box<Encoder>),
    PieceEncoder(PieceEncoder),
    Phase(Phase),
    NormalForm(NormalForm),
    CharacterMap(CharacterMap),
    Around(Around),
    Ids(Vec<u32>, Vec<u64>),
    Placed(Vec<u32>, Spans),
    Decoder(Decoder),
    Text(Vec<u8>),
    Pieces(Pieces),
    Counter(Mutex<Counter>),
    Learner(Mutex<Learner>),
}

struct Held {
    last: i64,
    objects: BTreeMap<i64, Arc<Object>>,
}

static HELD: Mutex<Held> = Mutex::new(Held {
    last: 0,
    objects: BTreeMap::new(),
});

thread_local! {
    /// The lock, while its thread forks: a child has no other thread, and none that holds it.
    static ACROSS_FORK: RefCell<Option<MutexGuard<'static, Held>>> = const { RefCell::new(None) };
}

fn lock() -> MutexGuard<'static, Held> {
    // Each change is one insertion or removal, so what a panic leaves behind is whole.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_held<T>(work: impl FnOnce(&mut Held) -> T) -> T {
    // What a thread does while it forks, such as collecting garbage, has the lock already.
    ACROSS_FORK.with_borrow_mut(|across| match across {
        Some(held) => work(held),
        None => work(&mut lock()),
    })
}

/// Takes the lock of this module until `after_fork`; to be called by the thread that forks.
pub fn before_fork() {
    ACROSS_FORK.with_borrow_mut(|across| {
        across.get_or_insert_with(lock);
    });
}

/// Gives the lock back, in the parent and in the child.
pub fn after_fork() {
    ACROSS_FORK.with_borrow_mut(|across| *across = None);
}

/// How many values are held.
pub fn count() -> usize {
    with_held(|held| held.objects.len())
}

/// Keeps a value; returns its number, which is above 0 and never given twice.
pub fn hold(object: Object) -> i64 {
    let object = Arc::new(object);
    with_held(|held| {
        held.last += 1;
        held.objects.insert(held.last, object);
        held.last
    })
}

/// Lets go of a value. Who uses it at this moment goes on to do so.
pub fn release(number: i64) {
    let gone = with_held(|held| held.objects.remove(&number));
    drop(gone);
}

/// The value of a number, if it is held.
pub fn get(number: i64) -> Option<Arc<Object>> {
    with_held(|held| held.objects.get(&number).cloned())
}

impl Object {
    /// The table, if this is one.
    pub fn table(&self) -> Option<&Table> {
        match self {
            Object::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The list of merges, if this is one.
    pub fn merges(&self) -> Option<&Merges> {
        match self {
            Object::Merges(merges) => Some(merges),
            _ => None,
        }
    }

    /// The canonical form, if this is one.
    pub fn form(&self) -> Option<&Form> {
        match self {
            Object::Form(form) => Some(form),
            _ => None,
        }
    }

    /// The pre-tokenizer, if this is one.
    pub fn splitter(&self) -> Option<&Splitter> {
        match self {
            Object::Splitter(splitter) => Some(splitter),
            _ => None,
        }
    }

    /// The encoder, if this is one.
    pub fn encoder(&self) -> Option<&dyn Encodes> {
        match self {
            Object::Encoder(encoder) => Some(&**encoder),
            Object::PieceEncoder(encoder) => Some(encoder),
            Object::Around(encoder) => Some(encoder),
            _ => None,
        }
    }

    /// The encoder, if this is one of characters.
    pub fn piece_encoder(&self) -> Option<&PieceEncoder> {
        match self {
            Object::PieceEncoder(encoder) => Some(encoder),
            _ => None,
        }
    }

    /// The added tokens that are looked for together, if this is that.
    pub fn phase(&self) -> Option<&Phase> {
        match self {
            Object::Phase(phase) => Some(phase),
            _ => None,
        }
    }

    /// The normal form, if this is one.
    pub fn normal_form(&self) -> Option<&NormalForm> {
        match self {
            Object::NormalForm(form) => Some(form),
            _ => None,
        }
    }

    /// The map of characters, if this is one.
    pub fn character_map(&self) -> Option<&CharacterMap> {
        match self {
            Object::CharacterMap(map) => Some(map),
            _ => None,
        }
    }

    /// The counter of pretokens, if this is one and no panic has left it half done. Nobody waits
    /// for it: who adds a counter to itself would do so for ever.
    pub fn counter(&self) -> Option<MutexGuard<'_, Counter>> {
        match self {
            Object::Counter(counter) => counter.try_lock().ok(),
            _ => None,
        }
    }

    /// What learns merges, if this is it and no panic has left it half done.
    pub fn learner(&self) -> Option<MutexGuard<'_, Learner>> {
        match self {
            Object::Learner(learner) => learner.lock().ok(),
            _ => None,
        }
    }

    /// The decoder, if this is one.
    pub fn decoder(&self) -> Option<&Decoder> {
        match self {
            Object::Decoder(decoder) => Some(decoder),
            _ => None,
        }
    }

    /// Ids, and where those of each text end, if this is what was encoded.
    pub fn ids(&self) -> Option<(&[u32], &[u64])> {
        match self {
            Object::Ids(ids, ends) => Some((ids, ends)),
            _ => None,
        }
    }

    /// The ids of a text and where each stands, if this is that.
    pub fn placed(&self) -> Option<(&[u32], &Spans)> {
        match self {
            Object::Placed(ids, spans) => Some((ids, spans)),
            _ => None,
        }
    }

    /// The text of a file, if this is one.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What pieces say beside their tables, if this is that.
    pub fn pieces(&self) -> Option<&Pieces> {
        match self {
            Object::Pieces(pieces) => Some(pieces),
            _ => None,
        }
    }
}
