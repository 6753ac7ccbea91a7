import { act, cleanup, render, renderHook } from '@testing-library/react';
import { Component, type ReactNode, StrictMode, useLayoutEffect } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgUiAgent } from '../../src/ag-ui/agent-types.ts';
import type { AgUiThread } from '../../src/ag-ui/thread.ts';
import { type UseAgUiAgentOptions, useAgUiAgent } from '../../src/react/use-ag-ui-agent.ts';
import { createFakeAgent } from './fake-agent.ts';

interface Plan {
  readonly title: string;
  readonly steps: number;
}

const plan: Plan = { title: 'Ship', steps: 0 };
const consoleError = vi.spyOn(console, 'error');
const consoleWarn = vi.spyOn(console, 'warn');

beforeEach(() => {
  consoleError.mockReset();
  consoleWarn.mockReset();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  expect(consoleError).not.toHaveBeenCalled();
  expect(consoleWarn).not.toHaveBeenCalled();
});

/** Renders the hook and counts the renders. */
function hook<T>(
  agent: AgUiAgent<Plan>,
  options?: UseAgUiAgentOptions<Plan, T> | (() => UseAgUiAgentOptions<Plan, T>),
) {
  let renders = 0;
  const view = renderHook(() => {
    renders++;
    return useAgUiAgent<Plan, T>(
      agent,
      (typeof options === 'function' ? options() : options) as UseAgUiAgentOptions<Plan, T>,
    );
  });
  return {
    ...view,
    get renders() {
      return renders;
    },
    get value() {
      return view.result.current;
    },
  };
}

describe('useAgUiAgent', () => {
  it('returns the thread and renders on every notification', () => {
    const fake = createFakeAgent(plan);
    const view = hook<AgUiThread<Plan>>(fake.agent);
    expect(view.value).toBe(fake.agent.getSnapshot());
    for (let steps = 1; steps <= 3; steps++) {
      act(() => fake.set({ state: { ...plan, steps } }));
      expect(view.value).toBe(fake.agent.getSnapshot());
      expect(view.value.state.steps).toBe(steps);
    }
    expect(view.renders).toBe(4);
  });

  it('returns the thread with options that select nothing', () => {
    const fake = createFakeAgent(plan);
    expect(hook(fake.agent, {}).value).toBe(fake.agent.getSnapshot());
    expect(hook(fake.agent, { batch: 'frame' }).value).toBe(fake.agent.getSnapshot());
    expect(hook(fake.agent, { select: undefined, batch: undefined }).value).toBe(
      fake.agent.getSnapshot(),
    );
  });

  it('subscribes once, through renders too, and leaves when unmounted', () => {
    const fake = createFakeAgent(plan);
    const view = hook<number>(fake.agent, () => ({ select: (thread) => thread.state.steps }));
    view.rerender();
    act(() => fake.set({ state: { ...plan, steps: 1 } }));
    expect(fake.subscriptions).toBe(1);
    view.unmount();
    expect(fake.listening).toBe(0);
  });

  it('leaves nobody behind under StrictMode', () => {
    const fake = createFakeAgent(plan);
    const view = renderHook(() => useAgUiAgent(fake.agent), { wrapper: StrictMode });
    expect(fake.listening).toBe(1);
    act(() => fake.set({ status: 'running' }));
    expect(view.result.current.status).toBe('running');
    view.unmount();
    expect(fake.listening).toBe(0);
  });

  it('misses no change between its first render and its subscription', () => {
    const fake = createFakeAgent(plan);
    const view = render(<Early fake={fake} />);
    expect(view.container.textContent).toBe('9');
  });

  it('shows the thread of another agent from the render on that names it', () => {
    const first = createFakeAgent(plan);
    const second = createFakeAgent<Plan>({ title: 'Other', steps: 7 });
    const seen: string[] = [];
    const view = renderHook(
      ({ agent }) => {
        const title = useAgUiAgent(agent, { select: (thread) => thread.state.title });
        seen.push(title);
        return title;
      },
      { initialProps: { agent: first.agent } },
    );
    view.rerender({ agent: second.agent });
    expect(seen).toEqual(['Ship', 'Other']);
    expect([first.listening, second.listening]).toEqual([0, 1]);
    act(() => first.set({ state: { ...plan, title: 'late' } }));
    act(() => second.set({ state: { ...plan, title: 'Next' } }));
    expect(seen).toEqual(['Ship', 'Other', 'Next']);
  });
});

