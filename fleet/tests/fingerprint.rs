//! Figures to the last bit: the same on every machine.

use hedgerow_fleet::{Options, Policy, Problem, Scheme, Service, plan, tail_bound, tail_exact};

/// A hash of numbers, bit by bit (FNV-1a).
fn fingerprint(numbers: impl IntoIterator<Item = f64>) -> u64 {
    let bytes = numbers.into_iter().flat_map(|number| number.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn services() -> Vec<Service> {
    vec![
        Service::shifted_exponential(9.0, 21.0).unwrap(),
        Service::exponential(40.0).unwrap(),
        Service::gamma(2.5, 50.0).unwrap(),
        Service::histogram(&[(20.0, 3), (40.0, 6), (80.0, 1)]).unwrap(),
        Service::pareto(20.0, 1.7).unwrap(),
        Service::shifted_exponential(18.0, 42.0).unwrap(),
    ]
}

#[test]
fn bounds_and_tails_are_the_same_to_the_last_bit() {
    let mut numbers = Vec::new();
    for service in services() {
        for busy in [0.1, 0.5, 0.9] {
            let rate = busy / service.mean();
            for x in [50.0, 200.0, 900.0] {
                let bound = tail_bound(&service, rate, x);
                numbers.extend([bound.probability, bound.t, tail_exact(&service, rate, x)]);
            }
        }
    }
    assert_eq!(fingerprint(numbers), 13_418_997_726_191_312_544, "bounds and tails");
}

#[test]
fn plans_are_the_same_to_the_last_bit() {
    let classes: Vec<(f64, u32, u32)> = (1..=12).map(|rank| (0.004 / f64::from(rank), 5, 3)).collect();
    let problem = Problem::placed_at_random(services(), &classes, 7).unwrap();
    let mut numbers = Vec::new();
    for scheme in [Scheme::Fast, Scheme::Alternating] {
        let mut options = Options::new(400.0);
        (options.scheme, options.fixed_t) = (scheme, 0.002);
        for policy in Policy::ALL {
            let plan = plan(&problem, policy, &options).unwrap();
            numbers.extend(plan.weights);
            numbers.extend([plan.objective, plan.x_fit]);
        }
    }
    assert_eq!(fingerprint(numbers), 16_335_462_457_482_937_296, "plans");
}
