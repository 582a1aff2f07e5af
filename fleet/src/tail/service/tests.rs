use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::super::tilt::Tilt;
use super::{MOST_BINS, Service, ServiceError, ServiceLaw};

fn laws() -> Vec<Service> {
    [
        Service::exponential(2.0),
        Service::shifted_exponential(0.6, 1.4),
        Service::shifted_exponential(9.0, 0.1),
        Service::gamma(0.3, 3.0),
        Service::gamma(2.0, 1.0),
        Service::gamma(500.0, 0.5),
        Service::histogram(&[(0.5, 10), (1.0, 20), (1.5, 0), (9.0, 1)]),
        Service::pareto(1.0, 1.2),
        Service::pareto(0.5, 2.0),
        Service::pareto(3.0, 3.0),
        Service::pareto(3.0, 3.000_001),
        Service::pareto(2.0, 12.0),
    ]
    .into_iter()
    .map(Result::unwrap)
    .collect()
}

fn close(is: f64, should: f64, relative: f64, what: &str) {
    assert!((is - should).abs() <= relative * should.abs(), "{what}: {is:e} for {should:e}");
}

#[test]
fn moments_are_those_of_the_laws() {
    let moments = |service: Result<Service, ServiceError>| {
        let service = service.unwrap();
        (service.mean(), service.second_moment())
    };
    assert_eq!(moments(Service::exponential(2.0)), (2.0, 8.0));
    assert_eq!(moments(Service::shifted_exponential(1.0, 2.0)), (3.0, 13.0));
    assert_eq!(moments(Service::gamma(2.0, 4.0)), (4.0, 24.0));
    assert_eq!(moments(Service::pareto(2.0, 3.0)), (3.0, 12.0));
    assert_eq!(moments(Service::pareto(1.0, 1.5)), (3.0, f64::INFINITY));
    assert_eq!(moments(Service::pareto(1.0, 2.0)), (2.0, f64::INFINITY));
    assert_eq!(moments(Service::histogram(&[(1.0, 3), (5.0, 1)])), (2.0, 7.0));
}

#[test]
fn the_excess_is_the_generating_function_s_and_near_nought_its_series() {
    for law in laws() {
        let scale = 1.0 / law.mean();
        for t in [-30.0, -3.0, -0.4, -0.03, 0.01, 0.1, 0.25] {
            let t = t * scale;
            if t > 0.0 && t >= law.mgf_end() {
                assert_eq!((law.excess(t), law.log_mgf(t)), (f64::INFINITY, f64::INFINITY));
                continue;
            }
            let (is, should) = (1.0 + t * law.excess(t), libm::exp(law.log_mgf(t)));
            assert!((is - should).abs() < 1e-13 + 1e-11 * should, "{law:?} at {t}: {is} for {should}");
            if t < 0.0 {
                let deficit = law.mean() - law.excess(t);
                close(law.deficit(-t), deficit, 1e-9, &format!("{law:?} at {t}"));
            }
        }
        assert_eq!(law.excess(0.0), law.mean());
        if law.second_moment() < f64::INFINITY {
            for t in [-1e-7, -1e-10, 1e-10, 1e-13] {
                let t = t * scale;
                if t < law.mgf_end() {
                    let should = law.mean() + 0.5 * t * law.second_moment();
                    // With index 3 the next term has a logarithm.
                    close(law.excess(t), should, 1e-11, &format!("{law:?} at {t}"));
                }
                if t < 0.0 {
                    close(law.deficit(-t), -0.5 * t * law.second_moment(), 1e-4, &format!("{law:?} at {t}"));
                }
            }
        }
    }
}

#[test]
fn what_the_search_knows_are_derivatives() {
    for law in laws().into_iter().filter(|law| law.mgf_end() > 0.0) {
        let end = law.mgf_end().min(20.0 / law.mean());
        for step in 0..60 {
            let t = end * 0.9 * libm::pow(0.8, f64::from(step));
            let by = 1e-4 * t.min(end - t).min(0.1 / law.mean());
            let [low, here, high] = [t - by, t, t + by].map(|t| law.tilt(t));
            let what = format!("{law:?} at {t}");
            close(here.excess, law.excess(t), 1e-12, &what);
            let values: [fn(&Tilt) -> f64; 3] = [|at| at.excess, |at| at.excess_slope, |at| at.mean];
            for (of, slope) in values.into_iter().zip([here.excess_slope, here.excess_bend, here.variance]) {
                let part = (of(&high) - of(&low)) / (2.0 * by);
                // The difference of nearly equals is no better.
                let lost = 1e-6 * slope + 4e-15 * of(&here) / by;
                assert!((part - slope).abs() <= lost, "{what}: {part:e} for {slope:e}");
            }
            let mean = (law.log_mgf(t + by) - law.log_mgf(t - by)) / (2.0 * by);
            close(mean, here.mean, 1e-6 + 1e-15 / (by * here.mean), &what);
        }
    }
}

