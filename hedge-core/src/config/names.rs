//! A configuration read from names and values, and written as such.

use core::iter::FusedIterator;

use super::error::ConfigError;
use super::keys::{self, KEYS, Key, OFF, Place};
use super::value::{Excerpt, Value};
use super::{Config, Record};

/// Names of HubSpot's client that have nothing to act on here.
const EXECUTORS_OWN: [&str; 3] = ["quiesce.timeout.millis", "reload.interval.millis", "reload.resources"];

impl Config {
    /// What may stand before every name: the prefix of the published keys of HubSpot's client.
    pub const PREFIX: &str = "dfs.client.hubspot.striped.read.hedge.";

    /// Sets one name of the [table](Config#names), with or without [`PREFIX`](Config::PREFIX).
    ///
    /// The whole is checked, so a value that goes with another one may have to be set after it, or with it
    /// by [`set_all`](Config::set_all).
    ///
    /// ```
    /// use hedge_core::{Config, Span, Threshold};
    ///
    /// let mut config = Config::default();
    /// config.set("dfs.client.hubspot.striped.read.hedge.threshold.millis", "250").unwrap();
    /// assert_eq!(config.threshold, Threshold::Fixed(Span::from_millis(250)));
    ///
    /// let error = config.set("cooldown.millis", "-1").unwrap_err();
    /// assert_eq!(error.to_string(), "cooldown.millis can't be negative: it is -1");
    /// ```
    ///
    /// # Errors
    ///
    /// The name is unknown, the text is not a value of it, or the whole would break a rule of
    /// [`check`](Config::check). The configuration is then as it was.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let mut copy = *self;
        copy.put(&KEYS[resolve(name)?], value)?;
        copy.check()?;
        *self = copy;
        Ok(())
    }

    /// Sets many names together: the order does not matter, and only the outcome is checked. Names that are not
    /// among them stay as they are.
    ///
    /// ```
    /// use hedge_core::Config;
    ///
    /// let mut config = Config::default();
    /// config.set_all([("threshold.floor.millis", "3000"), ("threshold.ceiling.millis", "4000")]).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As [`set`](Config::set), or a name occurs twice. The configuration is then as it was.
    pub fn set_all<'a, I>(&mut self, pairs: I) -> Result<(), ConfigError>
    where
        I: IntoIterator<Item = (&'a str, &'a str), IntoIter: Clone>,
    {
        const { assert!(KEYS.len() <= u64::BITS as usize) };
        let pairs = pairs.into_iter();
        let mut seen = 0u64;
        for (name, _) in pairs.clone() {
            let index = resolve(name)?;
            if seen >> index & 1 == 1 {
                return Err(ConfigError::Twice { name: KEYS[index].name });
            }
            seen |= 1 << index;
        }
        // A part must be there before its values are: first what makes parts, whole before part.
        let mut copy = *self;
        for turn in [Some(0), Some(1), None] {
            for (name, value) in pairs.clone() {
                let key = &KEYS[resolve(name)?];
                if key.switch.as_ref().map(|switch| switch.depth) == turn {
                    copy.put(key, value)?;
                }
            }
        }
        copy.check()?;
        *self = copy;
        Ok(())
    }

    /// The value of a name, with or without [`PREFIX`](Config::PREFIX); `None` if there is no such name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        resolve(name).ok().map(|index| KEYS[index].value(self))
    }

    /// All names, without prefix, and their values, in the order of the [table](Config#names).
    /// [`set_all`](Config::set_all) makes the same configuration of them, whatever it was before.
    #[must_use]
    pub const fn pairs(&self) -> Pairs<'_> {
        Pairs { config: self, next: 0 }
    }

    fn put(&mut self, key: &Key, text: &str) -> Result<(), ConfigError> {
        let text = text.trim_ascii();
        let not_a_value = ConfigError::NotAValue { name: key.name, text: Excerpt::of(text) };
        if text == OFF && key.value(self) == Value::Off {
            return Ok(());
        }
        let done = match (&key.switch, &key.place) {
            (Some(switch), _) if text == switch.word => {
                (switch.turn)(self, false);
                key.number(self).is_none() && key.value(self) == switch.value()
            }
            (_, Place::Flag(at)) => {
                let flag = text.parse().map_err(|_| not_a_value)?;
                at(self).map(|place| *place = flag).is_some()
            }
            (_, Place::Record(at)) => {
                let record = [Record::Always, Record::WhenGranted].into_iter().find(|r| r.word() == text);
                let record = record.ok_or(not_a_value)?;
                at(self).map(|place| *place = record).is_some()
            }
            (switch, _) => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                let number = match key.place {
                    Place::Span(_) => nanos(digits),
                    _ => whole(digits),
                };
                if digits != text && is_decimal(digits) {
                    return Err(ConfigError::Negative { name: key.name, text: Excerpt::of(text) });
                }
                let number = number.filter(|_| digits == text).ok_or(not_a_value)?;
                if let Some(error) = key.out_of_range(number) {
                    return Err(error);
                }
                if let Some(switch) = switch {
                    (switch.turn)(self, true);
                }
                key.write(self, number)
            }
        };
        match key.part.and_then(keys::find) {
            Some(part) if !done => {
                Err(ConfigError::NotApplicable { name: key.name, by: part.name, is: part.value(self) })
            }
            _ if !done => Err(not_a_value),
            _ => Ok(()),
        }
    }
}

