//! Configs that are programs.

use insta::assert_snapshot;
use runner_tests::Run;

use super::{evaluated, rows};

#[test]
fn a_config_in_typescript_is_a_config() {
    let run = Run::new()
        .file(
            "promptfooconfig.ts",
            "import type { UnifiedConfig } from 'promptfoo';\n\
             import { topics } from './topics';\n\
             const config: UnifiedConfig = {\n\
               prompts: ['About {{topic}}'],\n\
               providers: ['echo'],\n\
               tests: topics.map((topic: string) => ({ vars: { topic }, assert: [{ type: 'contains', value: 'bees' }] })),\n\
             };\n\
             export default config;\n",
        )
        .file("topics.ts", "export const topics: string[] = ['bees', 'ants'];");
    let checked = run.clone().args(["config", "check"]).finish();
    let finished = evaluated(run);
    finished.expect_code(100);
    let answers: Vec<_> = rows(&finished)
        .iter()
        .map(|row| (row["response"]["output"].clone(), row["success"].clone()))
        .collect();
    assert_eq!(
        answers,
        [
            ("About bees".into(), true.into()),
            ("About ants".into(), false.into())
        ]
    );
    assert_snapshot!(checked.told());
}

/// What it gives is data; what a program wants of the machine is asked for before it runs.
#[test]
fn what_a_program_can_not_give_or_have_is_said() {
    let told = |text: &str| {
        let run = Run::new().file("promptfooconfig.js", text);
        run.args(["config", "check"]).finish().told()
    };
    let function = "module.exports = { prompts: ['x'], providers: ['echo'], tests: [\
                    { assert: [{ type: 'javascript', value: (output) => true }] }] };";
    let files = "require('fs').writeFileSync('seen', ''); module.exports = {};";
    let throws = "\nthrow new Error('not today');";
    assert_snapshot!([function, files, throws].map(told).join("\n"));
}
