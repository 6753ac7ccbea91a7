import type { AgUiAgent } from '../ag-ui/agent-types.ts';
import type { AgUiThread } from '../ag-ui/thread.ts';
import { useStore } from './use-store.ts';

/** Options of {@link useAgUiAgent}. */
export interface UseAgUiAgentOptions<S, Selected = AgUiThread<S>> {
  /**
   * The part of the thread to return: the component renders only when it changes (`Object.is`). It may
   * be written inline; what it throws is thrown while rendering.
   *
   * @default the whole thread
   */
  readonly select?: ((thread: AgUiThread<S>) => Selected) | undefined;
  /** `frame` renders at most once a frame, however many events arrive. @default once an event */
  readonly batch?: 'frame' | undefined;
}

const wholeThread = (thread: unknown) => thread;

/**
 * The agent's thread, re-rendering on every event.
 *
 * The agent connects while a component that uses it is mounted. Server rendering and hydration show
 * the thread that the agent was created with; what was remembered shows right after.
 *
 * @example
 * const { messages, status } = useAgUiAgent(agent);
 * const plan = useAgUiAgent(agent, { select: (thread) => thread.state.plan, batch: 'frame' });
 */
export function useAgUiAgent<S>(agent: AgUiAgent<S>): AgUiThread<S>;
export function useAgUiAgent<S, Selected = AgUiThread<S>>(
  agent: AgUiAgent<S>,
  options: UseAgUiAgentOptions<S, Selected>,
): Selected;
export function useAgUiAgent(
  agent: AgUiAgent<unknown>,
  { select, batch }: UseAgUiAgentOptions<unknown, unknown> = {},
): unknown {
  return useStore(agent, select ?? wholeThread, batch === 'frame');
}
