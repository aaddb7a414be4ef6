//! What cargo says is understood, and components land where they are looked for.

use serde_json::json;

use super::*;

/// A place in a new folder, with a workspace of a plugin, a guest and a room of the house.
fn place(name: &str) -> std::io::Result<Place> {
    let root = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let package = |name: &str, folder: &str| {
        let manifest = root.join(folder).join("Cargo.toml");
        json!({ "name": name, "manifest_path": manifest })
    };
    let metadata = json!({ "packages": [
        package("plugin-echo", "plugins/echo"),
        package("guest-hostile", "tests/guests/hostile"),
        package("runner-store", "host/store"),
        package("runner-tests", "tests"),
    ] });
    let target = root.join("target");
    Ok(Place {
        root,
        target,
        metadata,
    })
}

/// A built component for the package in `folder`, holding `bytes`.
fn built(place: &Place, folder: &str, bytes: &str) -> std::io::Result<Component> {
    fs::create_dir_all(&place.target)?;
    let file = place
        .target
        .join(format!("built-{}.wasm", folder.replace('/', "-")));
    fs::write(&file, bytes)?;
    Ok(Component {
        folder: place.root.join(folder),
        file,
        fresh: false,
    })
}

#[test]
fn guests_are_the_packages_in_their_two_folders() -> std::io::Result<()> {
    let place = place("guests")?;
    let names: Vec<String> = guest_packages(&place).into_values().collect();
    assert_eq!(names, ["plugin-echo", "guest-hostile"]);
    Ok(())
}

#[test]
fn cargos_message_about_a_component_is_understood() {
    let mut message = json!({
        "reason": "compiler-artifact",
        "manifest_path": "/clone/plugins/echo/Cargo.toml",
        "filenames": ["/t/plugin_echo.wasm", "/t/libplugin_echo.rlib"],
        "fresh": true,
    });
    let expected = Component {
        folder: "/clone/plugins/echo".into(),
        file: "/t/plugin_echo.wasm".into(),
        fresh: true,
    };
    assert_eq!(component(&message), Some(expected));
    message["filenames"] = json!(["/t/libserde.rlib"]);
    assert_eq!(component(&message), None);
}

#[test]
fn each_component_lands_on_its_shelf_under_its_folders_name() -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(error.to_string());
    let place = place("shelves").map_err(failed)?;
    let mut shelves = Shelves::new(&place);
    let goals = [
        ("plugins/echo", "release/plugins/echo.wasm"),
        ("tests/guests/hostile", "guests/tests/hostile.wasm"),
        ("tests/outside/grader", "guests/outside/grader.wasm"),
    ];
    for (folder, goal) in goals {
        shelves.put(&built(&place, folder, folder).map_err(failed)?)?;
        let there = fs::read_to_string(place.target.join(goal)).map_err(failed)?;
        assert_eq!(there, folder);
    }
    // A library of someone else that comes out as .wasm too is left where it is.
    shelves.put(&built(&place, "elsewhere/lib", "x").map_err(failed)?)?;
    assert_eq!(shelves.filled.values().map(Vec::len).sum::<usize>(), 3);
    fs::remove_dir_all(&place.root).map_err(failed)
}

#[test]
fn a_component_without_a_source_is_taken_away_and_no_other_file() -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(error.to_string());
    let place = place("stale").map_err(failed)?;
    let folder = place.target.join("release/plugins");
    fs::create_dir_all(&folder).map_err(failed)?;
    for name in ["gone.wasm", "echo.wasm", "notes.txt"] {
        fs::write(folder.join(name), "old").map_err(failed)?;
    }
    let mut shelves = Shelves::new(&place);
    shelves.put(&built(&place, "plugins/echo", "new").map_err(failed)?)?;
    shelves.clear_the_rest()?;
    let mut left = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        left.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    left.sort();
    assert_eq!(left, ["echo.wasm", "notes.txt"]);
    let echo = fs::read_to_string(folder.join("echo.wasm")).map_err(failed)?;
    assert_eq!(echo, "new");
    fs::remove_dir_all(&place.root).map_err(failed)
}

#[test]
fn only_the_end_of_a_build_is_kept_back() {
    assert!(is_end(
        "    Finished `guest` profile [optimized] target(s) in 0.12s"
    ));
    let coloured = "\u{1b}[1m\u{1b}[92m    Finished\u{1b}[0m `guest` profile [optimized]";
    assert!(is_end(coloured));
    for line in [
        "   Compiling echo v0.1.0",
        "    Blocking waiting for file lock",
        "error: x",
    ] {
        assert!(!is_end(line), "{line}");
    }
}
