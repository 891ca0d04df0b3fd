//! What the caller holds: values by number, so that a wrong number is an answer and no crash.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::canonical::Form;
use crate::decoding::Decoder;
use crate::encoding::Encoder;
use crate::merges::Merges;
use crate::splitting::Splitter;
use crate::table::Table;

/// A value that stays here until it is released.
pub enum Object {
    Table(Table),
    Merges(Merges),
    Form(Form),
    Splitter(Splitter),
    Encoder(Box<Encoder>),
    Ids(Vec<u32>, Vec<u64>),
    Decoder(Decoder),
    Text(Vec<u8>),
}

struct Held {
    last: i64,
    objects: BTreeMap<i64, Arc<Object>>,
}

static HELD: Mutex<Held> = Mutex::new(Held {
    last: 0,
    objects: BTreeMap::new(),
});

fn held() -> MutexGuard<'static, Held> {
    // Each change is one insertion or removal, so what a panic leaves behind is whole.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a value; returns its number, which is above 0 and never given twice.
pub fn hold(object: Object) -> i64 {
    let mut held = held();
    held.last += 1;
    let number = held.last;
    held.objects.insert(number, Arc::new(object));
    number
}

/// Lets go of a value. Who uses it at this moment goes on to do so.
pub fn release(number: i64) {
    let gone = held().objects.remove(&number);
    drop(gone);
}

/// The value of a number, if it is held.
pub fn get(number: i64) -> Option<Arc<Object>> {
    held().objects.get(&number).cloned()
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
    pub fn encoder(&self) -> Option<&Encoder> {
        match self {
            Object::Encoder(encoder) => Some(encoder),
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

    /// The text of a file, if this is one.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }
}
