import { describe, expect, it } from 'vitest';
import { readEvents } from '../examples/ag-kit-server.ts';

describe('the stream of an AG-Kit server', () => {
  it('that breaks says so, in place of what the network calls it', async () => {
    const cause = new TypeError('terminated');
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(cause);
      },
    });
    await expect(readEvents(body)).rejects.toMatchObject({
      message: 'The stream of the AG-Kit server broke.',
      cause,
    });
  });
});
