// A process that stands ready to become an agent: it is told what to become before there is leave to
// begin, and becomes it with one byte. In C, since it has to be small and begin at once: it idles
// beside every daemon, and what becomes an agent must bring no runtime along.
//
// Standard input is a stream socket, and whoever holds its other end says, in this order:
//
// 1. three descriptors (SCM_RIGHTS) for the agent's standard input, output and errors, with three
//    native 32-bit numbers: the bytes that follow, how many of its strings are words, and how many
//    are variables of the environment;
// 2. strings, each with a zero behind it: the folder, empty to stay; the program; its words, of which
//    the first is its name; the variables, as NAME=value;
// 3. one byte, when it may begin.
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
#include <sys/socket.h>
#include <unistd.h>

enum { DESCRIPTORS = 3, BYTES_MAX = 16 * 1024 * 1024, FAILED = 127, MISUSED = 64 };

struct order {
  uint32_t bytes;
  uint32_t words;
  uint32_t variables;
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
    // Nobody wants anything of it any more.
    if (got == 0) _exit(0);
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
  if (got == 0) _exit(0);
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

int main(void) {
  // Above the descriptors that the agent gets, and closed when it begins.
  control = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, DESCRIPTORS);
  if (control < 0) _exit(FAILED);

  int descriptors[DESCRIPTORS];
  struct order order = receive_order(descriptors);
  require(order.bytes <= BYTES_MAX, E2BIG);
  char *bytes = malloc((size_t)order.bytes + 1);
  require(bytes != NULL, ENOMEM);
  read_all(bytes, order.bytes);

  char *place = bytes;
  const char *limit = bytes + order.bytes;
  const char *folder = next_string(&place, limit);
  const char *program = next_string(&place, limit);
  char **words = next_strings(&place, limit, order.words);
  char **variables = next_strings(&place, limit, order.variables);
  for (int number = 0; number < DESCRIPTORS; number++) {
    require(dup2(descriptors[number], number) >= 0, errno);
    close(descriptors[number]);
  }

  char leave;
  read_all(&leave, 1);
  if (*folder != 0 && chdir(folder) != 0) fail('f', errno);
  execve(program, words, variables);
  fail('p', errno);
}
