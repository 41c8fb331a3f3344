//! Validates the bill of materials by the schema of CycloneDX, which the package `cyclonedx-python-lib` has.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::LIMIT;
use crate::command::capture_within;
use crate::paths;
use crate::release::Release;
use crate::steps::Outcome;

const VALIDATE: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))
";

pub(super) fn check(release: &Release) -> Result<Outcome> {
    let installed = paths::cache().ok().map(|cache| cache.join("venv/bin/python")).filter(|path| path.is_file());
    let python = installed.unwrap_or_else(|| PathBuf::from("python3"));
    if capture_within(Command::new(&python).args(["-c", "import cyclonedx.validation.json, jsonschema"]), LIMIT)
        .is_err()
    {
        return Outcome::missing(
            "the schema of CycloneDX is not installed: pip install 'cyclonedx-python-lib[json-validation]'",
        );
    }
    let file = release.folder.join(release.bill_of_materials());
    capture_within(Command::new(&python).args(["-c", VALIDATE]).arg(file), LIMIT)?;
    Ok(Outcome::Passed)
}
