//! Forms of en-US: numbers, dates, order, boundaries. Expected values are those of Node 20 in UTC.

use super::*;

/// Rows that are true in Node.
fn check_true(rows: &[&'static str]) {
    for source in rows {
        check(source, &inline(source), &Json(json!(true)));
    }
}

#[test]
fn numbers_have_their_groups_and_digits() {
    check_true(&[
        "(1234.5).toLocaleString('en-US') === '1,234.5'",
        "(1234.5).toLocaleString() === '1,234.5'",
        "(1234567).toLocaleString('en') === '1,234,567'",
        "(1234.5678).toLocaleString() === '1,234.568'",
        "(1.005).toLocaleString('en-US', { maximumFractionDigits: 2 }) === '1.01'",
        "(-2.5).toLocaleString('en-US', { maximumFractionDigits: 0 }) === '-3'",
        "(5).toLocaleString('en-US', { minimumFractionDigits: 2 }) === '5.00'",
        "(0.256).toLocaleString('en-US', { style: 'percent' }) === '26%'",
        "(0.256).toLocaleString('en-US', { style: 'percent', minimumFractionDigits: 1 }) === '25.6%'",
        "(-1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }) === '-$1,234.50'",
        "(1234.5).toLocaleString('en-US', { style: 'currency', currency: 'JPY' }) === '¥1,235'",
        "(1234).toLocaleString('en-US', { useGrouping: false }) === '1234'",
        "(123456.789).toLocaleString('en-US', { maximumSignificantDigits: 3 }) === '123,000'",
        "(0.999).toLocaleString('en-US', { maximumSignificantDigits: 2 }) === '1'",
        "(1e21).toLocaleString() === '1,000,000,000,000,000,000,000'",
        "(10n ** 20n).toLocaleString() === '100,000,000,000,000,000,000'",
        "NaN.toLocaleString() + (-1 / 0).toLocaleString() + (-0).toLocaleString() === 'NaN-∞-0'",
        "new Intl.NumberFormat('en-US', { signDisplay: 'always' }).format(5) === '+5'",
        "[1, 2000].map(Intl.NumberFormat().format).join() === '1,2,000'",
        "[1234.5, null].toLocaleString() === '1,234.5,'",
    ]);
}

#[test]
fn dates_have_the_american_forms() {
    check_true(&[
        "new Date(0).toLocaleString() === '1/1/1970, 12:00:00 AM'",
        "new Date(0).toLocaleDateString('en-US') === '1/1/1970'",
        "new Date(5e7).toLocaleTimeString('en-US', { timeZone: 'UTC' }) === '1:53:20 PM'",
        "new Date(0).toLocaleDateString('en-US', { weekday: 'long', year: 'numeric', month: 'long', \
         day: 'numeric' }) === 'Thursday, January 1, 1970'",
        "new Date(0).toLocaleDateString('en-US', { month: 'short', day: '2-digit' }) === 'Jan 01'",
        "new Date(5e7).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }) === '01:53 PM'",
        "new Date(0).toLocaleTimeString('en-US', { hour12: false }) === '24:00:00'",
        "new Date(0).toLocaleTimeString('en-US', { hourCycle: 'h23' }) === '00:00:00'",
        "new Date(5e7).toLocaleString('en-US', { dateStyle: 'full', timeStyle: 'long' }) === \
         'Thursday, January 1, 1970 at 1:53:20 PM UTC'",
        "new Date(5e7).toLocaleString('en-US', { dateStyle: 'short', timeStyle: 'short' }) === \
         '1/1/70, 1:53 PM'",
        "new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric' }).format(0) === \
         'January 1970'",
        "new Intl.DateTimeFormat().formatToParts(0).map((p) => p.type).join() === \
         'month,literal,day,literal,year'",
        "Intl.DateTimeFormat().resolvedOptions().timeZone === 'UTC'",
        "new Date(NaN).toLocaleString() === 'Invalid Date'",
    ]);
}

#[test]
fn texts_have_an_order_of_letters_then_accents_then_case() {
    check_true(&[
        "'é'.localeCompare('f') < 0 && 'ä'.localeCompare('z') < 0 && 'a'.localeCompare('B') < 0",
        "'a'.localeCompare('A') === -1 && 'A'.localeCompare('a') === 1 && 'a'.localeCompare('a') === 0",
        "['résumé', 'resume', 'Resume', 'Résumé', 'resumes', 'RESUME'].sort((a, b) => \
         a.localeCompare(b)).join() === 'resume,Resume,RESUME,résumé,Résumé,resumes'",
        "['_', '-', '9', 'a', '$', ' '].sort(Intl.Collator().compare).join('') === ' _-$9a'",
        "'a10'.localeCompare('a9') < 0",
        "'a10'.localeCompare('a9', undefined, { numeric: true }) > 0",
        "'a'.localeCompare('Á', 'en', { sensitivity: 'base' }) === 0",
        "'a'.localeCompare('A', 'en', { sensitivity: 'accent' }) === 0",
        "'e\\u0301'.localeCompare('é') === 0 && '日本'.localeCompare('日本') === 0",
        "'æ'.localeCompare('æ') === 0 && 'Zoë'.localeCompare('Zoey') < 0",
        "'ж'.localeCompare('я') === -1 && 'א'.localeCompare('ب') === -1 && 'z'.localeCompare('α') < 0",
        "'ä'.localeCompare('z', 'de') < 0 && 'ä'.localeCompare('z', 'sv') > 0",
        "'ä'.localeCompare('ad', 'de-u-co-phonebk') > 0 && 'ä'.localeCompare('ad', ['de', 'sv']) < 0",
        "['Å', 'a', 'Z'].sort(new Intl.Collator('en', { caseFirst: 'upper' }).compare).join('') === 'aÅZ'",
        "'A'.localeCompare('a', 'en', { caseFirst: 'upper' }) < 0",
        "'a-b'.localeCompare('ab', 'en', { ignorePunctuation: true }) === 0",
        "'a\\ud800'.localeCompare('a\\udfff') === 0",
        "new Intl.Collator('sv', { numeric: true }).resolvedOptions().locale === 'sv'",
    ]);
}

#[test]
fn other_forms_are_refused_by_name() {
    let rows = [
        ("(1).toLocaleString('de-DE')", "`toLocaleString('de-DE')`"),
        (
            "(1).toLocaleString('en-US', { notation: 'compact' })",
            "notation: 'compact'",
        ),
        (
            "(1).toLocaleString('en', { style: 'currency', currency: 'SEK' })",
            "currency: 'SEK'",
        ),
        (
            "new Date().toLocaleDateString('en-GB')",
            "`toLocaleDateString('en-GB')`",
        ),
        (
            "new Date().toLocaleString('en-US', { timeZone: 'America/New_York' })",
            "America/New_York",
        ),
        (
            "new Date().toLocaleDateString('en', { year: 'numeric', day: 'numeric' })",
            "only year, day",
        ),
        ("'i'.toLocaleUpperCase('tr')", "`toLocaleUpperCase('tr')`"),
        (
            "new Intl.RelativeTimeFormat('en')",
            "`Intl.RelativeTimeFormat`",
        ),
        (
            "new Intl.Segmenter('en', { granularity: 'word' })",
            "`Intl.Segmenter with granularity: 'word'`",
        ),
    ];
    for (source, words) in rows {
        check(source, &inline(source), &Bad(Unsupported, words));
    }
}

#[test]
fn graphemes_are_what_a_reader_takes_for_characters() {
    check_true(&[
        "[...new Intl.Segmenter().segment('e\\u0301👩‍👩‍👧🇩🇪a')].map((s) => s.segment.length).join() === '2,8,4,1'",
        "[...new Intl.Segmenter('de', { granularity: 'grapheme' }).segment('a\\r\\nb')].map((s) => s.index).join() === '0,1,3'",
        "[...new Intl.Segmenter().segment('')].length === 0",
        "new Intl.Segmenter('en').segment('👍🏽x').containing(4).segment === 'x'",
        "new Intl.Segmenter('en').segment('👍🏽x').containing(3).index === 0",
        "new Intl.Segmenter('en').segment('x').containing(1) === undefined",
        "[...new Intl.Segmenter().segment('a\\ud800b')].map((s) => s.segment).join('|') === 'a|\\ud800|b'",
        "Intl.Segmenter.supportedLocalesOf('en').length === 1",
    ]);
}