describe('select', () => {
  it('renders only when what it returns changes', () => {
    const fake = createFakeAgent(plan);
    const view = hook<string>(fake.agent, () => ({ select: (thread) => thread.state.title }));
    act(() => fake.set({ state: { ...plan, steps: 1 } }));
    act(() => fake.set({ status: 'running' }));
    expect(view.renders).toBe(1);
    act(() => fake.set({ state: { ...plan, title: 'Rest' } }));
    expect(view.value).toBe('Rest');
    expect(view.renders).toBe(2);
  });

  it('compares with Object.is', () => {
    const fake = createFakeAgent(plan);
    const view = hook<number>(fake.agent, () => ({ select: () => Number.NaN }));
    act(() => fake.set({ status: 'running' }));
    expect(view.renders).toBe(1);
  });

  it('may be written inline and return a new object each time', () => {
    const fake = createFakeAgent(plan);
    const view = hook<{ readonly status: string }>(fake.agent, () => ({
      select: ({ status }) => ({ status }),
    }));
    expect(view.renders).toBe(1);
    act(() => fake.set({ status: 'running' }));
    expect(view.value).toEqual({ status: 'running' });
    expect(view.renders).toBe(2);
    view.rerender();
    expect(view.renders).toBe(3);
  });

  it('runs once for each thread where it stays the same function', () => {
    const fake = createFakeAgent(plan);
    const select = vi.fn((thread: AgUiThread<Plan>) => ({ steps: thread.state.steps }));
    const view = hook<{ readonly steps: number }>(fake.agent, { select });
    const first = view.value;
    view.rerender();
    view.rerender();
    expect(view.value).toBe(first);
    expect(select).toHaveBeenCalledTimes(1);
    act(() => fake.set({ state: { ...plan, steps: 1 } }));
    view.rerender();
    expect(view.value).toEqual({ steps: 1 });
    expect(select).toHaveBeenCalledTimes(2);
  });

  it('sees the props of the render that it belongs to', () => {
    const fake = createFakeAgent(plan);
    const view = renderHook(
      ({ add }) => useAgUiAgent(fake.agent, { select: (thread) => thread.state.steps + add }),
      { initialProps: { add: 10 } },
    );
    view.rerender({ add: 20 });
    expect(view.result.current).toBe(20);
    act(() => fake.set({ state: { ...plan, steps: 1 } }));
    expect(view.result.current).toBe(21);
  });

  it('that throws reaches the error boundary and no other listener', () => {
    consoleError.mockImplementation(() => {});
    const fake = createFakeAgent(plan);
    const other = hook<string>(fake.agent, () => ({ select: (thread) => thread.status }));
    const view = render(
      <Boundary>
        <Picky agent={fake.agent} />
      </Boundary>,
    );
    expect(view.container.textContent).toBe('0');
    act(() => fake.set({ state: { ...plan, steps: -1 }, status: 'running' }));
    expect(view.container.textContent).toBe('caught: below zero');
    expect(other.value).toBe('running');
    expect(fake.listening).toBe(1);
    // React reports what a boundary catches; nothing else is said.
    for (const [first] of consoleError.mock.calls) expect(String(first)).toMatch(/boundary|%o/i);
    consoleError.mockReset();
  });

  it('that threw is asked again after the boundary is left', () => {
    consoleError.mockImplementation(() => {});
    const fake = createFakeAgent<Plan>({ ...plan, steps: -1 });
    const view = render(
      <Boundary key="first">
        <Picky agent={fake.agent} />
      </Boundary>,
    );
    expect(view.container.textContent).toBe('caught: below zero');
    act(() => fake.set({ state: { ...plan, steps: 4 } }));
    view.rerender(
      <Boundary key="second">
        <Picky agent={fake.agent} />
      </Boundary>,
    );
    expect(view.container.textContent).toBe('4');
    consoleError.mockReset();
  });
});

