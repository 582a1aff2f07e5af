use std::vec;
use std::vec::Vec;

use super::super::{Service, mean_sojourn, tail_bound};
use super::{Rest, least, tail_exact};

/// A law by what a recursion over a grid needs: P(X > x), and P(Y > y) of what is left of X when somebody comes in between.
struct Reference {
    service: Service,
    tail: fn(f64) -> f64,
    rest: fn(f64) -> f64,
}

fn references() -> Vec<Reference> {
    fn shifted(x: f64) -> f64 {
        if x < 0.6 { 1.0 } else { libm::exp(-(x - 0.6) / 1.4) }
    }
    fn shifted_rest(y: f64) -> f64 {
        let left = |y: f64| if y < 0.6 { 0.6 - y + 1.4 } else { 1.4 * libm::exp(-(y - 0.6) / 1.4) };
        left(y) / 2.0
    }
    // Shape 1/2, rate 1/2: the square of a standard normal number.
    fn gamma(x: f64) -> f64 {
        libm::erfc(libm::sqrt(0.5 * x))
    }
    fn gamma_rest(y: f64) -> f64 {
        let u = 0.5 * y;
        let above = libm::erfc(libm::sqrt(u)) + 2.0 * libm::sqrt(u / core::f64::consts::PI) * libm::exp(-u);
        above - y * gamma(y)
    }
    fn pareto_15(x: f64) -> f64 {
        if x < 1.0 { 1.0 } else { libm::pow(x, -1.5) }
    }
    fn pareto_15_rest(y: f64) -> f64 {
        if y < 1.0 { 1.0 - y / 3.0 } else { 2.0 * libm::pow(y, -0.5) / 3.0 }
    }
    fn pareto_3(x: f64) -> f64 {
        if x < 1.0 { 1.0 } else { libm::pow(x, -3.0) }
    }
    fn pareto_3_rest(y: f64) -> f64 {
        if y < 1.0 { 1.0 - y / 1.5 } else { libm::pow(y, -2.0) / 3.0 }
    }
    fn bins(x: f64) -> f64 {
        match x {
            x if x < 0.5 => 1.0,
            x if x < 1.0 => 0.75,
            x if x < 4.0 => 0.25,
            _ => 0.0,
        }
    }
    fn bins_rest(y: f64) -> f64 {
        let left = 0.25 * (0.5 - y).max(0.0) + 0.5 * (1.0 - y).max(0.0) + 0.25 * (4.0 - y).max(0.0);
        left / 1.625
    }
    let of = |service: Result<Service, _>, tail, rest| Reference { service: service.unwrap(), tail, rest };
    vec![
        of(Service::shifted_exponential(0.6, 1.4), shifted, shifted_rest),
        of(Service::gamma(0.5, 1.0), gamma, gamma_rest),
        of(Service::pareto(1.0, 1.5), pareto_15, pareto_15_rest),
        of(Service::pareto(1.0, 3.0), pareto_3, pareto_3_rest),
        of(Service::histogram(&[(0.5, 1), (1.0, 2), (4.0, 1)]), bins, bins_rest),
    ]
}

/// The least and the most that P(Q > x) can be, for x = 0, width, 2 width, ...: the wait is a sum of a geometric number of remaining
/// services, each moved down, or up, to a grid; the sum by Panjer's recursion.
fn bracket(law: &Reference, load: f64, width: f64, points: usize) -> (Vec<f64>, Vec<f64>) {
    let grid = |place: usize| width * place as f64;
    let masses: Vec<f64> =
        (0..points).map(|place| (law.rest)(grid(place)) - (law.rest)(grid(place + 1))).collect();
    // Moved up, a mass lies at the end of its cell.
    let waits = |up: bool| {
        let mass = |place: usize| {
            if up { place.checked_sub(1).map_or(0.0, |place| masses[place]) } else { masses[place] }
        };
        let by = 1.0 / (1.0 - load * mass(0));
        let mut waits = vec![(1.0 - load) * by];
        for place in 1..points {
            let sum: f64 = (1..=place).map(|part| mass(part) * waits[place - part]).sum();
            waits.push(load * by * sum);
        }
        waits
    };
    // The wait is on the grid, and so is x: no loss in adding the service.
    let tails = |waits: Vec<f64>| {
        let mut less = 0.0;
        (0..points)
            .map(|place| {
                less += waits[place];
                let waiting: f64 = (0..=place).map(|wait| waits[wait] * (law.tail)(grid(place - wait))).sum();
                waiting + 1.0 - less
            })
            .collect()
    };
    (tails(waits(false)), tails(waits(true)))
}

