//! Where the files that a config names may go.

use super::*;

/// Writes a run to a file.
pub(super) fn put(output: &Output) -> anyhow::Result<()> {
    let kept = kept();
    let (summary, database) = (summary(&kept.0), keep(&[], 0)?);
    output.write(&Run {
        summary: &summary,
        columns: &columns(),
        started_at_ms: 1_700_000_000_000,
        config: &json!({ "description": "greetings" }),
        records: &kept,
        store: &database.store,
        against: None,
    })
}

fn of_config(path: PathBuf) -> Result<Output, String> {
    let path = OutputPath::new(path, TextOrigin::Config);
    let prepared = Output::prepare(std::slice::from_ref(&path), false);
    let mut prepared = prepared.map_err(|failure| failure.render())?;
    prepared.pop().ok_or_else(String::new)
}

#[test]
fn a_config_replaces_results_and_nothing_else() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let names = [
        "o.json",
        "o.jsonl",
        "o.csv",
        "o.yaml",
        "o.txt",
        "o.html",
        "o.md",
        "o.junit.xml",
    ];
    for name in names {
        let path = folder.path().join(name);
        // Not there, then results of ours, then nothing, then somebody else's.
        for content in [None, None, Some("")] {
            if let Some(content) = content {
                fs::write(&path, content)?;
            }
            put(&of_config(path.clone()).map_err(anyhow::Error::msg)?)?;
            assert!(fs::read(&path)?.len() > 100, "{name}");
        }
        let output = of_config(path.clone()).map_err(anyhow::Error::msg)?;
        fs::write(&path, "alias ls='rm -r /'\n")?;
        let shown = path.display();
        assert_eq!(
            of_config(path.clone()).expect_err(name),
            format!(
                "error: can't write {shown}: the existing file holds no results\n\
                 help: the config's outputPath replaces results only: name another file there, \
                 remove this one, or name it yourself with -o"
            )
        );
        // One that came after the look stays, too.
        let error = put(&output).expect_err(name);
        assert_eq!(
            format!("{error:#}"),
            format!("can't write {shown}: the existing file holds no results")
        );
        assert_eq!(fs::read_to_string(&path)?, "alias ls='rm -r /'\n");
        // The person may.
        let mine = Output::at(named(path.clone()));
        put(&mine.map_err(|failure| anyhow::anyhow!(failure.render()))?)?;
        assert!(fs::read(&path)?.len() > 100, "{name}");
    }
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_link_that_comes_after_the_look_is_not_followed() -> anyhow::Result<()> {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir()?;
    let base = folder.path().canonicalize()?;
    fs::create_dir(base.join("victim"))?;
    fs::write(base.join("victim/o.json"), "{}")?;
    fs::create_dir(base.join("a"))?;
    let through = of_config(base.join("a/o.json")).map_err(anyhow::Error::msg)?;
    let onto = of_config(base.join("o.jsonl")).map_err(anyhow::Error::msg)?;
    fs::remove_dir(base.join("a"))?;
    symlink(base.join("victim"), base.join("a"))?;
    symlink(base.join("victim/o.json"), base.join("o.jsonl"))?;
    for output in [&through, &onto] {
        assert!(put(output).is_err(), "{output:?}");
        assert!(output.emptied().is_err(), "{output:?}");
    }
    assert_eq!(fs::read_to_string(base.join("victim/o.json"))?, "{}");
    assert_eq!(fs::read_dir(base.join("victim"))?.count(), 1);
    // A person's link means what it leads to.
    let output = Output::at(named(base.join("a/mine.json")));
    put(&output.map_err(|failure| anyhow::anyhow!(failure.render()))?)?;
    assert!(base.join("victim/mine.json").is_file());
    Ok(())
}
