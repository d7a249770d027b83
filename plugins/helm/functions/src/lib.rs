//! The functions sprig and Helm add to Go templates, one file for each family.
