import jsonPatch from 'fast-json-patch';
import type { JsonPatchOperation } from '../ag-ui/apply-patch.ts';

/**
 * What turns one state into another, as JSON Patch (RFC 6902): the `delta` of a `STATE_DELTA`.
 *
 * Both are read as JSON: what JSON cannot say does not count. Equal states give an empty list, for
 * which no event is needed.
 *
 * @example
 * ```ts
 * const delta = stateDelta(before, after);
 * if (delta.length) yield { type: 'STATE_DELTA', delta };
 * ```
 */
export function stateDelta(before: unknown, after: unknown): JsonPatchOperation[] {
  const [old, next] = [toJson(before), toJson(after)];
  if (!isSameKind(old, next)) {
    return Object.is(old, next) ? [] : [{ op: 'replace', path: '', value: next }];
  }
  return jsonPatch.compare(old as object, next as object) as JsonPatchOperation[];
}

function toJson(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? null : JSON.parse(text);
}

function isSameKind(a: unknown, b: unknown): boolean {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null;
  return isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b);
}
