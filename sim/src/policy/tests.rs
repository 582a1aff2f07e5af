//! What names of policies mean.

use hedge_core::Value;
use proptest::prelude::*;

use super::*;

fn config(name: &str) -> Config {
    match Policy::named(name).unwrap().kind {
        Kind::Core(config) => *config,
        other => panic!("{name}: {other:?}"),
    }
}

fn text(config: &Config, name: &str) -> String {
    config.get(name).map_or_else(String::new, |value| value.to_string())
}

#[test]
fn each_name_sets_what_it_says() {
    for (name, key, value) in [
        ("default", "threshold.millis", "adaptive"),
        ("hubspot-250", "threshold.millis", "250"),
        ("hubspot-250", "connect.counts", "true"),
        ("hubspot-250", "max.impaired.nodes", "2"),
        ("hubspot-80-transfer-only", "connect.counts", "false"),
        ("hubspot-80-transfer-only", "retry.floor.millis", "80"),
        ("replicated-250", "connect.counts", "true"),
        ("fixed-50", "threshold.millis", "50"),
        ("fixed-0.5", "threshold.millis", "0.5"),
        ("fixed-50", "spare", "2"),
        ("default-target-0.7%", "threshold.spend.target.ppm", "7000"),
        ("default-target-0.7%", "budget.share.ppm", "35000"),
        ("p99x3", "threshold.factor.milli", "3000"),
        ("p99x3", "threshold.quantile.ppm", "990000"),
        ("p99.9x1.5", "threshold.quantile.ppm", "999000"),
        ("default-no-spare", "spare", "0"),
        ("default-no-budget", "budget.share.ppm", "off"),
        ("default-no-alone", "budget.alone.cells", "0"),
        ("default-no-breaker", "max.impaired.nodes", "65535"),
        ("default-no-usefulness", "useful.outcomes", "off"),
        ("default-no-demotion", "health.demote", "false"),
        ("default-no-hedge-leg-clock", "threshold.hedge.legs.at.quantile", "false"),
        ("default-no-suspect-clock", "threshold.suspects.at.quantile", "false"),
        ("default-no-adaptive", "threshold.millis", "250"),
    ] {
        assert_eq!(text(&config(name), key), value, "{name}");
    }
    assert_eq!(config("default"), Config::default());
    assert_eq!(Policy::named("replicated-250").unwrap().code, Some(REPLICAS));
    assert_eq!(Policy::named("eager-1").unwrap().eager, 1);
    assert_eq!(Policy::named("none").unwrap().kind, Kind::None);
    assert_eq!(Policy::named("finagle-1%").unwrap().kind, Kind::Backup { share: 0.01 });
    assert!(matches!(Policy::named("tower-p95").unwrap().kind, Kind::Quantile { quantile: 0.95, .. }));
}

#[test]
fn every_part_can_be_left_out_and_makes_a_difference() {
    for (part, _) in Policy::parts() {
        let name = format!("default-no-{part}");
        let policy = Policy::named(&name).unwrap();
        assert_eq!(policy.name, name);
        assert_ne!(config(&name), Config::default(), "{name}");
    }
}

#[test]
fn what_is_no_policy_is_refused_with_the_reason() {
    for (name, why) in [
        ("", "there is no policy"),
        ("Default", "there is no policy"),
        ("hubspot", "there is no policy"),
        ("hubspot-", "milliseconds above 0"),
        ("hubspot-0", "milliseconds above 0"),
        ("fixed--1", "can't be negative"),
        ("fixed-1e3", "milliseconds above 0"),
        ("fixed-99999999999999999999", "milliseconds above 0"),
        ("default-no-brain", "no part \"brain\""),
        ("default-target-0.7", "a percentage"),
        ("default-target-0%", "threshold.spend.target.ppm must be 1 to 1000000: it is 0"),
        ("default-target-101%", "threshold.spend.target.ppm must be 1 to 1000000: it is 1010000"),
        ("p100x1", "threshold.quantile.ppm must be 0 to 999999"),
        ("p99x0", "threshold.factor.milli must be"),
        ("p99x", "a factor"),
        ("eager-0", "1 to 8"),
        ("eager-300", "1 to 8"),
        ("tower-p100", "below 100"),
        ("finagle-0%", "above 0"),
        ("finagle-100%", "below 100"),
    ] {
        let error = Policy::named(name).unwrap_err().to_string();
        assert!(error.contains(why), "{name}: {error}");
        assert!(error.contains(name), "{name}: {error}");
    }
}

#[test]
fn values_of_the_governor_are_set_on_top_of_a_named_policy() {
    let base = Policy::named("eager-2").unwrap();
    let mine = base.with("mine", "my own", [("spare", "2"), ("budget.share.ppm", "1000")]).unwrap();
    assert_eq!((&mine.name[..], &mine.about[..], mine.eager), ("mine", "my own", 2));
    let Kind::Core(config) = &mine.kind else { panic!("{mine:?}") };
    assert_eq!(config.get("budget.share.ppm"), Some(Value::Number(1_000)));

    let error = base.with("mine", "", [("spare", "65")]).unwrap_err().to_string();
    assert_eq!(error, "policy \"mine\": spare must be 0 to 64: it is 65");
    let none = Policy::named("none").unwrap();
    let error = none.with("mine", "", [("spare", "2")]).unwrap_err().to_string();
    assert!(error.contains("none has no governor"), "{error}");
    assert_eq!(none.with("other", "", []).unwrap().kind, Kind::None);
}

#[test]
fn decimals_are_exact() {
    let numbers =
        [("0.7", 4, 7_000), ("99.99", 4, 999_900), ("3", 3, 3_000), ("1.050", 3, 1_050), ("0", 4, 0)];
    for (text, digits, number) in numbers {
        assert_eq!(scaled(text, digits), Some(number), "{text}");
    }
    for text in ["", ".5", "5.", "-1", "+1", "1e3", "1.00001", "1.2.3", "9999999999", "١"] {
        assert_eq!(scaled(text, 4), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_policy_of_that_name_or_an_error(text in "[a-z0-9.%-]{0,24}|\\PC{0,12}") {
        match Policy::named(&text) {
            Ok(policy) => prop_assert_eq!(policy.name, text),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_number_of_any_form_makes_a_valid_configuration_or_an_error(
        form in prop::sample::select(vec!["hubspot-{}", "hubspot-{}-transfer-only", "fixed-{}", "replicated-{}", "default-target-{}%", "p{}x2", "p99x{}", "tower-p{}", "finagle-{}%"]),
        number in "[0-9]{1,12}(\\.[0-9]{1,7})?",
    ) {
        if let Ok(Policy { kind: Kind::Core(config), .. }) = Policy::named(&form.replace("{}", &number)) {
            prop_assert_eq!(config.check(), Ok(()));
        }
    }
}
