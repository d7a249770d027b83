//! What the operator has to get out of by itself, each as short as it could be made.

#[cfg(test)]
mod first;
#[cfg(test)]
mod members;
#[cfg(test)]
mod restores;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod versions;
