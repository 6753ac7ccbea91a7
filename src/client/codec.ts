import { RunSocketError } from '../internal/errors.ts';
import type { WebSocketClientOptions, WebSocketData } from './types.ts';

/** Turns messages into frames and back. */
export interface Codec<In> {
  /** Throws what `serialize` throws, and `invalid-argument` where it makes neither text nor bytes. */
  encode(message: unknown): WebSocketData;
  /** Throws what `parse` throws. */
  decode(data: string | ArrayBuffer): unknown;
  /** What `schema` makes of a message; throws where it does not fit. */
  check(message: unknown): In;
}

function parseJson(data: string | ArrayBuffer): unknown {
  return JSON.parse(
    typeof data === 'string' ? data : new TextDecoder('utf-8', { fatal: true }).decode(data),
  );
}

/** Make the codec that the options ask for. */
export function createCodec<In, Out>(options: WebSocketClientOptions<In, Out>): Codec<In> {
  const { parse = parseJson, serialize = JSON.stringify, schema } = options;
  return {
    encode(message) {
      const data = serialize(message as Out) as WebSocketData | undefined;
      if (typeof data !== 'string' && typeof data?.byteLength !== 'number') {
        throw new RunSocketError('invalid-argument', 'The message cannot be serialised.');
      }
      return data;
    },
    decode: parse,
    check(message) {
      if (!schema) return message as In;
      const result = schema['~standard'].validate(message);
      if ('then' in result) {
        result.then(undefined, () => {});
        throw new TypeError('the schema is asynchronous');
      }
      if (result.issues) {
        throw Object.assign(new TypeError(result.issues.map((issue) => issue.message).join('; ')), {
          issues: result.issues,
        });
      }
      return result.value;
    },
  };
}
