import { isContainer } from '../internal/equal-json.ts';
import { RunSocketError } from '../internal/errors.ts';

/** Throws `patch-failed`; who applies the operation adds which one it was. */
export function fail(reason: string): never {
  throw new RunSocketError('patch-failed', reason);
}

/** Text for a message: what comes off the wire may be of any type and length. */
export function show(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 99) : typeof value;
}

// A stream of text sends one and the same pointer with every token.
let last = '';
let lastTokens = [''];

/**
 * Split a JSON Pointer (RFC 6901) into its tokens. Throws for anything else.
 *
 * The first token is always `''`, so that in a holder with the document under the key `''` the root
 * is a member like any other.
 */
export function parsePointer(pointer: string): string[] {
  if (pointer !== last) {
    if (/^[^/]|~(?![01])/.test(pointer)) fail(`no pointer ${show(pointer)}`);
    const tokens = pointer.split('/');
    lastTokens = /~/.test(pointer)
      ? tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
      : tokens;
    last = pointer;
  }
  return lastTokens.slice();
}

/** The index that `token` is in an array of `length` items: RFC 6901 has one way to write a number. */
export function toIndex(token: string, length: number): number {
  const index = (token as unknown as number) >>> 0;
  return index < length && `${index}` === token ? index : fail(`no index ${show(token)}`);
}

/** One step of a pointer: the own member `token` of `value`. */
export function getMember(value: unknown, token: string): unknown {
  if (Array.isArray(value)) return value[toIndex(token, value.length)];
  return isContainer(value) && Object.hasOwn(value, token)
    ? (value as Record<string, unknown>)[token]
    : fail(`no member ${show(token)}`);
}
