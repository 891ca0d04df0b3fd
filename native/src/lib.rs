//! The native kernel of bpe_interop: what `bpe_interop/kernel/` calls, over flat buffers.
//!
//! Each module has a twin in Python, which is the reference. What a module cannot hold, or finds
//! to be irregular, it leaves to its twin: no message for a user is made here.
#![deny(unsafe_code)]

mod added;
mod around;
mod blocks;
mod canonical;
mod character_maps;
mod comparing;
mod decoding;
mod encoding;
mod equality;
#[allow(unsafe_code)]
mod interface;
mod json;
mod known;
mod memories;
mod merges;
mod merging;
mod normal_forms;
mod objects;
mod offsets;
mod pairs;
mod piece_encoding;
mod piece_forms;
mod piece_merging;
mod pieces;
#[allow(unsafe_code)]
mod processor;
mod ranks;
mod seed;
mod splitting;
mod strides;
mod table;
mod tokens;
mod training;
mod writing;