#[test]
fn a_recursion_over_a_grid_brackets_the_tail() {
    for law in references() {
        for load in [0.3, 0.8] {
            let rate = load / law.service.mean();
            let (width, points) = (0.0125, 1_600);
            let (low, high) = bracket(&law, load, width, points);
            let mut worst = 0.0_f64;
            for place in (1..points).step_by(37) {
                // Beside the jumps of a histogram.
                let x = width * place as f64 + 1e-9;
                let exact = tail_exact(&law.service, rate, x);
                let (low, high) = (low[place], high[place]);
                assert!(
                    exact >= low * (1.0 - 1e-7) && exact <= high * (1.0 + 1e-7),
                    "{:?}, load {load}, x {x}: {exact} outside {low} ..= {high}",
                    law.service
                );
                worst = worst.max((exact / (0.5 * (low + high)) - 1.0).abs());
            }
            assert!(worst < 0.01, "{:?}, load {load}: {worst} off the middle", law.service);
        }
    }
}

fn close(is: f64, should: f64, relative: f64, what: &str) {
    assert!((is - should).abs() <= relative * should.abs(), "{what}: {is:e} for {should:e}");
}

#[test]
fn gamma_of_shape_1_is_exponential_however_deep_the_tail() {
    let gamma = Service::gamma(1.0, 2.0).unwrap();
    let exponential = Service::exponential(2.0).unwrap();
    for load in [0.0, 1e-9, 0.2, 0.7, 0.99] {
        for x in [1e-3, 0.1, 1.0, 7.0, 40.0, 300.0, 1_000.0] {
            let rate = 0.5 * load;
            let should = libm::exp(-(0.5 - rate) * x);
            close(tail_exact(&exponential, rate, x), should, 1e-12, "closed");
            close(tail_exact(&gamma, rate, x), should, 1e-8, &std::format!("load {load}, x {x}"));
        }
    }
}

#[test]
fn gamma_of_shape_2_has_two_exponential_parts() {
    // The transform is (1 - rho) r^2 / (s^2 + (2 r - L) s + r^2 - 2 L r), with two real zeros below.
    let r = 4.0;
    let service = Service::gamma(2.0, 2.0 / r).unwrap();
    for load in [0.05, 0.5, 0.9] {
        let rate = load * r / 2.0;
        let (half, product) = (0.5 * (2.0 * r - rate), r * r - 2.0 * rate * r);
        let root = libm::sqrt(half * half - product);
        let (slow, fast) = (product / (half + root), half + root);
        for x in [0.01, 0.1, 0.5, 2.0, 9.0, 70.0] {
            let should = (fast * libm::exp(-slow * x) - slow * libm::exp(-fast * x)) / (fast - slow);
            close(tail_exact(&service, rate, x), should, 1e-8, &std::format!("load {load}, x {x}"));
        }
    }
}

#[test]
fn with_constant_service_the_wait_is_erlangs() {
    let service = Service::histogram(&[(2.0, 5)]).unwrap();
    for load in [0.1, 0.5, 0.8] {
        let rate = load / 2.0;
        // P(W <= x) = (1 - rho) sum_j (L (2 j - x))^j / j! exp(-L (2 j - x)) over 2 j <= x.
        let waits = |x: f64| {
            let mut sum = 0.0;
            let mut faculty = 1.0;
            for j in 0.. {
                let left = rate * (2.0 * f64::from(j) - x);
                if left > 0.0 {
                    break;
                }
                faculty *= f64::from(j.max(1));
                sum += libm::pow(left, f64::from(j)) / faculty * libm::exp(-left);
            }
            1.0 - (1.0 - load) * sum
        };
        assert_eq!(tail_exact(&service, rate, 1.999_999), 1.0);
        for x in [2.0, 2.001, 2.3, 3.999, 4.0, 4.001, 5.0, 6.0, 7.7, 10.0, 13.0, 16.0] {
            let exact = tail_exact(&service, rate, x);
            let should = waits(x - 2.0);
            assert!(
                (exact - should).abs() <= 1e-8 * should + 2e-7 * load * load,
                "load {load}, x {x}: {exact} for {should}"
            );
        }
    }
}

