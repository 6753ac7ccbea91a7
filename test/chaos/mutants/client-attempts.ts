import type { Mutant } from './mutant.ts';

const connection = 'src/client/connection.ts';
const policyTest = 'test/client/policy.test.ts';

/** The rules of attempts: when one is made, and when no more. */
export const clientAttemptMutants: readonly Mutant[] = [
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
    name: 'should-reconnect',
    rule: '`shouldReconnect` decides before the codes do.',
    file: 'src/client/connection.ts',
    find: 'shouldReconnect?.({ ...how, error })) ??',
    replace: 'undefined) ??',
    killers: [
      ['test/client/policy.test.ts', 'asks shouldReconnect first, and survives that it throws'],
    ],
  },
  {
    name: 'unwanted-goes-idle',
    rule: 'A connection that nobody holds is not dialled again.',
    file: 'src/client/connection.ts',
    find: "if (!handlers.isWanted()) end('idle', error, how);\n    else if",
    replace: 'if',
    killers: [['test/client/policy.test.ts', 'goes idle instead of retrying when nobody holds']],
  },
  {
    name: 'retry-delay-once',
    rule: 'The delay that a server asks for counts once.',
    file: 'src/client/connection.ts',
    find: 'extraDelay = 0;\n    // The',
    replace: '// The',
    killers: [
      ['test/client/policy.test.ts', 'takes the spread and the delay that a server asks for'],
    ],
  },
  {
    name: 'first-cause',
    rule: 'An outage keeps its first cause.',
    file: 'src/client/connection.ts',
    find: '(state.error ?? why)',
    replace: '(why ?? state.error)',
    killers: [['test/client/policy.test.ts', 'ends after maxRetries with the first cause']],
  },
  {
    name: 'provider-told',
    rule: 'A provider whose attempt is given up is told so.',
    file: 'src/client/connection.ts',
    find: 'given?.abort();',
    replace: 'void given;',
    killers: [['test/client/policy.test.ts', 'that hangs ends at the connect timeout']],
  },
  {
    name: 'late-url',
    rule: 'A url that comes after its attempt was given up is not dialled.',
    file: 'src/client/connection.ts',
    find: 'signal.aborted || dialer?.dial(',
    replace: 'dialer?.dial(',
    killers: [['test/client/policy.test.ts', 'that hangs ends at the connect timeout']],
  },
  {
    name: 'retries-end',
    rule: 'Retries end at `maxRetries`.',
    file: 'src/client/connection.ts',
    find: 'else if (isRetried && attempt <= maxRetries) wait',
    replace: 'else if (isRetried) wait',
    killers: [['test/client/policy.test.ts', 'ends after maxRetries with the first cause']],
  },
  {
    name: 'shown-again',
    rule: 'A page that is shown again may retry, whatever was closed as it was left.',
    file: 'src/client/connection.ts',
    find: 'needsAuth = isSuspended = false;',
    replace: 'needsAuth = false;',
    killers: [
      [
        'test/client/policy.test.ts',
        'that closes the client as it is left, and opens it as it is shown again, has its retries',
      ],
    ],
  },
];
