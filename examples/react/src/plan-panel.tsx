import type { Plan, PlanStep } from './agent.ts';

interface PlanPanelProps {
  readonly plan: Plan | undefined;
  readonly isStale: boolean;
  /** The run that changes the plan is being received. */
  readonly isMoving: boolean;
}

const labels: Record<PlanStep['status'], string> = {
  pending: 'to do',
  active: 'under way',
  done: 'done',
};

export function PlanPanel({ plan, isStale, isMoving }: PlanPanelProps) {
  const steps = plan?.steps ?? [];
  const done = steps.filter((step) => step.status === 'done').length;
  return (
    <section className="panel" aria-labelledby="plan-title">
      <h2 id="plan-title">Plan</h2>
      {plan ? (
        <>
          <p className="goal">{plan.goal}</p>
          <progress
            value={done}
            max={steps.length}
            aria-label={`${done} of ${steps.length} done`}
          />
          <ol className="steps" data-moving={isMoving || undefined}>
            {steps.map(({ title, status, detail }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place in the plan
              <li key={index} data-status={status}>
                <span className="mark" aria-hidden="true" />
                <span>
                  {title}
                  {detail !== undefined && <small>{detail}</small>}
                  <span className="hidden">, {labels[status]}</span>
                </span>
              </li>
            ))}
          </ol>
          {isStale && <p className="empty">This plan may be out of date.</p>}
        </>
      ) : (
        <p className="empty">What the agent means to do appears here, as it does it.</p>
      )}
    </section>
  );
}
