import { expect } from 'vitest';
import { applyPatch, type JsonPatchOperation } from '../../src/ag-ui/apply-patch.ts';
import { isRunSocketError, type RunSocketError } from '../../src/internal/errors.ts';

/** Freezes a value and everything in it, however deep. */
export function deepFreeze<T>(value: T): T {
  const stack: unknown[] = [value];
  while (stack.length) {
    const next = stack.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const key of Object.keys(next)) stack.push((next as Record<string, unknown>)[key]);
  }
  return value;
}

/** Applies to a frozen document with frozen operations: any write to either throws. */
export function patch(document: unknown, ...operations: unknown[]): unknown {
  return applyPatch(
    deepFreeze(document),
    deepFreeze(operations) as readonly JsonPatchOperation[],
  ) as unknown;
}

/** The error of a patch that cannot be applied. */
export function failure(document: unknown, ...operations: unknown[]): RunSocketError {
  let result: unknown;
  try {
    result = patch(document, ...operations);
  } catch (error) {
    if (isRunSocketError(error, 'patch-failed')) return error;
    throw error;
  }
  return expect.fail(`applied: ${JSON.stringify(result)}`);
}

/** A document whose member `d` nests `depth` times. */
export function nest(depth: number, leaf: unknown): Record<string, unknown> {
  let node: unknown = leaf;
  for (let i = 0; i < depth; i++) node = { d: node, side: 1 };
  return node as Record<string, unknown>;
}
