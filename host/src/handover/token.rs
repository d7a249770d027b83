//! Tokens: random, and compared in a time that tells nothing of them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

/// Random bytes of a token.
const SECRET: usize = 32;
/// Random bytes of an address, which is no secret.
const PUBLIC: usize = 12;

/// The machine has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this machine has no random numbers")]
pub struct NoRandom;

/// What lets whoever has it come to one object.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// [`NoRandom`].
    pub fn new() -> Result<Self, NoRandom> {
        random::<SECRET>().map(Self)
    }

    /// For the Secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a request's `Authorization` carries it.
    pub fn is_in(&self, authorization: Option<&[u8]>) -> bool {
        let given = authorization.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The last part of an address that nobody else has.
///
/// # Errors
/// [`NoRandom`].
pub fn address() -> Result<String, NoRandom> {
    random::<PUBLIC>()
}

fn random<const N: usize>() -> Result<String, NoRandom> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| NoRandom)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_all_of_it_and_never_shown() {
        let token = Token::new().unwrap();
        let header = |text: &str| token.is_in(Some(format!("Bearer {text}").as_bytes()));
        let whole = token.reveal().to_owned();
        assert!(header(&whole) && whole.len() == 43);
        assert!(!header(&whole[1..]) && !header("") && !header(&format!("{whole}x")));
        assert!(!token.is_in(None) && !token.is_in(Some(whole.as_bytes())));
        assert!(!header(Token::new().unwrap().reveal()));
        assert!(!format!("{token:?}").contains(&whole));
    }
}
