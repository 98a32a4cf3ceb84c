//! A pickle as plain data: a machine of its own that knows numbers, text, lists, tuples and dicts, and no other opcode.
//!
//! Python's pickle is a program that may import and call anything. Here the opcodes that do so are refused by name, before
//! they have any effect; they are not implemented. Memory follows the input: a value that is named often is built once, and
//! what is handed over is bounded by [`VALUES`] and [`DEPTH`].

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

/// Values that a dump may unfold to.
const VALUES: usize = 4_000_000;
/// Containers within containers.
const DEPTH: usize = 32;

/// Why a pickle was not read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// It would import or call something.
    #[error("refused at byte {at}: the pickle would {what}; only plain data is read, and nothing of it was run")]
    Runs {
        /// Byte of the opcode.
        at: usize,
        /// What it would do.
        what: String,
    },
    /// It uses an opcode of no plain data.
    #[error("byte {at}: expected plain data, got opcode 0x{opcode:02x}")]
    Opcode {
        /// Byte of the opcode.
        at: usize,
        /// The opcode.
        opcode: u8,
    },
    /// It ends too early.
    #[error("the pickle is cut: it has {0} bytes and no end")]
    Cut(usize),
    /// It is no pickle that Python could have written.
    #[error("byte {at}: the pickle is damaged: {what}")]
    Damaged {
        /// Byte at which it shows.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// It unfolds to too much.
    #[error("the pickle unfolds to more than {VALUES} values or {DEPTH} levels")]
    Large,
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Value),
    List(Vec<u32>),
    Dict(Vec<u32>),
    Mark,
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<u32>,
    memo: HashMap<u32, u32>,
}

/// The one value of a pickle of protocol 2 to 5, as JSON: a tuple is a list, a key that is no text is written as text.
///
/// # Errors
/// [`Refused`], for anything but plain data.
pub fn plain(bytes: &[u8]) -> Result<Value, Refused> {
    let mut machine = Machine { bytes, at: 0, nodes: Vec::new(), stack: Vec::new(), memo: HashMap::new() };
    let root = machine.run()?;
    let mut left = VALUES;
    machine.value(root, DEPTH, &mut left)
}

