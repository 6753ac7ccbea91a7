import { RunSocketError } from '../internal/errors.ts';
import type { StandardSchema } from '../internal/standard-schema.ts';
import type { WebSocketData } from './types.ts';

/** The default `parse`: JSON, as text or in UTF-8 bytes. */
export function parseJson(data: string | ArrayBuffer): unknown {
  return JSON.parse(
    typeof data === 'string' ? data : new TextDecoder('utf-8', { fatal: true }).decode(data),
  );
}

/** How long a frame is; `undefined` for what is none. */
export function getSize(data: WebSocketData | undefined): number {
  return ((data as string | undefined)?.length ??
    (data as ArrayBuffer | undefined)?.byteLength) as number;
}

/** Make what turns a message into a frame; it throws what `serialize` throws, and `invalid-argument` where that makes nothing. */
export function createEncoder(
  serialize: (message: never) => WebSocketData | undefined,
): (message: unknown) => WebSocketData {
  return (message) => {
    const data = serialize(message as never);
    if (getSize(data) === undefined) throw new RunSocketError('invalid-argument', 'No message.');
    return data as WebSocketData;
  };
}

/** What `schema` makes of a message; throws where it does not fit. */
export function validate<In>(message: unknown, schema: StandardSchema<In> | undefined): In {
  if (!schema) return message as In;
  const result = schema['~standard'].validate(message);
  if ('value' in result && !result.issues) return result.value;
  // An issue also names the place in the message.
  throw (result as { readonly issues?: readonly unknown[] }).issues?.[0] ?? result;
}