#[test]
fn a_law_is_told_by_the_numbers_it_was_made_of() {
    let law = Service::shifted_exponential(0.25, 4.0).unwrap();
    assert_eq!(law.law(), ServiceLaw::ShiftedExponential { shift: 0.25, mean: 4.0 });
    assert_eq!(Service::gamma(3.0, 0.5).unwrap().law(), ServiceLaw::Gamma { shape: 3.0, mean: 0.5 });
    assert_eq!(Service::pareto(3.0, 1.5).unwrap().law(), ServiceLaw::Pareto { least: 3.0, index: 1.5 });
    let law = Service::histogram(&[(1.0, 3), (2.0, 0), (5.0, 1)]).unwrap();
    assert_eq!(law.law(), ServiceLaw::Histogram { bins: &[(1.0, 0.75), (5.0, 0.25)] });
}

#[test]
fn a_slowed_law_has_all_times_longer_and_its_chances_unchanged() {
    for law in laws() {
        let slowed = law.slowed(4.0).unwrap();
        close(slowed.mean(), 4.0 * law.mean(), 1e-14, "mean");
        if law.second_moment() < f64::INFINITY {
            close(slowed.second_moment(), 16.0 * law.second_moment(), 1e-14, "second moment");
        }
        let t = -0.3 / law.mean();
        close(slowed.log_mgf(t / 4.0), law.log_mgf(t), 1e-13, &format!("{law:?}"));
        assert_eq!(law.slowed(1.0).unwrap().mean(), law.mean());
    }
}

#[test]
fn what_is_no_law_is_refused_with_its_name_and_number() {
    let refused = |service: Result<Service, ServiceError>| service.unwrap_err().to_string();
    let name =
        |law: &str, what: &str, value: &str| format!("{law}: the {what} is {value}, but must be from ");
    for (value, shown) in [
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (0.0, "0.0"),
        (-2.5, "-2.5"),
        (1e16, "1e16"),
        (1e-16, "1e-16"),
    ] {
        let said = [
            (Service::exponential(value), name("an exponential law", "mean", shown)),
            (
                Service::shifted_exponential(1.0, value),
                name("a shifted exponential law", "mean beyond the shift", shown),
            ),
            (Service::gamma(1.0, value), name("a gamma law", "mean", shown)),
            (Service::gamma(value, 1.0), name("a gamma law", "shape", shown)),
            (Service::pareto(value, 2.0), name("Pareto's law", "least", shown)),
            (Service::pareto(1.0, value), format!("Pareto's law: the index is {shown}, but must be above 1")),
            (
                Service::histogram(&[(0.5, 1), (value, 1)]),
                format!("a histogram: the upper edge of bin 1 is {shown}, but must be from "),
            ),
        ];
        for (service, beginning) in said {
            let text = refused(service);
            assert!(text.starts_with(&beginning), "{text}");
        }
        if value != 0.0 && value != 1e-16 {
            let text = refused(Service::shifted_exponential(value, 1.0));
            assert!(text.starts_with(&name("a shifted exponential law", "shift", shown)), "{text}");
        }
        if value != 1e16 && value != 1e-16 {
            let text = refused(Service::exponential(1.0).unwrap().slowed(value));
            assert!(text.starts_with(&name("a law made slower", "factor", shown)), "{text}");
        }
    }
    assert_eq!(
        refused(Service::pareto(1.0, 1.0)),
        "Pareto's law: the index is 1.0, but must be above 1 (or the mean is infinite) and at most 100"
    );
    assert_eq!(refused(Service::histogram(&[])), "a histogram without bins");
    assert_eq!(refused(Service::histogram(&[(1.0, 0), (2.0, 0)])), "a histogram: all its 2 counts are 0");
    let rising = "a histogram: the upper edge of bin 2 is 2.0, but must be above 3.0, that of the bin before";
    assert_eq!(refused(Service::histogram(&[(1.0, 1), (3.0, 1), (2.0, 1)])), rising);
    let equal = "a histogram: the upper edge of bin 1 is 1.0, but must be above 1.0, that of the bin before";
    assert_eq!(refused(Service::histogram(&[(1.0, 1), (1.0, 1)])), equal);
    let bins: Vec<_> = (1..=1_025).map(|bin| (f64::from(bin), 1)).collect();
    assert_eq!(
        refused(Service::histogram(&bins)),
        "a histogram of 1025 bins; no more than 1024 are possible"
    );
    assert!(Service::histogram(&bins[..MOST_BINS]).is_ok());
    // Counts whose sum does not fit into 64 bits are no fault.
    let full = Service::histogram(&[(1.0, u64::MAX), (3.0, u64::MAX)]).unwrap();
    assert_eq!(full.mean(), 2.0);
    let law = Service::histogram(&[(1.0, 1), (1e14, 1)]).unwrap();
    assert!(
        law.slowed(100.0)
            .unwrap_err()
            .to_string()
            .starts_with("a histogram: the upper edge of bin 1 is 1e16")
    );
}
