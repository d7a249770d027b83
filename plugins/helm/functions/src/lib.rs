//! The functions that sprig 3.3.0 and Helm 4.3.1 add to Go templates, one file for each family.
//!
//! Bodies find their arguments checked and converted by the evaluator (see `helm_template::Signature`). Functions that
//! need the rendering itself — `include`, `tpl`, `required`, `lookup` — belong to the chart's engine.

mod conversion;
mod crypto;
mod dates;
mod defaults;
mod dicts;
mod durations;
mod encoding;
mod lists;
mod math;
mod paths;
mod platform;
mod random;
mod regex;
mod register;
mod runes;
pub mod semver;
mod strings;
mod strval;
mod time;
mod toml;
mod types;
pub mod url;
mod yaml;

use std::rc::Rc;

use helm_template::Functions;

pub use self::platform::{Platform, SystemPlatform};
pub use self::regex::check as check_regex;
pub use self::time::check as check_time;
pub use self::url::check as check_url;

/// Every function, by the name templates call it, with the platform's clock and random numbers.
pub fn functions() -> Functions {
    let platform: Rc<dyn Platform> = Rc::new(SystemPlatform::default());
    functions_on(&platform)
}

/// Every function, with a clock and random numbers of the caller's.
pub fn functions_on(platform: &Rc<dyn Platform>) -> Functions {
    let mut all = register::Register::default();
    conversion::register(&mut all);
    crypto::register(&mut all, platform);
    dates::register(&mut all, platform);
    defaults::register(&mut all);
    dicts::register(&mut all);
    durations::register(&mut all);
    encoding::register(&mut all);
    lists::register(&mut all);
    math::register(&mut all, platform);
    paths::register(&mut all);
    random::register(&mut all, platform);
    regex::register(&mut all);
    semver::register(&mut all);
    strings::register(&mut all);
    toml::register(&mut all);
    types::register(&mut all);
    url::register(&mut all);
    yaml::register(&mut all);
    all.into_functions()
}
