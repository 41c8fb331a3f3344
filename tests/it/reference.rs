//! The pages of the reference name everything that the program has. What it has is read from outside: from its help, its
//! description of the API, its CRD and the chart.

use std::{collections::BTreeSet, fs, path::Path};

use roster_admission::Rule;
use roster_lint::all_codes;
use serde_json::Value;

use crate::cli::roster;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The part of a page below a heading, without the parts of other headings.
fn section<'t>(page: &'t str, heading: &str) -> &'t str {
    let (_, rest) = page.split_once(&format!("# {heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    rest.split("\n#").next().unwrap()
}

/// A command, and what its help lists.
struct Help {
    name: String,
    flags: BTreeSet<String>,
    variables: BTreeSet<String>,
}

/// The help of a command, and those of its subcommands.
fn helps(words: &[&str], into: &mut Vec<Help>) {
    let text = roster(&[words, &["--help"]].concat()).out;
    let lines = text.lines().map(str::trim_start);
    let flags = lines.filter(|line| line.starts_with('-')).filter_map(|line| {
        let long = line.split_whitespace().find(|word| word.starts_with("--"))?;
        Some(long.trim_end_matches([',', '.']).to_owned())
    });
    let flags = flags.filter(|flag| !["--help", "--version"].contains(&flag.as_str())).collect();
    let variables =
        text.split("[env: ").skip(1).map(|rest| rest.split(['=', ']']).next().unwrap().to_owned()).collect();
    into.push(Help { name: words.join(" "), flags, variables });
    let commands = text.split("\nCommands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
    for line in commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap();
        if name != "help" {
            helps(&[words, &[name]].concat(), into);
        }
    }
}

#[test]
fn every_flag_of_every_command_is_in_the_reference() {
    let page = read("docs/reference/cli.md");
    let mut all = Vec::new();
    helps(&[], &mut all);
    let mut missing = Vec::new();
    let mut flags = 0;
    for Help { name, flags: own, variables } in all.iter().filter(|help| !help.name.is_empty()) {
        let section = section(&page, &format!("roster {name}"));
        flags += own.len();
        missing.extend(own.iter().filter(|flag| !has_word(section, flag)).map(|flag| format!("roster {name} {flag}")));
        let lacks = |variable: &&String| !page.contains(&format!("Variable: `{variable}`"));
        missing.extend(variables.iter().filter(lacks).map(|variable| format!("roster {name}: {variable}")));
    }
    assert!(all.len() > 20 && flags > 200, "{} commands, {flags} flags", all.len());
    assert_eq!(missing, [""; 0]);
}

/// Whether a text has a word, and not only a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || "-_".contains(next));
    text.match_indices(word).any(|(at, _)| ends(&text[at + word.len()..]))
}

#[test]
fn every_code_is_in_the_reference() {
    let (reasons, rules) = (read("docs/reference/reasons.md"), read("docs/reference/rules.md"));
    let known: BTreeSet<&str> = all_codes().collect();
    assert!(known.len() > 150, "{}", known.len());
    let pages = format!("{reasons}{rules}");
    let is_there = |code: &str| pages.contains(&format!("`{code}`")) || pages.contains(&format!("# {code}\n"));
    let missing: Vec<_> = known.iter().filter(|code| !is_there(code)).collect();
    assert_eq!(missing, [&""; 0]);
    let missing: Vec<_> = Rule::ALL.iter().filter(|rule| !rules.contains(&format!("`{rule}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The names of the fields below a schema, each with the path to it.
fn fields(schema: &Value, path: &str, into: &mut Vec<String>) {
    for (name, inside) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        fields(inside, &path, into);
        fields(&inside["items"], &path, into);
        into.push(path);
    }
}

#[test]
fn every_field_of_a_policy_is_in_the_reference() {
    let page = read("docs/reference/policies.md");
    let files = roster::deploy::files(&roster::cli::server_permissions());
    let mut documents = files.iter().flat_map(|file| &file.documents);
    let crd = documents.find(|document| document["kind"] == "CustomResourceDefinition").unwrap();
    let versions = crd["spec"]["versions"].as_array().unwrap();
    let newest = versions.iter().find(|version| version["name"] == "v1").unwrap();
    let mut all = Vec::new();
    for part in ["spec", "status"] {
        fields(&newest["schema"]["openAPIV3Schema"]["properties"][part], part, &mut all);
    }
    assert!(all.len() > 25, "{all:?}");
    let is_there = |path: &&String| {
        let name = path.rsplit('.').next().unwrap();
        [format!("{name}:"), format!("`{name}`"), format!(".{name}`")].iter().any(|text| page.contains(text.as_str()))
    };
    assert_eq!(all.iter().filter(|path| !is_there(path)).collect::<Vec<_>>(), [""; 0].iter().collect::<Vec<_>>());
}

#[test]
fn every_call_and_its_parameters_are_in_the_reference() {
    let page = read("docs/reference/rest.md");
    let document: Value = serde_json::from_str(&read("openapi/v1.json")).unwrap();
    let mut missing = Vec::new();
    for (path, calls) in document["paths"].as_object().unwrap() {
        for (method, call) in calls.as_object().unwrap() {
            let begin = format!("| `{} {path}` |", method.to_uppercase());
            let row = page.lines().find(|line| line.starts_with(&begin)).unwrap_or_default();
            let names = call["parameters"].as_array().into_iter().flatten().map(|p| p["name"].as_str().unwrap());
            let lacks: Vec<&str> = names.filter(|name| !row.contains(&format!("`{name}`"))).collect();
            if row.is_empty() || !lacks.is_empty() {
                missing.push(format!("{method} {path} {lacks:?}"));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}

/// The paths of the leaves of values.
fn values(value: &Value, path: &str, into: &mut Vec<String>) {
    match value.as_object().filter(|object| !object.is_empty()) {
        Some(object) => object.iter().for_each(|(name, inside)| {
            values(inside, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, into);
        }),
        None => into.push(path.to_owned()),
    }
}

#[test]
fn every_value_of_the_chart_is_in_the_reference() {
    let page = read("docs/reference/chart.md");
    let chart: Value = serde_saphyr::from_str(&read("charts/roster/values.yaml")).unwrap();
    let mut all = Vec::new();
    values(&chart, "", &mut all);
    assert!(all.len() > 80, "{}", all.len());
    // A map that is given as a whole, such as the resources of a container, has one row.
    let has_row = |path: &str| page.contains(&format!("| `{path}` |"));
    let is_there = |path: &str| has_row(path) || path.match_indices('.').any(|(at, _)| has_row(&path[..at]));
    let missing: Vec<_> = all.iter().filter(|path| !is_there(path)).collect();
    assert_eq!(missing, [""; 0].iter().collect::<Vec<_>>());
}

/// Variables of flags, and those that the program reads by itself.
#[test]
fn every_variable_is_in_the_reference() {
    const PREFIXES: [&str; 4] = ["ROSTER_", "OTEL_", "KUBECONFIG", "NO_COLOR"];
    let pages: String = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut names = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            if path.is_dir() {
                folders.push(path);
            } else if is_source && !path.to_str().unwrap().contains("tests") {
                let text = fs::read_to_string(&path).unwrap();
                let is_name = |part: &&str| part.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                names.extend(text.split('"').filter(is_name).map(str::to_owned));
            }
        }
    }
    names.retain(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
    // It is read when the program is built.
    names.remove("ROSTER_COMMIT");
    assert!(names.len() > 6, "{names:?}");
    let is_there = |name: &&String| ["`", "`$"].iter().any(|begin| pages.contains(&format!("{begin}{name}`")));
    let missing: Vec<_> = names.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