impl<'a> Machine<'a> {
    fn run(&mut self) -> Result<u32, Refused> {
        loop {
            if self.nodes.len() > VALUES {
                return Err(Refused::Large);
            }
            let at = self.at;
            let opcode = self.take(1)?[0];
            match opcode {
                0x80 => {
                    let version = self.byte()?;
                    if !(2..=5).contains(&version) {
                        return Err(Refused::Damaged { at, what: "expected protocol 2 to 5" });
                    }
                }
                0x95 => {
                    self.take(8)?;
                }
                b'.' => return self.pop(at),
                b'N' => self.leaf(Value::Null),
                0x88 => self.leaf(Value::Bool(true)),
                0x89 => self.leaf(Value::Bool(false)),
                b'K' => {
                    let value = self.byte()?;
                    self.leaf(value.into());
                }
                b'M' => {
                    let value = u16::from_le_bytes(self.array()?);
                    self.leaf(value.into());
                }
                b'J' => {
                    let value = i32::from_le_bytes(self.array()?);
                    self.leaf(value.into());
                }
                0x8a => {
                    let length = usize::from(self.byte()?);
                    let value =
                        long(self.take(length)?).ok_or(Refused::Damaged { at, what: "a number beyond 64 bits" })?;
                    self.leaf(value.into());
                }
                b'G' => {
                    let value = f64::from_be_bytes(self.array()?);
                    self.leaf(Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number));
                }
                b'X' | b'T' | b'B' => {
                    let length = u32::from_le_bytes(self.array()?) as usize;
                    self.text(length)?;
                }
                0x8c | b'U' | b'C' => {
                    let length = usize::from(self.byte()?);
                    self.text(length)?;
                }
                0x8d | 0x8e => {
                    let length = u64::from_le_bytes(self.array()?);
                    self.text(usize::try_from(length).map_err(|_| Refused::Cut(self.bytes.len()))?)?;
                }
                b']' | b')' => self.push(Node::List(vec![])),
                b'}' => self.push(Node::Dict(vec![])),
                b'(' => self.push(Node::Mark),
                b'l' | b't' => {
                    let items = self.marked(at)?;
                    self.push(Node::List(items));
                }
                b'd' => {
                    let items = self.marked(at)?;
                    self.push(Node::Dict(items));
                }
                0x85..=0x87 => {
                    let count = usize::from(opcode - 0x84);
                    let from = self.stack.len().checked_sub(count).ok_or(underflow(at))?;
                    let items = self.stack.split_off(from);
                    self.push(Node::List(items));
                }
                b'a' => {
                    let item = self.pop(at)?;
                    self.extend(at, false, &[item])?;
                }
                b'e' => {
                    let items = self.marked(at)?;
                    self.extend(at, false, &items)?;
                }
                b's' => {
                    let (value, key) = (self.pop(at)?, self.pop(at)?);
                    self.extend(at, true, &[key, value])?;
                }
                b'u' => {
                    let items = self.marked(at)?;
                    self.extend(at, true, &items)?;
                }
                b'0' => {
                    self.pop(at)?;
                }
                b'1' => {
                    self.marked(at)?;
                }
                b'2' => {
                    let top = *self.stack.last().ok_or(underflow(at))?;
                    self.stack.push(top);
                }
                b'q' => {
                    let name = self.byte()?.into();
                    self.put(at, name)?;
                }
                b'r' => {
                    let name = u32::from_le_bytes(self.array()?);
                    self.put(at, name)?;
                }
                0x94 => self.put(at, self.memo.len() as u32)?,
                b'h' => {
                    let name = self.byte()?.into();
                    self.get(at, name)?;
                }
                b'j' => {
                    let name = u32::from_le_bytes(self.array()?);
                    self.get(at, name)?;
                }
                b'c' => {
                    let what = format!("import {}", self.global());
                    return Err(Refused::Runs { at, what });
                }
                0x93 => {
                    let name = |node: Option<&u32>| match node.map(|node| &self.nodes[*node as usize]) {
                        Some(Node::Leaf(Value::String(text))) => text.chars().take(80).collect(),
                        _ => String::from("?"),
                    };
                    let (module, item) = (self.stack.iter().rev().nth(1), self.stack.last());
                    return Err(Refused::Runs { at, what: format!("import {}.{}", name(module), name(item)) });
                }
                b'R' | b'o' | b'i' | b'b' | 0x81 | 0x92 => {
                    return Err(Refused::Runs { at, what: "call something".to_owned() });
                }
                b'P' | b'Q' | 0x82..=0x84 => {
                    return Err(Refused::Runs { at, what: "fetch something from outside".to_owned() });
                }
                _ => return Err(Refused::Opcode { at, opcode }),
            }
        }
    }

    /// Module and name of a global, for the refusal.
    fn global(&self) -> String {
        let rest = &self.bytes[self.at..self.bytes.len().min(self.at + 200)];
        let mut lines = rest.split(|byte| *byte == b'\n').map(|line| crate::scan::words(line, 80));
        format!("{}.{}", lines.next().unwrap_or_default(), lines.next().unwrap_or_default())
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Refused> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let taken = &self.bytes[self.at..end.ok_or(Refused::Cut(self.bytes.len()))?];
        self.at += count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Refused> {
        Ok(self.take(1)?[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        Ok(*self.take(N)?.first_chunk().expect("so many were taken"))
    }

    fn text(&mut self, length: usize) -> Result<(), Refused> {
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.leaf(Value::String(text));
        Ok(())
    }

    fn leaf(&mut self, value: Value) {
        self.push(Node::Leaf(value));
    }

    fn push(&mut self, node: Node) {
        self.stack.push(self.nodes.len() as u32);
        self.nodes.push(node);
    }

    fn pop(&mut self, at: usize) -> Result<u32, Refused> {
        let top = self.stack.pop().ok_or(underflow(at))?;
        if matches!(self.nodes[top as usize], Node::Mark) { Err(underflow(at)) } else { Ok(top) }
    }

    /// What lies above the last mark, which is taken off.
    fn marked(&mut self, at: usize) -> Result<Vec<u32>, Refused> {
        let mark = self.stack.iter().rposition(|node| matches!(self.nodes[*node as usize], Node::Mark));
        let mark = mark.ok_or(underflow(at))?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Ok(items)
    }

    fn extend(&mut self, at: usize, dict: bool, items: &[u32]) -> Result<(), Refused> {
        let top = *self.stack.last().ok_or(underflow(at))?;
        match &mut self.nodes[top as usize] {
            Node::List(list) if !dict => list.extend(items),
            Node::Dict(pairs) if dict && items.len().is_multiple_of(2) => pairs.extend(items),
            _ => return Err(Refused::Damaged { at, what: "an item for what is no list or dict" }),
        }
        Ok(())
    }

    fn put(&mut self, at: usize, name: u32) -> Result<(), Refused> {
        let top = *self.stack.last().ok_or(underflow(at))?;
        self.memo.insert(name, top);
        Ok(())
    }

    fn get(&mut self, at: usize, name: u32) -> Result<(), Refused> {
        let node = self.memo.get(&name).ok_or(Refused::Damaged { at, what: "a name that was never given" })?;
        self.stack.push(*node);
        Ok(())
    }

    fn value(&self, node: u32, depth: usize, left: &mut usize) -> Result<Value, Refused> {
        *left = left.checked_sub(1).ok_or(Refused::Large)?;
        let inner = depth.checked_sub(1).ok_or(Refused::Large)?;
        Ok(match &self.nodes[node as usize] {
            Node::Leaf(value) => {
                // A long text that is named often must not be copied often.
                *left = left.checked_sub(value.as_str().map_or(0, |text| text.len() / 64)).ok_or(Refused::Large)?;
                value.clone()
            }
            Node::Mark => Value::Null,
            Node::List(items) => {
                Value::Array(items.iter().map(|item| self.value(*item, inner, left)).collect::<Result<_, _>>()?)
            }
            Node::Dict(items) => {
                let mut map = Map::new();
                for pair in items.chunks_exact(2) {
                    // A container as a key would be written out, and again inside the next.
                    let key = match &self.nodes[pair[0] as usize] {
                        Node::Leaf(_) => self.value(pair[0], inner, left)?,
                        _ => return Err(Refused::Damaged { at: self.at, what: "a key that is a container" }),
                    };
                    let key = match key {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                    map.insert(key, self.value(pair[1], inner, left)?);
                }
                Value::Object(map)
            }
        })
    }
}

fn underflow(at: usize) -> Refused {
    Refused::Damaged { at, what: "a value is taken that was never put" }
}

/// A little-endian two's complement number of up to 8 bytes.
fn long(bytes: &[u8]) -> Option<i64> {
    let fill = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut wide = [fill; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(wide))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_data_of_every_protocol() {
        // pickle.dumps({"a": [1, -2, 300, 2**40, None, True, 1.5], 7: ("x",)}, protocol) of CPython.
        let two = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01\x8a\x06\x00\x00\x00\x00\x00\x01N\x88G?\xf8\x00\x00\x00\x00\x00\x00eK\x07X\x01\x00\x00\x00xq\x03\x85q\x04u.";
        let four = b"\x80\x04\x95/\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01\x8a\x06\x00\x00\x00\x00\x00\x01N\x88G?\xf8\x00\x00\x00\x00\x00\x00eK\x07\x8c\x01x\x94\x85\x94u.";
        let expected = json!({"a": [1, -2, 300, 1u64 << 40, null, true, 1.5], "7": ["x"]});
        assert_eq!(plain(two), Ok(expected.clone()));
        assert_eq!(plain(four), Ok(expected));
    }

    #[test]
    fn a_pickle_that_would_run_something_is_refused_by_name() {
        let old = b"cposix\nsystem\n(S'touch owned'\ntR.";
        let reason = plain(old).unwrap_err().to_string();
        assert!(reason.contains("would import posix.system"), "{reason}");
        let new = b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x0btouch owned\x94\x85\x94R\x94.";
        let reason = plain(new).unwrap_err().to_string();
        assert!(reason.contains("would import posix.system") && reason.contains("nothing of it was run"), "{reason}");
        for call in [b'R', b'o', b'i', b'b', 0x81, 0x92, b'P', b'Q', 0x82] {
            assert!(matches!(plain(&[0x80, 2, b'N', b'N', call]), Err(Refused::Runs { .. })), "{call}");
        }
    }

    #[test]
    fn what_names_itself_over_and_over_stays_small() {
        // Twenty lists, each of ten times the one before: 10^20 values.
        let mut bytes = b"\x80\x02]q\x00".to_vec();
        for level in 1..20u8 {
            bytes.extend([b']', b'q', level, b'(']);
            bytes.extend([b'h', level - 1].repeat(10));
            bytes.push(b'e');
        }
        bytes.push(b'.');
        assert_eq!(plain(&bytes), Err(Refused::Large));
        assert_eq!(plain(b"\x80\x02]q\x00h\x00a."), Err(Refused::Large), "a list in itself");
    }

    #[test]
    fn a_pickle_cut_at_any_byte_says_so() {
        let whole = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01M,\x01eu.";
        assert!(plain(whole).is_ok());
        for end in 0..whole.len() {
            assert_eq!(plain(&whole[..end]), Err(Refused::Cut(end)));
        }
    }
}