describe("batch: 'frame'", () => {
  const nextFrame = () => act(() => vi.advanceTimersToNextFrame());

  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'requestAnimationFrame', 'cancelAnimationFrame'],
    });
  });

  it('renders once a frame, with the newest thread', () => {
    const fake = createFakeAgent(plan);
    const view = hook<AgUiThread<Plan>>(fake.agent, { batch: 'frame' });
    act(() => {
      for (let steps = 1; steps <= 100; steps++) fake.set({ state: { ...plan, steps } });
    });
    expect(view.renders).toBe(1);
    nextFrame();
    expect(view.value.state.steps).toBe(100);
    expect(view.renders).toBe(2);
    nextFrame();
    expect(view.renders).toBe(2);
    act(() => fake.set({ state: { ...plan, steps: 101 } }));
    nextFrame();
    expect(view.value.state.steps).toBe(101);
    expect(view.renders).toBe(3);
  });

  it('renders not at all when what is selected stays', () => {
    const fake = createFakeAgent(plan);
    const view = hook<string>(fake.agent, () => ({
      select: (thread) => thread.state.title,
      batch: 'frame',
    }));
    act(() => fake.set({ state: { ...plan, steps: 1 } }));
    nextFrame();
    expect(view.renders).toBe(1);
  });

  it('takes a frame only for a change', () => {
    const fake = createFakeAgent(plan);
    hook<AgUiThread<Plan>>(fake.agent, { batch: 'frame' });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('drops its frame when unmounted', () => {
    const fake = createFakeAgent(plan);
    const view = hook<AgUiThread<Plan>>(fake.agent, { batch: 'frame' });
    act(() => fake.set({ status: 'running' }));
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    view.unmount();
    expect(vi.getTimerCount()).toBe(0);
    expect(fake.listening).toBe(0);
  });

  it('drops the frame of the agent before when the agent changes', () => {
    const first = createFakeAgent(plan);
    const second = createFakeAgent(plan);
    const view = renderHook(({ agent }) => useAgUiAgent(agent, { batch: 'frame' }), {
      initialProps: { agent: first.agent },
    });
    act(() => first.set({ status: 'running' }));
    view.rerender({ agent: second.agent });
    expect(vi.getTimerCount()).toBe(0);
    expect(view.result.current).toBe(second.agent.getSnapshot());
    act(() => second.set({ status: 'aborted' }));
    nextFrame();
    expect(view.result.current.status).toBe('aborted');
  });

  it('may be turned on and off between renders', () => {
    const fake = createFakeAgent(plan);
    const view = renderHook(
      ({ batch }: { batch: 'frame' | undefined }) => useAgUiAgent(fake.agent, { batch }),
      { initialProps: { batch: 'frame' } as { batch: 'frame' | undefined } },
    );
    act(() => fake.set({ status: 'running' }));
    expect(view.result.current.status).toBe('idle');
    view.rerender({ batch: undefined });
    expect(view.result.current.status).toBe('running');
    act(() => fake.set({ status: 'finished' }));
    expect(view.result.current.status).toBe('finished');
    expect(fake.listening).toBe(1);
  });

  it('renders within a timer where the page is hidden', () => {
    const visibility = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
    const fake = createFakeAgent(plan);
    const view = hook<AgUiThread<Plan>>(fake.agent, { batch: 'frame' });
    act(() => fake.set({ status: 'running' }));
    act(() => vi.advanceTimersByTime(20));
    expect(view.value.status).toBe('running');
    visibility.mockRestore();
  });
});

function Early({ fake }: { fake: ReturnType<typeof createFakeAgent<Plan>> }) {
  const { state } = useAgUiAgent(fake.agent);
  useLayoutEffect(() => {
    if (fake.agent.getSnapshot().state.steps === 0) fake.set({ state: { ...plan, steps: 9 } });
  });
  return <p>{state.steps}</p>;
}

function Picky({ agent }: { agent: AgUiAgent<Plan> }) {
  return (
    <p>
      {useAgUiAgent(agent, {
        select({ state }) {
          if (state.steps < 0) throw new RangeError('below zero');
          return state.steps;
        },
      })}
    </p>
  );
}

class Boundary extends Component<{ children: ReactNode }, { readonly error?: Error }> {
  override state: { readonly error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    return error ? `caught: ${error.message}` : this.props.children;
  }
}
