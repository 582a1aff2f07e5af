//! `hedgerow demo`.
#![allow(dead_code)]
mod axis;
mod chart;
mod pace;
mod picture;
mod plan;
mod random;
mod report;
mod source;
mod table;
mod terminal;
