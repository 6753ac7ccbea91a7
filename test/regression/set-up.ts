import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import type { FakePeer } from '../helpers/fake-network.ts';
import { type LooseEvent, reduce, threadOf } from '../helpers/reduce.ts';
import { createV1Server, toFakePeer, type V1Options, type V1Server } from '../helpers/v1-server.ts';
import { createWorld, user, type World, type WorldOptions } from '../helpers/world.ts';

/** A run server, and a page that talks to it over a network in memory. */
export interface Scene {
  readonly server: V1Server;
  readonly world: World;
}

/** Options of a server that knows the messages of the reference page alone. */
export const plain: V1Options = { caps: null };

/** The servers that a rule must hold for. */
export const servers: readonly (readonly [name: string, options: V1Options])[] = [
  ['a v1 server', {}],
  ['a plain server', plain],
];

/** Make a scene; `wrap` may come between the server and its sockets. */
export function createScene(
  options: V1Options = {},
  given: Omit<WorldOptions, 'peer'> = {},
  wrap: (peer: FakePeer) => FakePeer = (peer) => peer,
): Scene {
  const server = createV1Server(options);
  return { server, world: createWorld({ ...given, peer: wrap(toFakePeer(server)) }) };
}

/** What the thread of a run is when the user said Hi and these events came. */
export const foldOf = (...events: LooseEvent[]): ReturnType<typeof reduce> =>
  reduce(threadOf({ id: 'u', ...user('Hi') }), ...events);

/** A thread as the reader sees it: the ids that the client made up are left out. */
export const shown = ({ status, messages }: ReturnType<AgUiAgent['getSnapshot']>): unknown => ({
  status,
  messages: messages.map(({ role, content }) => [role, content]),
});
