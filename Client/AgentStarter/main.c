// A process that stands ready to become an agent: it is told what to become before there is leave to
// begin, and becomes it with one byte. In C, since it has to be small and begin at once: it idles
// beside every daemon, and what becomes an agent must bring no runtime along.
//
// Standard input is a stream socket, and whoever holds its other end says, in this order:
//
// 1. two descriptors (SCM_RIGHTS) for the agent's standard output and errors, with four native 32-bit
//    numbers: the bytes of all strings, how many of them are words, how many are variables of the
//    environment, and the bytes of the agent's standard input;
// 2. the strings, each with a zero behind it: the folder, empty to stay; the program; its words, of
//    which the first is its name; the variables, as NAME=value;
// 3. the standard input: the agent gets it as a file, so that it need not read it;
// 4. one byte, when it may begin.
//
// Where the other end is closed before that, nothing is started. Once the agent runs, this end is closed
// and nothing was said; else it was said at what it failed ('o' order, 'f' folder, 'p' program), and
// errno as a native 32-bit number.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DESCRIPTORS = 2, BYTES_MAX = 1024 * 1024, FAILED = 127, MISUSED = 64 };

struct order {
  uint32_t bytes;
  uint32_t words;
  uint32_t variables;
  uint32_t input;
};

static int control;

static _Noreturn void fail(char stage, int32_t code) {
  char report[1 + sizeof code] = {stage};
  memcpy(report + 1, &code, sizeof code);
  // Who is gone need not hear of it, and must not be the end of this process by SIGPIPE.
  (void)send(control, report, sizeof report, MSG_NOSIGNAL);
  _exit(FAILED);
}

// What is asked for wrongly, and what the system has no room for.
static void require(int is_met, int32_t code) {
  if (!is_met) fail('o', code);
}

static void read_all(void *place, size_t count) {
  char *next = place;
  while (count > 0) {
    ssize_t got = read(control, next, count);
    if (got < 0 && errno == EINTR) continue;
    // Nobody wants anything of it any more. No success: it is that of an agent that never began.
    if (got == 0) _exit(FAILED);
    require(got > 0, errno);
    next += got;
    count -= (size_t)got;
  }
}

// Reads the order and the descriptors beside it.
static struct order receive_order(int descriptors[DESCRIPTORS]) {
  struct order order;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
  } beside;
  struct iovec part = {&order, sizeof order};
  struct msghdr message = {
      .msg_iov = &part,
      .msg_iovlen = 1,
      .msg_control = beside.bytes,
      .msg_controllen = sizeof beside.bytes,
  };
  ssize_t got;
  do {
    got = recvmsg(control, &message, MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == ENOTSOCK) {
    static const char help[] = "cospool-starter: nothing to do by hand; cospoold runs it\n";
    (void)!write(STDERR_FILENO, help, sizeof help - 1);
    _exit(MISUSED);
  }
  if (got == 0) _exit(FAILED);
  require(got == sizeof order, got < 0 ? errno : EPROTO);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  require(header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
              header->cmsg_len == CMSG_LEN(DESCRIPTORS * sizeof(int)),
          EPROTO);
  memcpy(descriptors, CMSG_DATA(header), DESCRIPTORS * sizeof(int));
  return order;
}

// The next string of an order, which ends before its limit.
static char *next_string(char **place, const char *limit) {
  char *string = *place;
  char *end = memchr(string, 0, (size_t)(limit - string));
  require(end != NULL, EPROTO);
  *place = end + 1;
  return string;
}

static char **next_strings(char **place, const char *limit, uint32_t count) {
  require(count <= BYTES_MAX, EPROTO);
  char **strings = calloc((size_t)count + 1, sizeof(char *));
  require(strings != NULL, ENOMEM);
  for (uint32_t index = 0; index < count; index++) strings[index] = next_string(place, limit);
  return strings;
}

// The next part of what is said, with a zero behind it.
static char *receive(uint32_t count) {
  require(count <= BYTES_MAX, E2BIG);
  char *bytes = calloc((size_t)count + 1, 1);
  require(bytes != NULL, ENOMEM);
  read_all(bytes, count);
  return bytes;
}

// A file without a name at the start of the text, or of nothing.
static int file_holding(const char *text, size_t count) {
  if (count == 0) return open("/dev/null", O_RDONLY | O_CLOEXEC);
#ifdef __linux__
  int file = memfd_create("prompt", MFD_CLOEXEC);
#else
  char name[] = "/tmp/cospool-XXXXXX";
  int file = mkstemp(name);
  if (file >= 0) unlink(name);
#endif
  for (size_t place = 0; file >= 0 && place < count;) {
    ssize_t written = write(file, text + place, count - place);
    require(written > 0 || errno == EINTR, errno);
    if (written > 0) place += (size_t)written;
  }
  require(file < 0 || lseek(file, 0, SEEK_SET) == 0, errno);
  return file;
}

static void use(int descriptor, int number) {
  require(descriptor >= 0 && dup2(descriptor, number) >= 0, errno);
  close(descriptor);
}

int main(void) {
  // Above the descriptors that the agent gets, and closed when it begins.
  control = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (control < 0) _exit(FAILED);

  int descriptors[DESCRIPTORS];
  struct order order = receive_order(descriptors);
  char *strings = receive(order.bytes);
  char *place = strings;
  const char *limit = strings + order.bytes;
  const char *folder = next_string(&place, limit);
  const char *program = next_string(&place, limit);
  char **words = next_strings(&place, limit, order.words);
  char **variables = next_strings(&place, limit, order.variables);
  char *input = receive(order.input);
  use(file_holding(input, order.input), STDIN_FILENO);
  free(input);
  use(descriptors[0], STDOUT_FILENO);
  use(descriptors[1], STDERR_FILENO);

  char leave;
  read_all(&leave, 1);
  if (*folder != 0 && chdir(folder) != 0) fail('f', errno);
  execve(program, words, variables);
  fail('p', errno);
}
