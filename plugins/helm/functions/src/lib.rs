//! The functions that sprig 3.3.0 and Helm 4.3.1 add to Go templates, one file for each family.
//!
//! Bodies find their arguments checked and converted by the evaluator (see `helm_template::Signature`). Functions that
//! need the rendering itself — `include`, `tpl`, `required`, `lookup` — belong to the chart's engine.

mod conversion;
mod defaults;
mod dicts;
mod encoding;
mod lists;
mod math;
mod paths;
mod regex;
mod register;
pub mod semver;
mod strings;
mod strval;
mod types;
mod yaml;

use helm_template::Functions;

/// Every function, by the name templates call it.
pub fn functions() -> Functions {
    let mut all = register::Register::default();
    conversion::register(&mut all);
    defaults::register(&mut all);
    dicts::register(&mut all);
    encoding::register(&mut all);
    lists::register(&mut all);
    math::register(&mut all);
    paths::register(&mut all);
    regex::register(&mut all);
    semver::register(&mut all);
    strings::register(&mut all);
    types::register(&mut all);
    yaml::register(&mut all);
    all.into_functions()
}
