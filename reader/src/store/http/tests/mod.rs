//! The client against servers written here.
