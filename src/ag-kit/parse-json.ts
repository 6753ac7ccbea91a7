import { isText } from '../internal/json-values.ts';

/** The value of JSON text; what is no JSON text stays as it is. */
export function parseJson(value: unknown): unknown {
  if (!isText(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
