use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A float64 that survives JSON: finite values are numbers, the others the strings `"nan"`, `"inf"`, `"-inf"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Num(pub f64);

impl Serialize for Num {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_nan() => serializer.serialize_str("nan"),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            x => serializer.serialize_f64(x),
        }
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Num;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a number, \"nan\", \"inf\" or \"-inf\"")
            }
            fn visit_f64<E>(self, x: f64) -> Result<Num, E> {
                Ok(Num(x))
            }
            fn visit_i64<E>(self, x: i64) -> Result<Num, E> {
                Ok(Num(x as f64))
            }
            fn visit_u64<E>(self, x: u64) -> Result<Num, E> {
                Ok(Num(x as f64))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Num, E> {
                match text {
                    "nan" => Ok(Num(f64::NAN)),
                    "inf" => Ok(Num(f64::INFINITY)),
                    "-inf" => Ok(Num(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl From<f64> for Num {
    fn from(x: f64) -> Self {
        Num(x)
    }
}
