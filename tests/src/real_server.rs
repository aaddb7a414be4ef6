//! Servers of others between a program and a model API, as their packages bring them: nginx and LiteLLM's proxy.
//!
//! `cargo xtask servers` puts them below the target folder. Where they can't be had there is none, and who
//! wanted one says so. What they refuse is told by the program's own counts, since they keep no books that
//! could be compared.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::model_api::ModelApi;
use crate::run::target_folder;
use crate::starting::spawned;

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct RealServer {
    child: Child,
    port: u16,
    /// With its configuration.
    _folder: TempDir,
}

impl RealServer {
    /// nginx, which lets so many calls a second through to `api` and answers others with 429. `options` are those
    /// of its `limit_req`: `burst=20 nodelay`.
    pub fn nginx(api: &ModelApi, per_second: u32, options: &str) -> Option<Self> {
        let own = target_folder().join("servers/nginx/usr/sbin/nginx");
        let program = [own.as_path(), Path::new("/usr/sbin/nginx")];
        let program = program.into_iter().find(|path| path.is_file())?;
        let (folder, port) = (new_folder(), free_port());
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths = paths.map(|name| format!("{name}_temp_path temp-{name};\n"));
        let config = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr notice;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n{} access_log off;\n\
             limit_req_zone $binary_remote_addr zone=all:1m rate={per_second}r/s;\n\
             limit_req_status 429;\n\
             server {{ listen 127.0.0.1:{port};\n\
             location / {{ limit_req zone=all {options}; proxy_pass {}; }} }} }}\n",
            paths.concat(),
            api.url(),
        );
        write(&folder, "nginx.conf", &config);
        let mut command = Command::new(program);
        command.arg("-p").arg(folder.path());
        command.args(["-e", "stderr", "-c", "nginx.conf"]);
        Some(Self::started(command, "event method", folder, port))
    }

    /// LiteLLM's proxy, which lets so many calls a minute of the clock through to the model `m` of `api`.
    pub fn litellm(api: &ModelApi, per_minute: u32) -> Option<Self> {
        let program = target_folder().join("servers/litellm/bin/litellm");
        if !program.is_file() {
            return None;
        }
        let (folder, port) = (new_folder(), free_port());
        let config = format!(
            "model_list:\n- model_name: m\n  litellm_params: {{ model: openai/m, api_base: '{}', \
             api_key: sk-none, rpm: {per_minute} }}\n\
             router_settings: {{ optional_pre_call_checks: [enforce_model_rate_limits], num_retries: 0, \
             disable_cooldowns: true }}\n\
             litellm_settings: {{ drop_params: true, telemetry: false }}\n\
             general_settings: {{ dangerously_permit_weak_or_unset_master_key: true, disable_spend_logs: true }}\n",
            api.url(),
        );
        write(&folder, "config.yaml", &config);
        let mut command = Command::new(program);
        command.args(["--config", "config.yaml", "--host", "127.0.0.1"]);
        command.arg("--port").arg(port.to_string());
        // It would ask its maker for prices, and in any other mode read settings from the folders above.
        command.env("LITELLM_MODE", "PRODUCTION");
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        command.env("LITELLM_TELEMETRY", "False");
        Some(Self::started(command, "Uvicorn running", folder, port))
    }

    /// What stands in `OPENAI_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts it, and waits until it has written `ready`.
    fn started(mut command: Command, ready: &str, folder: TempDir, port: u16) -> Self {
        command.current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        let mut child = spawned(command);
        let stderr = child.stderr.take().expect("it is piped");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let mut talk = Vec::new();
        let is_ready = lines.any(|line| {
            let is_ready = line.contains(ready);
            talk.push(line);
            is_ready
        });
        assert!(is_ready, "the server ended:\n{}", talk.join("\n"));
        // Whatever else it writes: nobody reads it, and it shall not wait for that.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            port,
            _folder: folder,
        }
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has noticed then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn new_folder() -> TempDir {
    TempDir::new().expect("the system has a folder for temporary files")
}

/// A port that nobody listens at just now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound").port()
}

fn write(folder: &TempDir, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).expect("the folder can be written to");
}
