//! Dumps of torch's flight recorder: the last collectives of each process group, as every rank saw them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A dump, as torch writes it in JSON and in a pickle; keys that are not read here are left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Dump {
    entries: Vec<Entry>,
    pg_config: BTreeMap<String, Config>,
    /// `nccl_version` in older ones.
    #[serde(alias = "nccl_version")]
    pub(crate) comm_lib_version: Option<String>,
    rank: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    name: String,
    desc: String,
    #[serde(deserialize_with = "members")]
    ranks: Vec<u32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    #[serde(deserialize_with = "number")]
    collective_seq_id: u64,
    #[serde(deserialize_with = "texts")]
    process_group: Vec<String>,
    profiling_name: String,
    #[serde(deserialize_with = "shapes")]
    input_sizes: Option<Vec<Vec<i64>>>,
    #[serde(deserialize_with = "texts")]
    input_dtypes: Vec<String>,
    state: String,
    is_p2p: bool,
    frames: Vec<Frame>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Frame {
    filename: String,
    #[serde(deserialize_with = "number")]
    line: u64,
}

/// A number, or one as text.
fn number<'de, D: Deserializer<'de>>(source: D) -> Result<u64, D::Error> {
    Ok(match Value::deserialize(source)? {
        Value::Number(number) => number.as_u64().unwrap_or(0),
        Value::String(text) => text.parse().unwrap_or(0),
        _ => 0,
    })
}

/// A list of texts, or one.
fn texts<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    let text = |value: Value| value.as_str().map(str::to_owned);
    Ok(match Value::deserialize(source)? {
        Value::Array(values) => values.into_iter().filter_map(text).collect(),
        other => text(other).into_iter().collect(),
    })
}

/// `"[0, 1]"`, or a list.
fn members<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<u32>, D::Error> {
    let value = match Value::deserialize(source)? {
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        other => other,
    };
    Ok(serde_json::from_value(value).unwrap_or_default())
}

fn shapes<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Vec<Vec<i64>>>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(source)?).ok())
}

/// What one rank says of one collective.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    /// What must be the same on all ranks: operation, dtypes, sizes where torch asks for equal ones.
    kind: Rc<str>,
    state: Rc<str>,
    place: Option<Rc<str>>,
}

/// Dumps of many ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorders {
    /// A thousand ranks say the same few things thousands of times.
    texts: HashSet<Rc<str>>,
    groups: BTreeMap<String, Group>,
    pub(crate) ranks: BTreeSet<u32>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    members: BTreeSet<u32>,
    calls: BTreeMap<u64, BTreeMap<u32, Call>>,
    last: BTreeMap<u32, u64>,
}

/// A collective in which ranks differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parted {
    /// The process group, as `0 (default_pg)`.
    pub(crate) group: String,
    /// Number of the collective in it.
    pub(crate) seq: u64,
    /// What was done, how far it came, from which line, by which ranks; the most ranks first.
    pub(crate) sides: Vec<Side>,
    /// Ranks that have not come so far, and their last number.
    pub(crate) absent: BTreeMap<u32, u64>,
}

/// Ranks that did the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// As `nccl:all_reduce of Float [4], started`.
    pub(crate) what: String,
    /// The line of the program that called it, where the recorder kept it.
    pub(crate) place: Option<String>,
    /// The ranks.
    pub(crate) ranks: Vec<u32>,
}

impl Recorders {
    /// Takes the dump of a rank: the one that it names, or else that of its file.
    ///
    /// Returns false where neither is known.
    pub(crate) fn take(&mut self, dump: Dump, of_file: Option<u32>) -> bool {
        let Some(rank) = dump.rank.or(of_file) else { return false };
        self.ranks.insert(rank);
        for entry in dump.entries.into_iter().filter(|entry| !entry.is_p2p) {
            let name = entry.process_group.first().cloned().unwrap_or_default();
            let desc = entry.process_group.get(1).cloned().unwrap_or_default();
            let label = if desc.is_empty() { name.clone() } else { format!("{name} ({desc})") };
            let group = self.groups.entry(label).or_default();
            let config = dump.pg_config.values().find(|config| config.name == name && config.desc == desc);
            group.members.extend(config.or_else(|| dump.pg_config.get(&name)).into_iter().flat_map(|c| &c.ranks));
            group.members.insert(rank);
            let seq = entry.collective_seq_id;
            let last = group.last.entry(rank).or_default();
            *last = seq.max(*last);
            let texts = &mut self.texts;
            group.calls.entry(seq).or_default().entry(rank).or_insert_with(|| entry.call(texts));
        }
        true
    }

