//! What is wrong with a scenario.

use std::error::Error;
use std::fmt;

use crate::PolicyError;

/// Why a scenario can't be simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenarioError {
    file: Option<String>,
    wrong: Wrong,
}

#[derive(Clone, PartialEq, Debug)]
enum Wrong {
    /// The file's text, at this line and column.
    Text { line: usize, column: usize, what: String },
    /// The value of a key.
    Value { key: String, what: String },
    /// A policy.
    Policy(Box<PolicyError>),
}

impl ScenarioError {
    /// The text has a fault at this offset.
    pub(super) fn text(text: &str, offset: Option<usize>, what: &str) -> Self {
        let before = offset.and_then(|offset| text.get(..offset)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { file: None, wrong: Wrong::Text { line, column, what: what.into() } }
    }

    /// The value of a key is wrong.
    pub(crate) fn at(key: impl Into<String>, what: impl fmt::Display) -> Self {
        Self { file: None, wrong: Wrong::Value { key: key.into(), what: what.to_string() } }
    }

    pub(super) fn policy(error: PolicyError) -> Self {
        Self { file: None, wrong: Wrong::Policy(Box::new(error)) }
    }

    /// The same, inside a table.
    pub(super) fn inside(self, table: &str) -> Self {
        match self.wrong {
            Wrong::Value { key, what } => Self::at(format!("{table}.{key}"), what),
            Wrong::Policy(error) => Self::at(table, error),
            wrong @ Wrong::Text { .. } => Self { wrong, ..self },
        }
    }

    /// The same, in this file.
    pub(super) fn of(self, file: &str) -> Self {
        Self { file: Some(file.into()), ..self }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        match &self.wrong {
            Wrong::Text { line, column, what } => write!(f, "line {line}, column {column}: {what}"),
            Wrong::Value { key, what } => write!(f, "{key}: {what}"),
            Wrong::Policy(error) => write!(f, "{error}"),
        }
    }
}

impl Error for ScenarioError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.wrong {
            Wrong::Policy(error) => error.source(),
            Wrong::Text { .. } | Wrong::Value { .. } => None,
        }
    }
}
