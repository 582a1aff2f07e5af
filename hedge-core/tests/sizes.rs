//! How much memory the machines take: promises to embedders, who have one read per read and one governor per client.

use hedge_core::{Governor, NodeState, PipelineWatch, StripeRead};

#[test]
fn a_read_of_nine_cells_takes_less_than_768_bytes() {
    let size = size_of::<StripeRead<9>>();
    assert!(size < 768, "{size}");
}

#[test]
fn each_further_cell_of_a_read_takes_at_most_48_bytes() {
    let size = size_of::<StripeRead<64>>() - size_of::<StripeRead<9>>();
    assert!(size <= 55 * 48, "{size}");
}

#[test]
fn a_governor_of_1024_nodes_takes_less_than_128_kib() {
    let size = size_of::<Governor<1024>>();
    assert!(size < 128 * 1024, "{size}");
}

#[test]
fn each_node_of_a_governor_takes_at_most_88_bytes_and_each_size_class_less_than_14_kib() {
    assert!(size_of::<NodeState>() <= 88);
    let nodes = size_of::<Governor<200>>() - size_of::<Governor<100>>();
    assert!(nodes <= 100 * 88, "{nodes}");
    let class = size_of::<Governor<1, 2>>() - size_of::<Governor<1, 1>>();
    assert!(class < 14 * 1024, "{class}");
}

#[test]
fn each_node_of_a_pipeline_watch_takes_at_most_40_bytes() {
    let nodes = size_of::<PipelineWatch<200>>() - size_of::<PipelineWatch<100>>();
    assert!(nodes <= 100 * 40, "{nodes}");
}
