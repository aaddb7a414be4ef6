//! What templates and their expressions take.

use runner_config::bounds;

use super::{Input, MIB, each};

/// Templates: what a tag costs.
pub(super) fn templates() {
    for tag in [
        "{{a}}",
        "{{a|upper}}",
        "{%if a%}{%endif%}",
        "{{[1,2,3]}}",
        "{{a.b.c}}",
        "{#a#}",
    ] {
        let prompt = Input {
            config: format!(
                "providers: [echo]\nprompts: [\"{}\"]",
                tag.repeat(MIB / tag.len())
            ),
            files: Vec::new(),
        };
        prompt.takes(&format!("template {tag}"), bounds::TEMPLATE, "1 cases");
    }
    let env = each(1000, |n| format!("  K{n}: '{}'\n", "x".repeat(1000)));
    let prompts = each(1000, |n| format!("'{{{{q}}}} {{{{env.K1}}}} {n}', "));
    let env = Input {
        config: format!("env:\n{env}prompts: [{prompts}]\nproviders: [echo]"),
        files: Vec::new(),
    };
    env.takes(
        "a large env and many prompts",
        bounds::TEMPLATE,
        "1000 cases",
    );
}

/// What a template makes is counted before it is there.
pub(super) fn made() {
    let doubled = "{% set a = [a, a] %}".repeat(62);
    let lists = format!("{{% set a = [1] %}}{doubled}{{{{ a | dump }}}}");
    for text in [
        lists.replace("dump", "dump(9)"),
        lists.replace("a | dump", "{b: a}"),
        lists,
        "{{ '&'.repeat(60000000) | e | length }}".to_owned(),
        "{{ '\\n'.repeat(60000000) | nl2br | length }}".to_owned(),
    ] {
        let env = format!("env:\n  A: \"{text}\"\nprompts: ['{{{{ env.A }}}}']\nproviders: [echo]");
        let input = Input {
            config: env,
            files: Vec::new(),
        };
        let name = format!("expressions {text:.20}");
        input.takes_at_most(&name, 192 * MIB, "makes more than 64 MiB");
    }
}
