import type { Mutant } from './mutant.ts';

const connection = 'src/client/connection.ts';
const dialer = 'src/client/dialer.ts';
const heartbeat = 'src/client/heartbeat.ts';
const policyTest = 'test/client/policy.test.ts';
const heartbeatTest = 'test/client/heartbeat.test.ts';

/** The rules of one connection. */
export const clientMutants: readonly Mutant[] = [
  {
    name: 'late-frames',
    rule: 'Events of a socket that was given up are never looked at.',
    file: dialer,
    find: 'if (socket === attached) task(event);',
    replace: 'task(event);',
    killers: [
      ['test/client/dialer.test.ts', 'detaches first: nothing of the old socket is looked at'],
    ],
  },
  {
    name: 'detach-before-close',
    rule: 'A socket is detached first and closed second.',
    file: dialer,
    find: 'attached = undefined;\n      engine?.close(code, reason);',
    replace: 'engine?.close(code, reason);\n      attached = undefined;',
    killers: [['test/client/dialer.test.ts', 'detaches before it closes']],
  },
  {
    name: 'no-goodbye',
    rule: 'Nobody waits for the goodbye of a socket that was given up.',
    file: dialer,
    find: 'if (!code) socket?.terminate?.();',
    replace: '',
    killers: [['test/client/dialer.test.ts', 'without a code waits for nobody']],
  },
  {
    name: 'reset-after-stable-life',
    rule: 'The backoff resets after 5 s of stable life, never by a mere open.',
    file: connection,
    find: "liveness.open(now());\n    go(\n      'open',",
    replace: "liveness.open(now());\n    attempt = 0;\n    go(\n      'open',",
    killers: [[policyTest, 'waits as the backoff says and resets only after stable life']],
  },
  {
    name: 'first-delay-jitter',
    rule: 'The first attempt after a drop comes uniformly within a second.',
    file: 'src/client/backoff.ts',
    find: '? chance * first',
    replace: '? first',
    killers: [[policyTest, 'spreads the first attempt of 300 clients evenly over a second']],
  },
  {
    name: 'backoff-growth',
    rule: 'The waits between attempts grow up to their limit.',
    file: 'src/client/backoff.ts',
    find: 'min * factor ** retry',
    replace: 'min * factor',
    killers: [['test/client/backoff.test.ts', 'is uniform in the bounds of its attempt']],
  },
  {
    name: 'connect-timeout',
    rule: 'An attempt ends after 8 s.',
    file: connection,
    find: "'Connect timeout.')),\n      connectTimeout,",
    replace: "'Connect timeout.')),\n      2 ** 31 - 1,",
    killers: [
      ['test/client/endings.test.ts', 'that is never upgraded ends at the limit and is retried'],
    ],
  },
  {
    name: 'connect-timeout-covers-url',
    rule: 'The connect timeout includes the url provider.',
    file: connection,
    find: `      () => ended(broken, 0, new RunSocketError('timeout', 'Connect timeout.')),
      connectTimeout,
      next,
    );
    Promise.all([ask(url), ask(protocols)]).then(
      ([address, names]) => signal.aborted || dialer?.dial(\`\${address}\`, names),`,
    replace: `      undefined,
      undefined,
      next,
    );
    Promise.all([ask(url), ask(protocols)]).then(
      ([address, names]) => {
        if (signal.aborted) return;
        stopTimer = setTimer(
          () => ended(broken, 0, new RunSocketError('timeout', 'Connect timeout.')),
          connectTimeout,
        );
        dialer?.dial(\`\${address}\`, names);
      },`,
    killers: [[policyTest, 'that hangs ends at the connect timeout']],
  },
  {
    name: 'url-asked-each-attempt',
    rule: 'The providers of url and protocols are asked anew for each attempt.',
    file: connection,
    find: "typeof provider === 'function' ? provider(context) : provider;",
    replace:
      "typeof provider === 'function' ? ((provider as any).known ??= provider(context)) : provider;",
    killers: [[policyTest, 'asks the providers of url and protocols anew for every attempt']],
  },
  {
    name: 'auth-once-more',
    rule: 'After 4401 and 4403 the url provider is asked once more.',
    file: connection,
    find: '!(isAuth ? needsAuth : isFinalCode(how.code))',
    replace: '!(isAuth || isFinalCode(how.code))',
    killers: [[policyTest, 'asks once more after 4401, then stops']],
  },
  {
    name: 'auth-twice-is-final',
    rule: 'A second 4401 or 4403 is final.',
    file: connection,
    find: '!(isAuth ? needsAuth : isFinalCode(how.code))',
    replace: '!(!isAuth && isFinalCode(how.code))',
    killers: [[policyTest, 'asks once more after 4401, then stops']],
  },
  {
    name: 'auth-after-stable-life',
    rule: 'Stable life rearms the extra question after 4401 and 4403.',
    file: connection,
    find: 'needsAuth = false;\n        if (attempt)',
    replace: 'if (attempt)',
    killers: [[policyTest, 'has the extra question again after stable life']],
  },
  {
    name: 'final-codes',
    rule: 'Closes that blame the client are final.',
    file: connection,
    find: '!(isAuth ? needsAuth : isFinalCode(how.code))',
    replace: '!(isAuth && needsAuth)',
    killers: [['test/client/endings.test.ts', 'closed with']],
  },
  {
    name: 'retry-later-codes',
    rule: '4408 and 4429 are retried.',
    file: 'src/client/backoff.ts',
    find: '44(?!0[138]|29)',
    replace: '44(?!0[13])',
    killers: [['test/client/backoff.test.ts', 'knows every code that the client is to blame for']],
  },
  {
    name: 'too-large-blame',
    rule: '1009 blames the largest frame since the last one received.',
    file: 'src/client/websocket-client.ts',
    find: 'largest = undefined;\n      read(',
    replace: 'read(',
    killers: [
      ['test/client/messages.test.ts', 'blames the largest frame since the last one received'],
    ],
  },
  {
    name: 'too-large-fails-once',
    rule: '1009 fails the message to blame, and the connection goes on.',
    file: 'src/client/websocket-client.ts',
    find: 'if (close?.code === 1009 && largest) {',
    replace: 'if (!close && largest) {',
    killers: [
      ['test/client/messages.test.ts', 'blames the largest frame since the last one received'],
    ],
  },
  {
    name: 'queue-limit',
    rule: 'The queue of unsent messages has a limit.',
    file: 'src/client/outbox.ts',
    find: 'if (outbox.size >= limit) throw',
    replace: 'if (outbox.size === Infinity) throw',
    killers: [
      ['test/client/messages.test.ts', 'throws queue-full past the limit and loses nothing'],
    ],
  },
  {
    name: 'ping-watchdog',
    rule: 'A ping that no frame answers within 5 s gives the socket up.',
    file: heartbeat,
    find: 'if (isOver && (probes > 1',
    replace: 'if (isOver && !ping && (probes > 1',
    killers: [[heartbeatTest, 'is pinged after the heartbeat and swapped 5 s later']],
  },
  {
    name: 'ping-sent',
    rule: 'Silence is answered by a ping.',
    file: heartbeat,
    find: "if (ping) act = 'ping';",
    replace: '',
    killers: [[heartbeatTest, 'is pinged after the heartbeat and swapped 5 s later']],
  },
  {
    name: 'any-frame-is-life',
    rule: 'Any frame answers a ping and resets the idle time.',
    file: connection,
    find: 'liveness.frame(now());',
    replace: '',
    killers: [[heartbeatTest, 'end nothing while any frame answers them']],
  },
  {
    name: 'idle-swap',
    rule: 'A silent socket is replaced while a run streams.',
    file: connection,
    find: "else if (act) connect('idle', new RunSocketError('timeout', 'Idle timeout.'));",
    replace: '',
    killers: [[heartbeatTest, 'is swapped after the idle timeout while a run streams']],
  },
  {
    name: 'idle-doubles',
    rule: 'The idle timeout doubles while the run stays quiet.',
    file: heartbeat,
    find: 'interval = Math.min(interval * 2, longestIdle);',
    replace: '',
    killers: [[heartbeatTest, 'is swapped ever later while the run stays quiet']],
  },
  {
    name: 'wake-up-grace',
    rule: 'A page that wakes up gives its socket 1 s for any frame.',
    file: heartbeat,
    find: '|| (woken && !probes)',
    replace: '',
    killers: [
      [heartbeatTest, 'a page that is seen again probes: pings, or 1 s for a streaming run'],
    ],
  },
  {
    name: 'sleep-is-noticed',
    rule: 'A leap of the clock is a wake-up.',
    file: heartbeat,
    find: '|| (late >= tick && !hidden)',
    replace: '',
    killers: [[heartbeatTest, 'a leap of the wall clock alone is noticed within 5 s']],
  },
  {
    name: 'late-look-asks-again',
    rule: 'A timer that slept with its page ends nothing before frames could be read.',
    file: heartbeat,
    find: '(late < grace && (probes || !ping))',
    replace: '(probes || !ping)',
    killers: [[heartbeatTest, 'a ping from before gets a new chance']],
  },
  {
    name: 'pagehide-closes',
    rule: 'A page that is left closes its socket.',
    file: connection,
    find: "wait(new RunSocketError('closed', 'pagehide'));",
    replace: '',
    killers: [[policyTest, 'closes when it is left and dials when it is shown again']],
  },
  {
    name: 'pageshow-dials',
    rule: 'A page that comes back from the cache dials at once.',
    file: connection,
    find: "handlers.page('show');\n      connect('wake');",
    replace: "handlers.page('show');",
    killers: [[policyTest, 'closes when it is left and dials when it is shown again']],
  },
  {
    name: 'offline-detaches',
    rule: '`offline` detaches the socket.',
    file: connection,
    find: "if (!isSuspended) wait(new RunSocketError('closed', 'offline'));",
    replace: '',
    killers: [[policyTest, 'is detached offline and dialled at once when it is back']],
  },
  {
    name: 'online-dials',
    rule: '`online` dials at once.',
    file: connection,
    find: 'online: wake,',
    replace: 'online() {},',
    killers: [[policyTest, 'is detached offline and dialled at once when it is back']],
  },
  {
    name: 'offline-is-doubted',
    rule: 'While the browser says that it is offline there is one attempt every 30 s.',
    file: connection,
    find: 'if (page.navigator?.onLine === false) delay = Math.max(delay, 30_000);',
    replace: '',
    killers: [
      [policyTest, 'makes one attempt every 30 s while the browser says that it is offline'],
    ],
  },
  {
    name: 'reconnect-leaves-backoff',
    rule: '`reconnect()` dials now and leaves the backoff as it is.',
    file: connection,
    find: "reason = needsAuth ? 'auth' : why;",
    replace: "reason = needsAuth ? 'auth' : why;\n    if (why === 'manual') attempt = 0;",
    killers: [[policyTest, 'dials at once on reconnect() and leaves the backoff as it is']],
  },
  {
    name: 'spread',
    rule: 'A server says over how long its clients scatter.',
    file: connection,
    find: 'backoff = { ...backoff, first: spread } as BackoffOptions;',
    replace: 'void spread;',
    killers: [[policyTest, 'takes the spread and the delay that a server asks for']],
  },
  {
    name: 'linger',
    rule: 'The connection outlives its last holder by a moment.',
    file: 'src/client/websocket-client.ts',
    find: 'else stopLinger = setTimer(rest, linger);',
    replace: 'else rest();',
    killers: [[policyTest, 'dials once for many holders and lingers after the last']],
  },
];
