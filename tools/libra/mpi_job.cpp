#include "mpi_job.hpp"

#include "cuda_run.hpp"

#include <libra/core/error.hpp>
#include <libra/run/agreement.hpp>

#ifdef LIBRA_WITH_MPI
#include <libra/mpi/attention_run.hpp>
#include <libra/mpi/communicator.hpp>
#include <libra/mpi/transport.hpp>

#include <mpi.h>
#endif

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

namespace libra::tools {
namespace {

/// Words a shell reads as they are.
std::string for_a_shell(std::string const& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (char const c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The arguments with this process's standard input as a file that others may open, in place of "-".
std::vector<std::string> with_input_as_file(std::vector<std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "-" && (i == 0 || arguments[i - 1] != "--json")) {
      arguments[i] = "/proc/" + std::to_string(getpid()) + "/fd/0";
    }
  }
  return arguments;
}

/// This program's file.
std::string program_path() {
  std::array<char, 4096> path{};
  ssize_t const length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "libra";
}

/// A variable of the environment that mpirun's processes start with, unless the user has set it.
struct setting {
  char const* name;
  char const* value;
};
/// What lets ranks share cores, and root run them.
constexpr std::array settings{setting{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                              setting{"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                              setting{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                              setting{"OMPI_MCA_hwloc_base_binding_policy", "none"},
                              setting{"OMPI_MCA_mpi_yield_when_idle", "1"},
                              setting{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};

}  // namespace

bool has_mpi() noexcept {
#ifdef LIBRA_WITH_MPI
  return true;
#else
  return false;
#endif
}

bool in_mpi_job() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

bool speaks_for_the_job() {
  char const* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr || std::string_view(rank) == "0";
}

std::string mpirun_line(std::vector<std::string> const& arguments, std::int32_t ranks) {
  std::string line = message("mpirun -n ", ranks, " --oversubscribe libra");
  for (std::string const& argument : arguments) line += ' ' + for_a_shell(argument);
  return line;
}

void keep_standard_input() {
  int const memory = memfd_create("standard input", MFD_CLOEXEC);
  std::array<char, 1 << 16> block{};
  for (ssize_t got = 1; memory >= 0 && got > 0;) {
    got = read(STDIN_FILENO, block.data(), block.size());
    for (ssize_t put = 0; got > 0 && put < got;) {
      ssize_t const written = write(memory, block.data() + put, static_cast<std::size_t>(got - put));
      require(written > 0, "cannot keep standard input: ", std::strerror(errno));
      put += written;
    }
    require(got >= 0, "cannot read standard input: ", std::strerror(errno));
  }
  require(memory >= 0 && lseek(memory, 0, SEEK_SET) == 0 && dup2(memory, STDIN_FILENO) == STDIN_FILENO,
          "cannot keep standard input: ", std::strerror(errno));
  close(memory);
}

outcome relaunch(std::vector<std::string> const& arguments, std::int32_t ranks) {
  for (setting const& s : settings) {
    setenv(s.name, s.value, 0);
  }
  std::vector<std::string> words{"mpirun", "-q", "-n", std::to_string(ranks), program_path()};
  for (std::string& word : with_input_as_file(arguments)) words.push_back(std::move(word));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  int const failed = posix_spawnp(&child, "mpirun", nullptr, nullptr, pointers.data(), environ);
  if (failed != 0) {
    throw run_error(
        message("cannot start mpirun: ", std::strerror(failed), ". The line is: ", mpirun_line(arguments, ranks)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) <= 2 ? static_cast<outcome>(WEXITSTATUS(status))
                                                       : outcome::check_failed;
}

#ifdef LIBRA_WITH_MPI

mpi_job::mpi_job(std::vector<std::string> const& arguments, std::int32_t ranks) {
  MPI_Init(nullptr, nullptr);
  int const processes = mpi::size_of(MPI_COMM_WORLD);
  if (processes != ranks) {
    MPI_Finalize();
    throw input_error(message("mpirun started ", processes, " processes, the layout has ", ranks,
                              " ranks. The line is: ", mpirun_line(arguments, ranks)));
  }
}

mpi_job::~mpi_job() {
  if (std::uncaught_exceptions() > thrown_before_) {
    // Processes that fail together come here together. One that failed alone would wait without end for the others.
    constexpr std::chrono::seconds grace(10);
    MPI_Request all_here = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &all_here);
    int here = 0;
    for (auto const since = std::chrono::steady_clock::now(); here == 0; std::this_thread::yield()) {
      MPI_Test(&all_here, &here, MPI_STATUS_IGNORE);
      if (here == 0 && std::chrono::steady_clock::now() - since > grace) {
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(outcome::check_failed));
      }
    }
  }
  MPI_Finalize();
}

void mpi_job::agree(placement_fingerprint const& mine, host::attention_run_options const& options) const {
  mpi::transport everyone(MPI_COMM_WORLD, {.timeout = options.timeout});
  libra::agree(everyone, mine);
}

host::attention_run mpi_job::run(host::pool_plans pools, host::attention_run_options const& options,
                                 bool devices) const {
  if (!devices) {
    return mpi::run_attention(pools, MPI_COMM_WORLD, options);
  }
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int here = 0;
  MPI_Comm_rank(machine, &here);
  int const processes_here = mpi::size_of(machine);
  MPI_Comm_free(&machine);
  return mpi::run_attention(pools, MPI_COMM_WORLD, options,
                            [&](mpi::transport& everyone, MPI_Comm pool, std::shared_ptr<pool_plan const> const& plan) {
                              int rank = 0;
                              MPI_Comm_rank(pool, &rank);
                              return run_on_own_device(plan,
                                                       {.rank = rank,
                                                        .ranks = mpi::size_of(pool),
                                                        .here = here,
                                                        .processes_here = processes_here,
                                                        .share =
                                                            [&](std::span<std::byte> bytes) {
                                                              MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()),
                                                                        MPI_BYTE, 0, pool);
                                                            },
                                                        .meet = [&] { everyone.gather({}, {}); }},
                                                       options);
                            });
}

#else

mpi_job::mpi_job(std::vector<std::string> const&, std::int32_t) {
  throw input_error("--backend is mpi, which this libra was built without, expected host");
}
mpi_job::~mpi_job() = default;
void mpi_job::agree(placement_fingerprint const&, host::attention_run_options const&) const {}
host::attention_run mpi_job::run(host::pool_plans, host::attention_run_options const&, bool) const { return {}; }

#endif

}  // namespace libra::tools
