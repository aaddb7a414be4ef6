//! The order of texts in a language, for `prelude/collation.js`: that of the Unicode collation algorithm
//! with the language's own rules, as Node.js has it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine calls these functions with what it owns"
)]

use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, Strength};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use rquickjs::{Object, Result};

/// -1, 0 or 1, by how `left` stands to `right` for these options of `Intl.Collator`; `None` if their
/// `locale` is none.
pub(crate) fn collate(left: String, right: String, options: Object<'_>) -> Result<Option<i32>> {
    let locale: String = options.get("locale")?;
    let Ok(locale) = Locale::try_from_str(&locale) else {
        return Ok(None);
    };
    let mut preferences = CollatorPreferences::from(&locale);
    if options.get("numeric")? {
        preferences.numeric_ordering = Some(CollationNumericOrdering::True);
    }
    preferences.case_first = match &*options.get::<_, String>("caseFirst")? {
        "upper" => Some(CollationCaseFirst::Upper),
        "lower" => Some(CollationCaseFirst::Lower),
        _ => preferences.case_first,
    };
    let mut how = CollatorOptions::default();
    let (strength, case_level) = match &*options.get::<_, String>("sensitivity")? {
        "base" => (Strength::Primary, CaseLevel::Off),
        "accent" => (Strength::Secondary, CaseLevel::Off),
        "case" => (Strength::Primary, CaseLevel::On),
        _ => (Strength::Tertiary, CaseLevel::Off),
    };
    how.strength = Some(strength);
    how.case_level = Some(case_level);
    if options.get("ignorePunctuation")? {
        how.alternate_handling = Some(AlternateHandling::Shifted);
    }
    let collator = CollatorBorrowed::try_new(preferences, how).ok();
    Ok(collator.map(|collator| collator.compare(&left, &right) as i32))
}
