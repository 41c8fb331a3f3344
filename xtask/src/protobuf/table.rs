//! The table of messages, made from what Kubernetes publishes: `generated.proto` has the numbers and types of the fields;
//! `types.go` has their names in JSON, and which of them are always written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Context, Result, bail};

/// The lines of the table are not longer.
const WIDTH: usize = 120;

/// Fields that Roster never sends, and all that only they use.
const LEFT_OUT: &[&str] = &["managedFields"];

/// Messages whose JSON is not an object of their fields.
const SPECIAL: &[(&str, &str)] = &[
    ("k8s.io.apimachinery.pkg.apis.meta.v1.Time", "Time"),
    ("k8s.io.apimachinery.pkg.api.resource.Quantity", "Quantity"),
    ("k8s.io.apimachinery.pkg.util.intstr.IntOrString", "IntOrString"),
];

/// Scalar types, with their names in the table.
const SCALARS: &[(&str, &str)] = &[("string", "Text"), ("bool", "Boolean"), ("int32", "Int32"), ("int64", "Int64")];

/// A package: the name by which the table prefixes its messages, and its two files.
pub(crate) struct Package {
    pub(crate) prefix: &'static str,
    pub(crate) proto: String,
    pub(crate) go: String,
}

/// A field as `generated.proto` declares it.
#[derive(Clone, Debug, PartialEq)]
struct ProtoField {
    number: u32,
    /// The full name of a message, or a scalar type; of a map, that of its values.
    of: String,
    shape: FieldShape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FieldShape {
    One,
    Many,
    Map,
}

/// A field as `types.go` declares it.
struct GoField {
    json: String,
    /// Whether it is neither a pointer, a slice nor a map: the Go marshaller writes such a field even where it is zero.
    is_value: bool,
}

/// The messages of all packages, by their full names.
#[derive(Default)]
struct Sources {
    /// With the prefix of their package.
    messages: BTreeMap<String, (&'static str, Vec<ProtoField>)>,
    /// By the prefix of the package, the name of the struct and the number of the field.
    fields: BTreeMap<(&'static str, String, u32), GoField>,
}

/// The table of all messages that `roots` need: a constant for each.
pub(crate) fn table(packages: &[Package], roots: &[&str]) -> Result<String> {
    let mut sources = Sources::default();
    for package in packages {
        sources.read(package)?;
    }
    let mut rows = BTreeMap::new();
    let mut wanted: BTreeSet<String> = roots.iter().map(ToString::to_string).collect();
    while let Some(name) = wanted.pop_first() {
        let (row, uses) = sources.row(&name)?;
        rows.insert(name, row);
        wanted.extend(uses.into_iter().filter(|name| !rows.contains_key(name)));
    }
    // Their constants, not their full names, are in order.
    let mut rows: Vec<String> = rows.into_values().collect();
    rows.sort();
    Ok(rows.join("\n"))
}

impl Sources {
    fn read(&mut self, package: &Package) -> Result<()> {
        for (name, fields) in read_proto(&package.proto)? {
            self.messages.insert(name, (package.prefix, fields));
        }
        for (name, number, field) in read_go(&package.go) {
            self.fields.insert((package.prefix, name, number), field);
        }
        Ok(())
    }

    /// The row of a message, and the messages that it uses.
    fn row(&self, name: &str) -> Result<(String, Vec<String>)> {
        let (prefix, fields) = self.messages.get(name).with_context(|| format!("there is no message {name}"))?;
        let mut fields = fields.clone();
        fields.sort_by_key(|field| field.number);
        let (mut row, mut uses) =
            (format!("pub(super) static {}: Message = fields(&[", self.constant(name)?), Vec::new());
        let mut width = WIDTH;
        for field in fields {
            let key = (*prefix, last(name).to_owned(), field.number);
            let go = self.fields.get(&key).with_context(|| format!("no field of Go for {name} {}", field.number))?;
            if LEFT_OUT.contains(&go.json.as_str()) {
                continue;
            }
            let scalar = SCALARS.iter().chain(SPECIAL).find(|(of, _)| *of == field.of);
            let of = if let Some((_, of)) = scalar {
                (*of).to_owned()
            } else {
                uses.push(field.of.clone());
                format!("message(&{})", self.constant(&field.of)?)
            };
            let how = match field.shape {
                FieldShape::Many => "many",
                FieldShape::Map => "map",
                FieldShape::One if go.is_value => "always",
                FieldShape::One => "optional",
            };
            let text = format!("{how}({}, {:?}, {of}),", field.number, go.json);
            width += 1 + text.len();
            if width > WIDTH {
                row.push_str("\n   ");
                width = 4 + text.len();
            }
            write!(row, " {text}")?;
        }
        row.push_str("\n]);\n");
        Ok((row, uses))
    }

    /// The name of the constant of a message: its package, and its words.
    fn constant(&self, name: &str) -> Result<String> {
        let (prefix, _) = self.messages.get(name).with_context(|| format!("there is no message {name}"))?;
        let mut constant = (*prefix).to_owned();
        let letters: Vec<char> = last(name).chars().collect();
        for (i, letter) in letters.iter().enumerate() {
            let after_small = i == 0 || letters[i - 1].is_ascii_lowercase();
            let before_small = letters.get(i + 1).is_some_and(char::is_ascii_lowercase);
            if letter.is_ascii_uppercase() && (after_small || before_small) {
                constant.push('_');
            }
            constant.push(letter.to_ascii_uppercase());
        }
        Ok(constant)
    }
}

/// The part of a full name after its package.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Reads the messages of a `generated.proto`: each field is a line, and no message is inside another one.
fn read_proto(text: &str) -> Result<Vec<(String, Vec<ProtoField>)>> {
    let lines = || text.lines().map(str::trim);
    let package = lines().find_map(|line| line.strip_prefix("package ")?.strip_suffix(';')).context("no package")?;
    let mut messages: Vec<(String, Vec<ProtoField>)> = Vec::new();
    for line in lines() {
        if let Some(name) = line.strip_prefix("message ").and_then(|rest| rest.strip_suffix(" {")) {
            messages.push((format!("{package}.{name}"), Vec::new()));
        }
        let Some((shape, rest)) =
            [("optional ", FieldShape::One), ("repeated ", FieldShape::Many), ("map<string, ", FieldShape::Map)]
                .into_iter()
                .find_map(|(word, shape)| Some((shape, line.strip_prefix(word)?)))
        else {
            if line.starts_with("map<") || line.starts_with("oneof ") || line.starts_with("required ") {
                bail!("{package}: cannot read {line}");
            }
            continue;
        };
        let field = || {
            let (declared, number) = rest.strip_suffix(';')?.split_once(" = ")?;
            let (of, _) = declared.split_once(' ')?;
            Some((of.trim_end_matches('>'), number.parse().ok()?))
        };
        let (of, number) = field().with_context(|| format!("{package}: cannot read {line}"))?;
        let of = match of.strip_prefix('.') {
            Some(full) => full.to_owned(),
            None if of.starts_with(|c: char| c.is_ascii_uppercase()) => format!("{package}.{of}"),
            None => of.to_owned(),
        };
        let (_, fields) = messages.last_mut().with_context(|| format!("{package}: no message before {line}"))?;
        fields.push(ProtoField { number, of, shape });
    }
    Ok(messages)
}

/// Reads the fields of all structs of a `types.go` that have a number: the name of the struct, the number, and the field.
fn read_go(text: &str) -> Vec<(String, u32, GoField)> {
    let (mut fields, mut current) = (Vec::new(), None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("type ").and_then(|rest| rest.strip_suffix(" struct {")) {
            current = Some(name);
        } else if line == "}" {
            current = None;
        }
        let Some(name) = current.filter(|_| !line.trim_start().starts_with("//")) else { continue };
        let field = || {
            let (declared, tags) = line.split_once('`')?;
            let tag = |name: &str| tags.split_once(&format!("{name}:\""))?.1.split('"').next();
            let number = tag("protobuf")?.split(',').nth(1)?.parse().ok()?;
            let of = declared.split_whitespace().last()?;
            let json = tag("json")?.split(',').next()?.to_owned();
            Some((
                name.to_owned(),
                number,
                GoField { json, is_value: !of.starts_with(['*', '[']) && !of.starts_with("map[") },
            ))
        };
        fields.extend(field());
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTO: &str = "package a.v1;\n\nmessage Root {\n  // A comment.\n  optional Part part = 2;\n\n  optional .a.v1.Part other = 17;\n
  repeated string names = 1;\n\n  map<string, .k8s.io.apimachinery.pkg.api.resource.Quantity> sizes = 3;\n\n  optional int32 count = 4;\n
  optional Unused managed = 5;\n}\n\nmessage Part {\n  optional bool isIt = 1;\n}\n\nmessage Unused {\n  optional double x = 1;\n}\n";
    const GO: &str = "type Root struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\t// Part `json:\"no\" protobuf:\"bytes,2\"`\n\tPart `json:\"part,omitempty\" protobuf:\"bytes,2,opt,name=part\"`
\tOther *Part `json:\"other\" protobuf:\"bytes,17,opt,name=other\"`\n\tNames []string `json:\"names\" protobuf:\"bytes,1,rep,name=names\"`
\tSizes ResourceList `json:\"sizes\" protobuf:\"bytes,3,rep,name=sizes\"`\n\tDoNotUse int32 `json:\"Count\" protobuf:\"varint,4,opt,name=count\"`
\tManaged Unused `json:\"managedFields\" protobuf:\"bytes,5,opt,name=managed\"`\n}\n\ntype Part struct {\n\tIsIt *bool `json:\"isIt\" protobuf:\"varint,1,opt,name=isIt\"`\n}\n";

    #[test]
    fn a_table_has_what_its_roots_need() {
        let packages = [Package { prefix: "A", proto: PROTO.to_owned(), go: GO.to_owned() }];
        let table = table(&packages, &["a.v1.Root"]);
        let want = "pub(super) static A_PART: Message = fields(&[
    optional(1, \"isIt\", Boolean),
]);

pub(super) static A_ROOT: Message = fields(&[
    many(1, \"names\", Text), always(2, \"part\", message(&A_PART)), map(3, \"sizes\", Quantity), always(4, \"Count\", Int32),
    optional(17, \"other\", message(&A_PART)),
]);
";
        assert_eq!(table.unwrap(), want);
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let packages = [Package { prefix: "A", proto: PROTO.to_owned(), go: GO.to_owned() }];
        for (roots, want) in [
            (&["a.v1.Unused"][..], "no field of Go for a.v1.Unused 1"),
            (&["a.v1.None"], "there is no message a.v1.None"),
        ] {
            assert_eq!(table(&packages, roots).unwrap_err().to_string(), want);
        }
        assert!(read_proto("package a;\nmessage A {\nmap<int32, string> x = 1;\n}").is_err());
    }
}