    /// The first collective of each group in which ranks that were read differ, or that some have not reached.
    pub(crate) fn parted(&self) -> Vec<Parted> {
        self.groups.iter().filter_map(|(label, group)| group.parted(label, &self.ranks)).collect()
    }
}

impl Group {
    fn parted(&self, label: &str, read: &BTreeSet<u32>) -> Option<Parted> {
        let here: BTreeSet<u32> = self.members.intersection(read).copied().collect();
        if here.len() < 2 {
            return None;
        }
        self.calls.iter().find_map(|(&seq, calls)| {
            let absent: BTreeMap<u32, u64> = here
                .iter()
                .filter_map(|rank| {
                    // Without an entry of this group nothing is known: a ring drops the oldest.
                    let last = self.last.get(rank).copied()?;
                    (last < seq).then_some((*rank, last))
                })
                .collect();
            let mut kinds: Vec<&str> = calls.values().map(|call| &*call.kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            // What was completed had everybody: the other dump was only made earlier.
            let waiting = calls.values().any(|call| &*call.state != "completed");
            if kinds.len() < 2 && (absent.is_empty() || !waiting) {
                return None;
            }
            let mut sides: Vec<Side> = Vec::new();
            for (rank, call) in calls {
                let what = if call.state.is_empty() {
                    call.kind.to_string()
                } else {
                    format!("{}, {}", call.kind, call.state)
                };
                match sides.iter_mut().find(|side| side.what == what && side.place.as_deref() == call.place.as_deref())
                {
                    Some(side) => side.ranks.push(*rank),
                    None => {
                        sides.push(Side { what, place: call.place.as_deref().map(str::to_owned), ranks: vec![*rank] })
                    }
                }
            }
            sides.sort_by_key(|side| std::cmp::Reverse(side.ranks.len()));
            Some(Parted { group: label.to_owned(), seq, sides, absent })
        })
    }
}

impl Entry {
    fn call(&self, texts: &mut HashSet<Rc<str>>) -> Call {
        let op = self.profiling_name.rsplit(':').next().unwrap_or_default().to_owned();
        // Others may have other sizes on every rank: all_to_all, gather, scatter, and what is uneven or coalesced.
        let equal =
            ["all_reduce", "broadcast", "reduce", "_all_gather_base", "_reduce_scatter_base", "_allgather_base"];
        let mut kind = op.clone();
        if !self.input_dtypes.is_empty() && op != "barrier" {
            kind = format!("{kind} of {}", self.input_dtypes.join(", "));
        }
        if let (true, Some(sizes)) = (equal.contains(&op.as_str()), &self.input_sizes) {
            let sizes: Vec<String> = sizes.iter().take(4).map(|size| format!("{size:?}")).collect();
            kind = format!("{kind} {}", sizes.join(" "));
        }
        let mut shared = |text: &str| match texts.get(text) {
            Some(text) => text.clone(),
            None => {
                let text: Rc<str> = text.into();
                texts.insert(text.clone());
                text
            }
        };
        let (kind, state) = (shared(&kind), shared(&self.state));
        Call { kind, state, place: self.place().map(|place| shared(&place)) }
    }

    /// The innermost frame that is not of an installed package.
    fn place(&self) -> Option<String> {
        let installed = |file: &str| {
            ["/site-packages/", "/dist-packages/", "/torch/distributed/", "<frozen", "<string>"]
                .iter()
                .any(|part| file.contains(part))
        };
        let frame =
            self.frames.iter().take(64).find(|frame| !frame.filename.is_empty() && !installed(&frame.filename))?;
        Some(format!("{}:{}", frame.filename, frame.line))
    }
}

/// The rank that a file of the recorder bears at the end of its name, as `nccl_trace_rank_3` and `rank_3.json` do.
pub(crate) fn rank_of(stem: &str) -> Option<u32> {
    let end = stem.trim_end_matches(|c: char| !c.is_ascii_digit());
    let digits = end.len() - end.chars().rev().take_while(char::is_ascii_digit).count();
    end[digits..].parse().ok()
}
