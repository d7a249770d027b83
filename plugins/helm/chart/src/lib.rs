//! Charts, dependencies, values, schema, capabilities, rendering and ordering.
