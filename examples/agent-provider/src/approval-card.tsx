import { Alert, Button, Card, Descriptions, Tag } from 'antd';
import { useEffect, useId, useState } from 'react';
import type {
  AgentApprovalState,
  AgentCommandDecision,
  AgentCommandState,
} from 'runsocket/agent-provider';

interface ApprovalCardProps {
  readonly approval: AgentApprovalState;
  /** The answer that is on its way, or that failed. */
  readonly command: AgentCommandState | undefined;
  readonly onResolve: (approval: AgentApprovalState, decision: AgentCommandDecision) => void;
}

const outcomes = {
  approved: { color: 'success', text: 'Approved' },
  modified: { color: 'success', text: 'Approved, with changes' },
  rejected: { color: 'error', text: 'Refused' },
  expired: { color: 'default', text: 'Not answered' },
};

/** What the agent asks leave for, and the two buttons that answer it. */
export function ApprovalCard({ approval, command, onResolve }: ApprovalCardProps) {
  const { description, expiresAt, decision } = approval;
  const titleId = useId();
  const isWaiting = approval.status === 'waiting';
  const left = useTimeLeft(isWaiting ? expiresAt : undefined);
  const isLate = left !== undefined && left <= 0;
  const isSending = command?.status === 'submitting';
  const { risk, ...details } = readDetails(approval);
  const outcome = outcomes[decision ?? 'expired'];
  return (
    <Card
      className="approval"
      size="small"
      role="group"
      aria-labelledby={titleId}
      data-status={decision ?? approval.status}
      title={
        <h3 id={titleId}>{isWaiting ? 'The agent asks for your approval' : 'The agent asked'}</h3>
      }
      extra={!isWaiting && <Tag color={outcome.color}>{outcome.text}</Tag>}
    >
      <p className="question">{description}</p>
      <Descriptions
        size="small"
        column={1}
        items={Object.entries(details).map(([label, value]) => ({
          key: label,
          label,
          children: <Value value={value} />,
        }))}
      />
      {isWaiting && risk !== undefined && (
        <Alert type="warning" role="note" showIcon title={<Value value={risk} />} />
      )}
      {isWaiting && command?.status === 'failed' && (
        <Alert
          type="error"
          showIcon
          title={`Your answer did not arrive: ${command.error?.message}`}
        />
      )}
      {isWaiting && (
        <div className="answers">
          <Button
            type="primary"
            disabled={isLate}
            loading={isSending}
            onClick={() => onResolve(approval, 'approved')}
          >
            Approve
          </Button>
          <Button
            danger
            disabled={isLate || isSending}
            onClick={() => onResolve(approval, 'rejected')}
          >
            Refuse
          </Button>
          {left !== undefined && (
            <span className="expiry">
              {isLate
                ? 'It is too late to answer. Stop the answer to go on.'
                : `${formatTime(left)} left to answer`}
            </span>
          )}
        </div>
      )}
    </Card>
  );
}

/** How many ms are left until a time, once a second. */
function useTimeLeft(until: number | undefined): number | undefined {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (until === undefined) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return until === undefined ? undefined : until - now;
}

function formatTime(time: number): string {
  const seconds = Math.ceil(time / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** Text as it is, and anything else as JSON: what an agent asks may have any shape. */
function Value({ value }: { value: unknown }) {
  if (typeof value === 'string') return value;
  const json = JSON.stringify(value, null, 2);
  return isObject(value) || Array.isArray(value) ? <pre className="json">{json}</pre> : json;
}

/** What the card shows in places of their own, or does not need. */
const told = ['toolCallId', 'responseSchema', 'expiresAt'];

/**
 * What the server says of a question besides its words: this page's server in the fields of
 * `metadata`, an AG-Kit server in those of the `payload` there.
 */
function readDetails({ data, description }: AgentApprovalState): Record<string, unknown> {
  const metadata = isObject(data) && isObject(data.metadata) ? data.metadata : {};
  const { payload, ...rest } = metadata;
  const asked = parse(payload);
  const fields = isObject(asked) ? { ...rest, ...asked } : metadata;
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !told.includes(name) && value !== description),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Some servers of AG-Kit send a payload as JSON text. */
function parse(value: unknown): unknown {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}
