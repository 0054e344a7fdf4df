// Child processes for tests that kill, starve or confine.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lanewise::cache {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanewise-cache-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
    chmod(path_.c_str(), 0755);
  }
  ~Folder() {
    chmod(path_.c_str(), 0755);
    chmod((path_ + "/v1").c_str(), 0755);
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Everything in it may be read by all and written by nobody.
  void forbid_writing() const {
    for (const char* file : {"/v1/data.mdb", "/v1/lock.mdb"}) chmod((path_ + file).c_str(), 0444);
    chmod((path_ + "/v1").c_str(), 0555);
    chmod(path_.c_str(), 0555);
  }

 private:
  std::string path_;
};

/// Runs `body` in a child, whose exit status is the result.
template <class Body>
pid_t start_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child;
}

/// The exit status; 1000 plus the signal if it was killed.
inline int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

template <class Body>
int in_child(Body body) {
  return wait_for(start_child(body));
}

/// Kills with SIGKILL; false if the child had ended before.
inline bool kill_child(pid_t child) {
  kill(child, SIGKILL);
  return wait_for(child) == 1000 + SIGKILL;
}

inline bool limit_file_size(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/// Root may write everywhere; nobody may not.
inline bool become_nobody() { return geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0); }

} // namespace lanewise::cache
