import { expect } from 'vitest';
import { applyPatch, type JsonPatchOperation } from '../../src/ag-ui/apply-patch.ts';
import { isRunSocketError, type RunSocketError } from '../../src/internal/errors.ts';
import { deepFreeze } from '../helpers/deep-freeze.ts';

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
