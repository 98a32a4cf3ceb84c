//! A disk that fills up costs the records that did not fit, and nothing else.
#![allow(missing_docs)]

mod support;

use nanscope_trace::*;
use support::{Memory, info, path, read, step};

#[test]
fn at_every_size_of_the_disk_the_earlier_frames_stay() {
    let (begun, room_for_ten) = {
        let mut bytes = Vec::new();
        let writer =
            Writer::begin(Memory { bytes: &mut bytes, room: usize::MAX, stuck: false }, path(), &info()).unwrap();
        (writer.bytes() as usize, writer.bytes() as usize + 800)
    };
    for room in 0..=room_for_ten {
        for stuck in [false, true] {
            let mut bytes = Vec::new();
            let begin = Writer::begin(Memory { bytes: &mut bytes, room, stuck }, path(), &info());
            if room < begun {
                assert!(matches!(begin, Err(Error::Write { .. })));
                continue;
            }
            let mut writer = begin.unwrap();
            let failed = (0..10).filter(|&i| writer.step(&step(i)).is_err()).count();
            let (fit, dropped) = ((room - begun) / 80, writer.dropped() as usize);
            assert_eq!((failed, dropped), (usize::from(fit < 10), 10 - fit));
            assert_eq!(writer.failure().is_some(), fit < 10);
            let log = read(&bytes).unwrap();
            assert_eq!(log.steps.len(), fit);
            assert_eq!(log.torn.is_some(), stuck && (room - begun) % 80 != 0);
        }
    }
}

#[test]
fn a_failed_record_is_told_once_and_later_ones_are_counted() {
    let mut bytes = Vec::new();
    let mut writer = Writer::begin(Memory { bytes: &mut bytes, room: 400, stuck: false }, path(), &info()).unwrap();
    let error = writer.note(&"x".repeat(400)).unwrap_err().to_string();
    assert!(error.starts_with("cannot write rank-0.log: "), "{error}");
    assert_eq!(writer.failure(), Some(&error[..]));
    writer.trip(&support::trip()).unwrap();
    writer.end(&support::end()).unwrap();
    writer.close().unwrap();
    assert_eq!(writer.dropped(), 3);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_on_a_full_device_is_an_error_not_a_panic() {
    let full = std::fs::OpenOptions::new().append(true).open("/dev/full").unwrap();
    let error = Writer::begin(full, path(), &info()).unwrap_err();
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::StorageFull));
}
