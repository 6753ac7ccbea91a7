import type { WebSocketData } from '../client/types.ts';

/** Whether a frame has more bytes than `limit`; text is measured in full only where its characters leave it open. */
export function isLarger(data: WebSocketData | undefined, limit: number): boolean {
  if (typeof data !== 'string') return Number(data?.byteLength) > limit;
  return data.length * 3 > limit && new TextEncoder().encode(data).length > limit;
}
