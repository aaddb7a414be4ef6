//! Folders with configs, for tests.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::{Code, Script};
use crate::plan::{Case, Plan};
use crate::{
    Agreements, Catalog, ConfigError, Dataset, Interpreters, Level, LoadError, LoadRequest,
    Overrides, Scripts, TrustRequest, Warning, load_with,
};

/// What a file of code does in a test: arguments in, value out.
type Made = Box<dyn Fn(&[(&str, Value)]) -> Result<Option<Value>, String>>;

/// A folder that cleans up, an environment and flags.
pub(crate) struct Folder {
    directory: tempfile::TempDir,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) overrides: Overrides,
    /// `-c`; none: the folder's own.
    pub(crate) configs: Vec<PathBuf>,
    /// What plugins serve.
    pub(crate) catalog: Catalog,
    /// What the server of data sets answers; none: there is none.
    pub(crate) rows: Option<Value>,
    /// Files of code by their paths.
    code: BTreeMap<String, Made>,
}

impl Scripts for Folder {
    fn run(&self, script: &Script, arguments: &[(&str, Value)]) -> Result<Option<Value>, String> {
        let Code::File { files, .. } = &script.code else {
            panic!("only files are run while a plan is made")
        };
        self.code[&files.main.path](arguments)
    }

    /// Of what is a text, that.
    fn text_of_pdf(&self, bytes: &[u8]) -> Result<String, String> {
        String::from_utf8(bytes.to_vec()).map_err(|_| "no document".to_owned())
    }

    fn fetch(&self, dataset: &mut Dataset) -> Result<(), String> {
        let page = self.rows.as_ref().ok_or("there is no server")?;
        while dataset.query().is_some() {
            dataset.take(page.to_string().as_bytes())?;
        }
        Ok(())
    }
}

impl Folder {
    /// With `promptfooconfig.yaml`.
    pub(crate) fn new(config: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let folder = Self {
            directory,
            env: BTreeMap::new(),
            overrides: Overrides::default(),
            configs: Vec::new(),
            catalog: catalog(),
            rows: None,
            code: BTreeMap::new(),
        };
        folder.file("promptfooconfig.yaml", config)
    }

    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// A file of code, and what it does.
    pub(crate) fn code(
        mut self,
        name: &str,
        does: impl Fn(&[(&str, Value)]) -> Result<Option<Value>, String> + 'static,
    ) -> Self {
        let own = Path::new(name).file_name().and_then(|name| name.to_str());
        self.code
            .insert(own.unwrap_or(name).to_owned(), Box::new(does));
        self.file(name, "// what it does stands in the test")
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Where a plugin runs Python.
    pub(crate) fn with_python(mut self) -> Self {
        let name = || "python".to_owned();
        self.catalog.assertion_types.insert(name(), name());
        let extensions = vec!["py".to_owned()];
        self.catalog.script_languages.insert(name(), extensions);
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn request(&self) -> LoadRequest {
        LoadRequest {
            cwd: self.path().to_owned(),
            config_files: self.configs.clone(),
            env: self.env.clone(),
            overrides: self.overrides.clone(),
            ..LoadRequest::default()
        }
    }

    pub(crate) fn try_plan(&self) -> Result<(Plan, Vec<Warning>), ConfigError> {
        match self.plan_under(Agreements {
            level: Level::Data,
            ..Agreements::default()
        }) {
            Ok(planned) => Ok(planned),
            Err(LoadError::Wrong(error)) => Err(error),
            Err(LoadError::NotAgreed(requests)) => panic!("everything is agreed to: {requests:?}"),
        }
    }

    /// The plan where no more than this is agreed to.
    pub(crate) fn plan_under(
        &self,
        agreements: Agreements,
    ) -> Result<(Plan, Vec<Warning>), LoadError> {
        let request = LoadRequest {
            agreements,
            ..self.request()
        };
        let interpreters = Interpreters {
            catalog: &self.catalog,
            scripts: self,
        };
        let (config, mut warnings) = load_with(&request, interpreters)?;
        let (plan, more) = config.plan_with(&self.catalog, self)?;
        warnings.extend(more);
        Ok((plan, warnings))
    }

    /// The plan of a config that is fine.
    pub(crate) fn plan(&self) -> Plan {
        match self.try_plan() {
            Ok((plan, _)) => plan,
            Err(error) => panic!("{error}"),
        }
    }

    /// What is wrong, as the user sees it.
    pub(crate) fn problems(&self) -> Vec<String> {
        match self.try_plan() {
            Ok(_) => Vec::new(),
            Err(error) => error.problems.iter().map(ToString::to_string).collect(),
        }
    }

    /// What the person is asked for, as they see it; the folder is `~`.
    pub(crate) fn requests(&self) -> Vec<String> {
        let real = self.path().canonicalize().unwrap();
        let requests = self.plan().trust_requests;
        shown(&requests, &real)
    }

    /// What has to be agreed to before more is known, where nothing is agreed to.
    pub(crate) fn withheld(&self) -> Vec<String> {
        let real = self.path().canonicalize().unwrap();
        match self.plan_under(Agreements::default()) {
            Err(LoadError::NotAgreed(requests)) => shown(&requests, &real),
            Err(LoadError::Wrong(_)) | Ok(_) => Vec::new(),
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        match self.try_plan() {
            Ok((_, warnings)) => warnings.iter().map(ToString::to_string).collect(),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn cases(&self) -> Vec<Case> {
        let plan = self.plan();
        let cases: Vec<Case> = plan.cases().collect();
        assert_eq!(cases.len() as u64, plan.case_count());
        cases
    }

    /// The rendered prompt of every case.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.cases()
            .iter()
            .map(|case| case.render().unwrap().text)
            .collect()
    }
}

/// Requests as the person sees them; `folder` is `~`.
fn shown(requests: &[TrustRequest], folder: &Path) -> Vec<String> {
    let shown = requests.iter().map(|request| {
        let at = &request.at;
        let text = format!("{at}: {}: {}", at.key, request.subject);
        text.replace(folder.to_str().unwrap(), "~")
    });
    shown.collect()
}

/// What the tests' plugins serve.
pub(crate) fn catalog() -> Catalog {
    let names = |names: &[&str], plugin: &str| -> BTreeMap<String, String> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), plugin.to_owned()))
            .collect()
    };
    let mut assertion_types = names(
        &["contains", "contains-any", "equals", "latency", "regex"],
        "text",
    );
    assertion_types.extend(names(&["is-json"], "json"));
    assertion_types.extend(names(&["max-score"], "runner"));
    assertion_types.extend(names(&["answer"], "answer"));
    assertion_types.extend(names(&["javascript"], "javascript"));
    let asking = ["llm-rubric", "similar", "answer-relevance", "select-best"];
    assertion_types.extend(names(&asking, "model-graded"));
    let mut provider_prefixes = names(&["echo"], "echo");
    provider_prefixes.extend(names(&["openai"], "openai"));
    provider_prefixes.extend(names(&["replay"], "replay"));
    Catalog {
        provider_prefixes,
        assertion_types,
        wordlike_types: BTreeSet::new(),
        asking_types: asking.map(str::to_owned).into(),
        script_languages: [(
            "javascript".to_owned(),
            ["js", "cjs", "mjs"].map(str::to_owned).into(),
        )]
        .into(),
        settings: ["OPENAI_BASE_URL".to_owned()].into(),
        absent_languages: BTreeMap::new(),
    }
}
