//! A log that was cut, damaged, or written by a later version.
#![allow(missing_docs)]

mod support;

use nanscope_trace::*;
use proptest::prelude::*;
use support::{assert_prefix, count, log_bytes, read};

#[test]
fn a_log_cut_at_any_byte_keeps_every_whole_frame() {
    let (bytes, ends) = log_bytes();
    for cut in 0..=bytes.len() {
        let log = read(&bytes[..cut]).unwrap();
        assert_prefix(&log);
        let whole = ends.iter().filter(|&&end| end <= cut as u64).count();
        assert_eq!(count(&log), whole, "cut at {cut}");
        let clean = cut == frame::FILE_HEADER || ends.contains(&(cut as u64));
        assert_eq!(log.torn.is_none(), clean, "cut at {cut}");
    }
}

#[test]
fn any_flipped_bit_stops_at_its_frame() {
    let (bytes, ends) = log_bytes();
    for bit in 8 * frame::FILE_HEADER..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let log = read(&damaged).unwrap();
        assert_prefix(&log);
        let before = ends.iter().filter(|&&end| end <= bit as u64 / 8).count();
        assert_eq!(count(&log), before, "bit {bit}");
        let offset = if before == 0 { frame::FILE_HEADER as u64 } else { ends[before - 1] };
        assert_eq!(log.torn.unwrap().offset, offset, "bit {bit}");
    }
}

proptest! {
    #[test]
    fn damage_never_passes_for_a_record(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let (mut bytes, _) = log_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(log) = read(&bytes) {
            assert_prefix(&log);
        }
    }

    #[test]
    fn any_bytes_can_be_read(tail in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&tail);
        let log = read(&[&frame::file_header()[..], &tail].concat()).unwrap();
        prop_assert_eq!(count(&log), 0);
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_torn() {
    let (bytes, ends) = log_bytes();
    let log = Log::read_from(&bytes[..ends[1] as usize + 40], bytes.len() as u64, support::path()).unwrap();
    assert_eq!(log.steps.len(), 1);
    assert_eq!(log.torn.unwrap().offset, ends[1]);
}

#[test]
fn frames_of_a_later_kind_are_kept_and_passed_over() {
    let (mut bytes, ends) = log_bytes();
    let mut header = frame::frame_header(Kind::Note, b"later").unwrap();
    header[4] = 200;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..8]);
    crc.update(b"later");
    header[8..].copy_from_slice(&crc.finalize().to_le_bytes());
    let at = ends[1] as usize;
    bytes.splice(at..at, [&header[..], b"later"].concat());
    let log = read(&bytes).unwrap();
    assert_eq!((log.steps.len(), log.end.is_some(), &log.torn), (3, true, &None));
    assert_eq!((log.raw[0].offset, log.raw[0].kind, &log.raw[0].payload[..]), (ends[1], 200, &b"later"[..]));
}

#[test]
fn a_record_of_another_schema_is_kept_and_passed_over() {
    let (mut bytes, ends) = log_bytes();
    let header = frame::frame_header(Kind::Trip, b"{}").unwrap();
    let at = ends[1] as usize;
    bytes.splice(at..at, [&header[..], b"{}"].concat());
    let log = read(&bytes).unwrap();
    assert_eq!((log.trips.len(), log.end.is_some(), log.raw.len()), (1, true, 1));
    assert_eq!(log.raw[0].reason, "expected JSON of this schema, got: missing field `step` at line 1 column 2");
}

#[test]
fn errors_name_what_was_expected_and_what_was_met() {
    let message = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(
        message(b"\x89PNG\r\n"),
        r#"rank-0.log is not a log of nanscope: expected it to begin with NANSCOPE, got "\x89PNG\r\n""#
    );
    let (mut bytes, _) = log_bytes();
    bytes[8] = 7;
    assert_eq!(
        message(&bytes),
        "rank-0.log was written by another version of nanscope: expected format 1 or older, got 7; update nanscope"
    );
}
