//! Prints the definition of `Hello`: `cargo run -p hello --example crd > plugins/hello/crd.yaml`.

use kube::CustomResourceExt as _;

fn main() -> Result<(), serde_saphyr::ser_error::Error> {
    print!("{}", serde_saphyr::to_string(&hello::Hello::crd())?);
    Ok(())
}
