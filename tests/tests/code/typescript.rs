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

/// What the sandbox does not give runs in Node.js, whichever its version: enumerations and properties
/// of constructors, names without endings, JSON, and what CommonJS has.
#[test]
fn typescript_runs_on_the_machine_as_it_does_in_the_sandbox() {
    let run = Run::new()
        .config(
            "prompts: ['{{ topic }}']\nproviders: [file://src/agent.ts]\n\
             tests: [{ vars: { topic: bees } }, { vars: { topic: fail } }]",
        )
        .file(
            "src/agent.ts",
            "import { readFileSync } from 'node:fs';\n\
             import path from 'node:path';\n\
             import words from './words.json';\n\
             import { Level } from './lib/levels';\n\
             import { shout } from './lib/shout.js';\n\
             interface Answer { output: string }\n\
             export default class Agent {\n\
               constructor(private options: { id?: string }) {}\n\
               id = (): string => this.options.id ?? 'agent';\n\
               async callApi(prompt: string): Promise<Answer> {\n\
                 if (prompt === 'fail') throw new Error('no answer' as string);\n\
                 const greeting: string = readFileSync(path.join(__dirname, 'greeting.txt'), 'utf8');\n\
                 return { output: `${greeting} ${shout(prompt, Level.High)}${words.end}` };\n\
               }\n\
             }\n",
        )
        .file("src/greeting.txt", "Dear")
        .file("src/words.json", "{ \"end\": \"!\" }")
        .file("src/lib/levels.ts", "export enum Level { Low, High }\n")
        .file(
            "src/lib/shout.ts",
            "import { Level } from './levels';\n\
             export const shout = (text: string, level: Level): string =>\n\
               level === Level.High ? text.toUpperCase() : text;\n",
        );
    let finished = run
        .args(["eval", "-o", "out.json", "--trust-config"])
        .finish();
    let rows = rows(&finished);
    assert_eq!(rows[0]["response"]["output"], "Dear BEES!", "{rows:?}");
    // The place in the text as it was written.
    let error = rows[1]["error"].as_str().expect("an error");
    assert!(error.contains("no answer (src/agent.ts:11:"), "{error}");
}

/// Erasing leaves nothing to run of what is more than types: it says what does.
#[test]
fn what_is_more_than_types_needs_tsx_on_the_machine() {
    let run = Run::new()
        .config("prompts: [x]\nproviders: [file://agent.ts]\ntests: [{ vars: { a: 1 } }]")
        .file(
            "agent.ts",
            "import 'node:fs';\n\
             function logged(target: any, name: any) {}\n\
             export default class {\n  @logged callApi() { return { output: 'x' }; }\n}\n",
        );
    let finished = run
        .args(["eval", "-o", "out.json", "--trust-config"])
        .finish();
    let error = rows(&finished)[0]["error"].to_string();
    assert!(
        error.contains("agent.ts:4:3") && error.contains("`tsx` in the project"),
        "{error}"
    );
}