/// All names of a [`Config`] and their values: [`Config::pairs`].
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    config: &'a Config,
    next: usize,
}

impl Iterator for Pairs<'_> {
    type Item = (&'static str, Value);

    fn next(&mut self) -> Option<Self::Item> {
        let key = KEYS.get(self.next)?;
        self.next += 1;
        Some((key.name, key.value(self.config)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = KEYS.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Pairs<'_> {}
impl FusedIterator for Pairs<'_> {}

/// The place of a name in the list.
fn resolve(name: &str) -> Result<usize, ConfigError> {
    let bare = name.strip_prefix(Config::PREFIX).unwrap_or(name);
    if let Some(index) = KEYS.iter().position(|key| key.name == bare) {
        return Ok(index);
    }
    match EXECUTORS_OWN.into_iter().find(|own| *own == bare) {
        Some(name) => Err(ConfigError::ExecutorsOwn { name }),
        None => Err(ConfigError::NoSuchName { name: Excerpt::of(bare) }),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_decimal(text: &str) -> bool {
    match text.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(text),
    }
}

fn whole(text: &str) -> Option<u64> {
    // `parse` alone would take a plus sign.
    if is_digits(text) { text.parse().ok() } else { None }
}

/// Nanoseconds of a decimal number of milliseconds.
fn nanos(text: &str) -> Option<u64> {
    let (millis, fraction) = match text.split_once('.') {
        Some((_, fraction)) if fraction.len() > 6 => return None,
        Some((millis, fraction)) => (millis, whole(fraction)? * 10u64.pow(6 - fraction.len() as u32)),
        None => (text, 0),
    };
    whole(millis)?.checked_mul(1_000_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::{String, ToString};
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{Adaptive, Budget, Factor, Health, Impaired, Probes, Span, Threshold, Useful};

    fn text(config: &Config) -> Vec<(&'static str, String)> {
        config.pairs().map(|(name, value)| (name, value.to_string())).collect()
    }

    fn set_all(config: &mut Config, text: &[(&'static str, String)]) -> Result<(), ConfigError> {
        config.set_all(text.iter().map(|(name, value)| (*name, value.as_str())))
    }

    fn refusal(config: &Config, name: &str, value: &str) -> String {
        let mut copy = *config;
        let error = copy.set(name, value).unwrap_err();
        assert_eq!(copy, *config, "{name} = {value}");
        error.to_string()
    }

    #[test]
    fn the_published_keys_are_understood_with_their_prefix_and_without() {
        let mut expected = Config::hubspot(Span::from_millis(250));
        expected.breaker.max_impaired_nodes = 3;
        expected.impaired.window = Span::from_secs(90);
        expected.breaker.cooldown = Span::from_secs(45);
        expected.max_per_second = 50;
        for prefix in ["", "dfs.client.hubspot.striped.read.hedge."] {
            let mut config = Config::hubspot(Span::ZERO);
            config.retry_floor = expected.retry_floor;
            for (name, value) in [
                ("threshold.millis", "250"),
                ("max.impaired.nodes", "3"),
                ("impaired.window.millis", "90000"),
                ("cooldown.millis", "45000"),
                ("max.per.second", "50"),
            ] {
                config.set(&format!("{prefix}{name}"), value).unwrap();
                assert_eq!(config.get(&format!("{prefix}{name}")).unwrap().to_string(), value);
            }
            assert_eq!(config, expected);
        }
    }

    #[test]
    fn a_refusal_names_what_is_wrong_and_changes_nothing() {
        let config = Config::default();
        for (name, value, message) in [
            ("threshold.millis", "-1", "threshold.millis can't be negative: it is -1"),
            ("stall.millis", "-0.5", "stall.millis can't be negative: it is -0.5"),
            ("impaired.window.millis", "0", "impaired.window.millis must be more than 0: it is 0"),
            ("probe.count", "9", "probe.count must be 1 to 8: it is 9"),
            ("probe.count", "0", "probe.count must be 1 to 8: it is 0"),
            ("probe.count", "x", "probe.count must be 1 to 8, or off: it is \"x\""),
            ("spare", "300", "spare must be 0 to 64: it is 300"),
            ("max.per.second", "+5", "max.per.second must be 0 to 4294967295: it is \"+5\""),
            ("max.per.second", "", "max.per.second must be 0 to 4294967295: it is \"\""),
            ("max.per.second", "--5", "max.per.second must be 0 to 4294967295: it is \"--5\""),
            (
                "max.per.second",
                "99999999999999999999",
                "max.per.second must be 0 to 4294967295: it is \"99999999999999999999\"",
            ),
            ("enabled", "yes", "enabled must be true or false: it is \"yes\""),
            ("impaired.record", "never", "impaired.record must be always or when.granted: it is \"never\""),
            ("cooldown.millis", "0.0000001", "cooldown.millis must be more than 0: it is \"0.0000001\""),
            ("cooldown.millis", "1.", "cooldown.millis must be more than 0: it is \"1.\""),
            ("cooldown.millis", "off", "cooldown.millis must be more than 0: it is \"off\""),
            ("threshold.millis", "off", "threshold.millis must be 0 or more, or adaptive: it is \"off\""),
            ("budget.burst.cells", "off", "budget.burst.cells must be 0 to 65535: it is \"off\""),
            (
                "threshold.floor.millis",
                "2000.000001",
                "threshold.floor.millis must be at most threshold.ceiling.millis, which is 2000: it is 2000.000001",
            ),
            ("useful.outcomes", "7", "useful.least.won must be at most useful.outcomes, which is 7: it is 8"),
            (
                "threshold.spend.least.milli",
                "6001",
                "threshold.spend.least.milli must be at most threshold.spend.most.milli, which is 6000: it is 6001",
            ),
            (
                "health.hold.max.millis",
                "29999.5",
                "health.hold.millis must be at most health.hold.max.millis, which is 29999.5: it is 30000",
            ),
            ("threshhold.millis", "1", "there is no configuration name \"threshhold.millis\""),
            ("", "1", "there is no configuration name \"\""),
            (
                "reload.resources",
                "hbase-site.xml",
                "reload.resources concerns the executor of HubSpot's client, which has no counterpart here",
            ),
        ] {
            assert_eq!(refusal(&config, name, value), message);
            assert_eq!(refusal(&config, &format!("{}{name}", Config::PREFIX), value), message);
        }
    }

    #[test]
    fn what_belongs_to_a_part_that_is_off_is_refused_not_lost() {
        let fixed = Config::hubspot(Span::from_millis(250));
        for (name, value, message) in [
            (
                "threshold.floor.millis",
                "5",
                "threshold.floor.millis has no meaning while threshold.millis is 250",
            ),
            (
                "threshold.factor.milli",
                "spend",
                "threshold.factor.milli has no meaning while threshold.millis is 250",
            ),
            (
                "threshold.factor.milli",
                "3000",
                "threshold.factor.milli has no meaning while threshold.millis is 250",
            ),
            (
                "threshold.spend.cells",
                "7",
                "threshold.spend.cells has no meaning while threshold.factor.milli is off",
            ),
            ("budget.burst.cells", "7", "budget.burst.cells has no meaning while budget.share.ppm is off"),
        ] {
            assert_eq!(refusal(&fixed, name, value), message);
        }
        let mut config = Config::default();
        config.set("threshold.factor.milli", "3000").unwrap();
        assert_eq!(
            refusal(&config, "threshold.spend.cells", "7"),
            "threshold.spend.cells has no meaning while threshold.factor.milli is 3000"
        );
    }

    #[test]
    fn parts_go_and_come_back_with_their_defaults() {
        let default = Config::default();
        let mut config = default;
        for name in ["budget.share.ppm", "probe.count", "useful.outcomes", "stall.millis"] {
            config.set(name, "off").unwrap();
            assert_eq!(config.get(name), Some(Value::Off));
        }
        assert_eq!((config.budget, config.breaker.probes, config.breaker.useful), (None, None, None));
        for name in ["budget.burst.cells", "probe.lease.millis", "useful.least.won"] {
            assert_eq!(config.get(name), Some(Value::Off));
            config.set(name, "off").unwrap();
        }
        config.set("threshold.millis", "250").unwrap();
        config.set("threshold.millis", "adaptive").unwrap();
        config.set("budget.share.ppm", "5000").unwrap();
        config.set("probe.count", "4").unwrap();
        config.set("useful.outcomes", "32").unwrap();
        assert_eq!(config, default);
        config.set("budget.burst.cells", "14").unwrap();
        config.set("budget.share.ppm", "6000").unwrap();
        assert_eq!(
            config.budget,
            Some(Budget { share_ppm: 6_000, burst_cells: 14, ..default.budget.unwrap() })
        );
    }

    #[test]
    fn together_means_in_any_order_and_all_or_nothing() {
        let start = Config::hubspot(Span::from_millis(250));
        let mut config = start;
        let pairs = [
            ("threshold.spend.cells", "14"),
            ("threshold.floor.millis", " 3000\n"),
            ("threshold.factor.milli", "spend"),
            ("threshold.ceiling.millis", "4000"),
            ("budget.burst.cells", "14"),
            ("threshold.millis", "adaptive"),
            ("budget.share.ppm", "1000"),
        ];
        config.set_all(pairs).unwrap();
        let mut other = start;
        other.set_all(pairs.into_iter().rev()).unwrap();
        assert_eq!(config, other);
        assert_eq!(config.get("threshold.spend.cells"), Some(Value::Number(14)));
        assert_eq!(config.get("budget.burst.cells"), Some(Value::Number(14)));

        let twice = [("spare", "1"), (&*format!("{}spare", Config::PREFIX), "2")];
        assert_eq!(config.set_all(twice), Err(ConfigError::Twice { name: "spare" }));
        let second = config.set_all([("spare", "3"), ("cooldown.millis", "0")]).unwrap_err();
        assert_eq!(second.to_string(), "cooldown.millis must be more than 0: it is 0");
        assert_eq!(config, other);
    }

    #[test]
    fn the_ends_of_each_range_are_allowed_and_the_next_numbers_are_not() {
        let mut wide = Config::default();
        wide.set_all([
            ("threshold.floor.millis", "0"),
            ("threshold.ceiling.millis", "18446744073709.551615"),
            ("threshold.spend.least.milli", "1"),
            ("threshold.spend.most.milli", "1000000"),
            ("useful.least.won", "0"),
            ("useful.outcomes", "64"),
            ("health.hold.millis", "0.000001"),
            ("health.hold.max.millis", "18446744073709.551615"),
        ])
        .unwrap();
        let mut numbers = 0;
        for key in &KEYS {
            if matches!(key.place, Place::Flag(_) | Place::Record(_)) {
                continue;
            }
            numbers += 1;
            for end in [key.least, key.most] {
                let mut config = wide;
                config.set(key.name, &key.value_of(end).to_string()).unwrap();
                assert_eq!(key.number(&config), Some(end), "{}", key.name);
            }
            for beyond in [key.least.checked_sub(1), key.most.checked_add(1)].into_iter().flatten() {
                let mut config = wide;
                if let Some(switch) = &key.switch {
                    (switch.turn)(&mut config, true);
                }
                let expected = key.out_of_range(beyond).unwrap();
                assert_eq!(wide.set(key.name, &key.value_of(beyond).to_string()), Err(expected));
                if key.write(&mut config, beyond) {
                    assert_eq!(config.check(), Err(expected));
                }
            }
        }
        assert_eq!(numbers, 40);
    }

    #[test]
    fn the_documented_table_is_the_list() {
        let mut table = String::from("| name | values | default | |\n|---|---|---|---|\n");
        for (key, (name, value)) in KEYS.iter().zip(Config::default().pairs()) {
            let (takes, meaning) = (key.takes(), key.meaning);
            table += &format!("| `{name}` | {takes} | {value} | {meaning} |\n");
        }
        let documented = include_str!("names.md");
        assert!(documented.ends_with(&table), "names.md should end with:\n{table}");
    }

    prop_compose! {
        fn any_span(least: u64)(nanos in prop_oneof![
            (0..100_000u64).prop_map(|millis| millis * 1_000_000),
            any::<u64>(),
            Just(u64::MAX),
        ]) -> Span {
            Span::from_nanos(nanos.max(least))
        }
    }

    fn any_factor() -> impl Strategy<Value = Factor> {
        let milli = || 1..=1_000_000u32;
        prop_oneof![
            milli().prop_map(|milli| Factor::Fixed { milli }),
            (milli(), 1..=64u8, milli(), milli(), milli()).prop_map(|(target_ppm, cells, a, b, c)| {
                Factor::Spend {
                    target_ppm,
                    cells,
                    least_milli: a.min(b),
                    most_milli: a.max(b),
                    until_known_milli: c,
                }
            }),
        ]
    }

    fn any_threshold() -> impl Strategy<Value = Threshold> {
        let spans = (any_span(1), any_span(1), any_span(1));
        let adaptive = (0..1_000_000u32, any_factor(), spans, any::<[bool; 2]>());
        prop_oneof![
            any_span(0).prop_map(Threshold::Fixed),
            adaptive.prop_map(|(quantile_ppm, factor, (a, b, until_known), [hedge, suspects])| {
                Threshold::Adaptive(Adaptive {
                    quantile_ppm,
                    factor,
                    floor: a.min(b),
                    ceiling: a.max(b),
                    until_known,
                    hedge_legs_at_quantile: hedge,
                    suspects_at_quantile: suspects,
                })
            }),
        ]
    }

    prop_compose! {
        fn any_health()(
            window in any_span(1), limit: u16, slow_leg in any_span(1), slow_connect in any_span(1), demote: bool,
            max_demoted_percent in 0..=100u8, probe_every in 1..=u16::MAX, a in any_span(1), b in any_span(1),
        ) -> Health {
            let (hold, hold_max) = (a.min(b), a.max(b));
            Health {
                window, limit, slow_leg, slow_connect, demote, max_demoted_percent, probe_every, hold, hold_max,
            }
        }
    }

    prop_compose! {
        fn any_impaired()(
            window in any_span(1), legs in 1..=u16::MAX, share_percent in 0..=99u8, granted: bool,
        ) -> Impaired {
            let record = if granted { Record::WhenGranted } else { Record::Always };
            Impaired { window, legs, share_percent, record }
        }
    }

    prop_compose! {
        fn any_breaking()(
            max_impaired_nodes: u16, max_impaired_percent in 0..=100u8, cooldown in any_span(1),
            probes in proptest::option::of((1..=8u8, any_span(1))),
            useful in proptest::option::of((1..=64u8, 0..=64u8, any::<u32>())),
        ) -> crate::Breaking {
            crate::Breaking {
                max_impaired_nodes,
                max_impaired_percent,
                cooldown,
                probes: probes.map(|(count, lease)| Probes { count, lease }),
                useful: useful.map(|(outcomes, won, spend_ppm)| {
                    Useful { outcomes, least_won: won.min(outcomes), spend_ppm }
                }),
            }
        }
    }

    prop_compose! {
        fn any_budget()(
            share_ppm in 0..=1_000_000u32, burst_cells: u16, burst_span in any_span(0), alone_cells: u16, alone_span in any_span(0),
            gross_percent: u16,
        ) -> Budget {
            Budget { share_ppm, burst_cells, burst_span, alone_cells, alone_span, gross_percent }
        }
    }

    prop_compose! {
        fn any_config()(
            [enabled, dry_run, connect_counts] in any::<[bool; 3]>(), threshold in any_threshold(),
            stall in proptest::option::of(any_span(1)), spare in 0..=64u8, retry_floor in any_span(1),
            impaired in any_impaired(), breaker in any_breaking(), max_per_second: u32,
            budget in proptest::option::of(any_budget()), health in any_health(),
        ) -> Config {
            Config {
                enabled, dry_run, threshold, stall, connect_counts, spare, retry_floor, impaired, breaker,
                max_per_second, budget, health,
            }
        }
    }

    fn any_name() -> impl Strategy<Value = String> {
        prop_oneof![
            8 => (0..KEYS.len()).prop_map(|index| KEYS[index].name.to_string()),
            1 => (0..KEYS.len()).prop_map(|index| Config::PREFIX.to_string() + KEYS[index].name),
            1 => any::<String>(),
        ]
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            any_config().prop_flat_map(|config| {
                (0..KEYS.len()).prop_map(move |index| KEYS[index].value(&config).to_string())
            }),
            (0..=130u32).prop_map(|number| number.to_string()),
            "[-+]?[0-9]{0,22}(\\.[0-9]{0,8})?",
            any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 512 }, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_back_whatever_was_there(config in any_config(), mut other in any_config(), by in 0..KEYS.len()) {
            prop_assert_eq!(config.check(), Ok(()));
            let mut pairs = text(&config);
            prop_assert_eq!(pairs.len(), config.pairs().len());
            pairs.rotate_left(by);
            set_all(&mut other, &pairs).unwrap();
            prop_assert_eq!(other, config);
            for (name, value) in &pairs {
                other.set(name, value).unwrap();
            }
            prop_assert_eq!(other, config);
        }

        #[test]
        fn no_name_and_no_text_makes_an_invalid_configuration(
            mut config in any_config(),
            pairs in proptest::collection::vec((any_name(), any_text()), 1..8),
        ) {
            for (name, value) in &pairs {
                let before = config;
                match config.set(name, value) {
                    Ok(()) => {
                        let read = config.get(name).unwrap().to_string();
                        let mut again = before;
                        again.set(name, &read).unwrap();
                        prop_assert_eq!(again, config);
                    }
                    Err(error) => {
                        prop_assert!(!error.to_string().is_empty());
                        prop_assert_eq!(config, before);
                    }
                }
                prop_assert_eq!(config.check(), Ok(()));
            }
            let before = config;
            if config.set_all(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))).is_err() {
                prop_assert_eq!(config, before);
            }
            prop_assert_eq!(config.check(), Ok(()));
        }
    }
}
