//! How near two vectors are. Sums in 64 bits, since the parts have only 32.

/// The cosine of the angle; no number if one has no direction.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())
}

/// The sum of the products.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}

/// The length of the difference.
pub(crate) fn distance(a: &[f32], b: &[f32]) -> f64 {
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    a.iter().zip(b).map(square).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearness_is_what_geometry_says() {
        for (a, b, cos, product, apart) in [
            ([3.0, 4.0], [3.0, 4.0], 1.0, 25.0, 0.0),
            ([1.0, 0.0], [0.0, 2.0], 0.0, 0.0, 5.0_f64.sqrt()),
            ([1.0, 0.0], [-2.0, 0.0], -1.0, -2.0, 3.0),
        ] {
            assert!((cosine(&a, &b) - cos).abs() < 1e-9, "{a:?} {b:?}");
            assert!((dot(&a, &b) - product).abs() < 1e-9, "{a:?} {b:?}");
            assert!((distance(&a, &b) - apart).abs() < 1e-9, "{a:?} {b:?}");
        }
        // What failed to make a vector is neither near to anything nor far from it.
        assert!(cosine(&[0.0, 0.0], &[1.0, 1.0]).is_nan());
    }
}
