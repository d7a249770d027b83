//! A cluster by hand: `cargo run --example cluster -- up|down NAME`.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments[1].as_str() {
        "up" => {
            let cluster = pilothouse_testbed::Cluster::up(
                &pilothouse_testbed::Options { name: arguments[2].clone(), tied: false },
                &|l| println!("{l}"),
            )?;
            println!("{}", cluster.kubeconfig().display());
        }
        _ => pilothouse_testbed::Cluster::open(&arguments[2])?.down(),
    }
    Ok(())
}