#[test]
fn without_load_only_the_service_is_left() {
    for law in references() {
        for x in [0.01, 0.4, 0.7, 1.2, 3.0, 20.0] {
            let exact = tail_exact(&law.service, 0.0, x);
            let should = (law.tail)(x);
            assert!(
                (exact - should).abs() <= 1e-8 * should,
                "{:?}, x {x}: {exact} for {should}",
                law.service
            );
            let next = tail_exact(&law.service, 1e-7, x);
            assert!((exact - next).abs() <= 1e-5, "{:?}, x {x}: {exact} and {next}", law.service);
        }
    }
}

#[test]
fn the_tail_never_rises_and_never_passes_the_bound() {
    let extremes = [
        Service::shifted_exponential(5.0, 0.001),
        Service::gamma(0.01, 1.0),
        Service::gamma(1e4, 1.0),
        Service::gamma(300.0, 1.0),
        Service::pareto(1.0, 1.01),
        Service::pareto(1.0, 2.0),
        Service::pareto(1.0, 40.0),
        Service::pareto(1.0, 100.0),
        Service::histogram(&[(1.0, 999), (100.0, 1)]),
    ];
    let services = references().into_iter().map(|law| law.service);
    for service in services.chain(extremes.into_iter().map(Result::unwrap)) {
        for load in [0.0, 1e-6, 0.1, 0.5, 0.9, 0.999] {
            let rate = load / service.mean();
            let mut last = 1.0;
            for step in 0..200 {
                let x = 0.05 * service.mean() * libm::exp(0.05 * f64::from(step));
                let exact = tail_exact(&service, rate, x);
                assert!(
                    (0.0..=last * (1.0 + 1e-6) + 1e-10).contains(&exact),
                    "{service:?}, load {load}, x {x}: {exact:e} after {last:e}"
                );
                last = exact;
                let bound = tail_bound(&service, rate, x).probability;
                assert!(
                    exact <= bound * (1.0 + 1e-6) + 1e-10,
                    "{service:?}, load {load}, x {x}: {exact:e} above {bound:e}"
                );
            }
        }
    }
}

#[test]
fn the_area_under_the_tail_is_the_mean() {
    for law in references() {
        let service = law.service;
        for load in [0.2, 0.7] {
            let rate = load / service.mean();
            let mean = mean_sojourn(&service, rate);
            if mean == f64::INFINITY {
                continue;
            }
            // By the midpoints of cells that grow, up to where nothing is left, or, with Pareto's index 3, 10^-5 of the mean.
            let mut area = 0.0;
            let mut from = 0.0;
            while from < 4e5 {
                let width = 0.005 * (from + 0.5);
                area += width * tail_exact(&service, rate, from + 0.5 * width);
                from += width;
            }
            close(area, mean, 1e-3, &std::format!("{service:?}, load {load}"));
        }
    }
}

#[test]
fn more_terms_change_nothing() {
    let laws = [
        (Service::shifted_exponential(5.0, 0.001), 3e-8),
        (Service::shifted_exponential(5.0, 0.5), 3e-8),
        (Service::shifted_exponential(0.3, 0.7), 1e-10),
        (Service::gamma(0.01, 1.0), 1e-11),
        (Service::gamma(1e4, 1.0), 1e-11),
        (Service::pareto(1.0, 1.01), 1e-11),
        (Service::pareto(1.0, 1.5), 1e-7),
        (Service::pareto(1.0, 10.0), 1e-6),
        (Service::pareto(1.0, 100.0), 1e-6),
        (Service::histogram(&[(1.0, 999), (100.0, 1)]), 1e-7),
        (Service::histogram(&[(1.0, 9), (2.0, 9), (3.0, 4), (4.0, 1), (5.0, 1), (50.0, 1)]), 2e-7),
    ];
    for (service, most) in laws {
        let service = service.unwrap();
        for load in [0.1, 0.6, 0.95] {
            let rest = Rest::of(&service, load / service.mean());
            for step in 0..30 {
                // From the least on, where the tail is steepest, or deep into its body.
                let x = least(&service).max(0.1 * service.mean()) * libm::exp(0.003 * f64::from(step * step));
                let (is, more) = (rest.at(x, rest.terms()), rest.at(x, 5 * rest.terms()));
                assert!(
                    (is - more).abs() < most,
                    "{service:?}, load {load}, x {x}: {is:e}, with more {more:e}"
                );
            }
        }
    }
}
