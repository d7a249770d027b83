//! Random numbers for the crates that make keys.

use std::convert::Infallible;

use helm_template::CallError;
use rand_core::{TryCryptoRng, TryRng};
use sha2::{Digest, Sha256};

use crate::platform::Platform;
use crate::random;

/// SHA-256 of a seed and a counter. The seed is all that has to be had from the platform, so that making a key cannot
/// fail half-way.
pub(super) struct Generator {
    seed: [u8; 32],
    counter: u64,
}

impl Generator {
    pub(super) fn new(platform: &dyn Platform) -> Result<Self, CallError> {
        let seed = random::bytes(platform, 32)?;
        Ok(Self { seed: Sha256::digest(seed).into(), counter: 0 })
    }

    fn block(&mut self) -> [u8; 32] {
        let block = Sha256::new().chain_update(self.seed).chain_update(self.counter.to_be_bytes());
        self.counter += 1;
        block.finalize().into()
    }

    /// So many random bytes.
    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let Ok(()) = self.try_fill_bytes(&mut bytes);
        bytes
    }
}

impl TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.bytes()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.bytes()))
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), Infallible> {
        for chunk in buffer.chunks_mut(32) {
            let block = self.block();
            for (to, from) in chunk.iter_mut().zip(block) {
                *to = from;
            }
        }
        Ok(())
    }
}

impl TryCryptoRng for Generator {}
