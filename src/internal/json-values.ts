/** Whether a value off the wire is a JSON object, so that its fields may be looked at. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value off the wire is text. */
export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A value off the wire where it is text. */
export function textOf(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
}
