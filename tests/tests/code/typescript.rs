//! Code in TypeScript.

use insta::assert_snapshot;
use runner_tests::Run;

use super::{evaluated, rows};

/// A provider, what it imports, a prompt, a transform and a check; no package is needed, since what
/// is imported of one are types.
#[test]
fn typescript_runs_in_the_sandbox() {
    let run = Run::new()
        .config(
            "prompts: [file://prompt.ts]\nproviders: [file://provider.ts]\n\
             defaultTest: { options: { transform: file://transform.mts } }\n\
             tests: [{ vars: { topic: bees }, assert: [\
             { type: equals, value: 'ABOUT BEES!' }, { type: javascript, value: file://check.ts }] }]",
        )
        .file(
            "prompt.ts",
            "export default ({ vars }: { vars: Record<string, any> }): string => `About ${vars.topic as string}`",
        )
        .file(
            "provider.ts",
            "import { ApiProvider, type ProviderResponse } from 'promptfoo';\n\
             import { shout, Level } from './lib/util.js';\n\
             export default class Own implements ApiProvider {\n\
               constructor(private options: { id?: string }) {}\n\
               id(): string { return this.options.id ?? 'own'; }\n\
               async callApi(prompt: string): Promise<ProviderResponse> {\n\
                 return { output: shout(prompt!, Level.High) };\n\
               }\n\
             }\n",
        )
        .file(
            "lib/util.ts",
            "export enum Level { Low, High }\n\
             export function shout<T extends string>(text: T, level: Level): string {\n\
               return level === Level.High ? text.toUpperCase() : text;\n\
             }\n",
        )
        .file("transform.mts", "export default (output: string): string => output + '!';")
        .file(
            "check.ts",
            "type Grade = { pass: boolean };\n\n\
             export default (output: string): Grade => {\n  throw new Error(`at ${output.length satisfies number}`);\n};\n",
        );
    let checked = run.clone().args(["config", "check"]).finish();
    assert_snapshot!(checked.told());
    // The place in the text as it was written.
    let finished = evaluated(run);
    let graded = &rows(&finished)[0]["gradingResult"]["componentResults"];
    assert_eq!(graded[0]["pass"], true, "{graded}");
    let reason = graded[1]["reason"].as_str().expect("why");
    assert!(reason.contains("Error: at 11 (check.ts:4:"), "{reason}");
}
