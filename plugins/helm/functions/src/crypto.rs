//! Keys, certificates, passwords and ciphers (sprig's crypto.go).

mod certificate;
mod cipher;
mod der;
mod elliptic;
mod functions;
mod generator;
mod key;
mod lattice;
mod password;
mod pem;
mod pkcs8;

pub(crate) use self::functions::register;
