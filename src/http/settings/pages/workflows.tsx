import { isLive } from '../../../domain/api-key.ts';
import { EXAMINED_WRITES, type Rotation, type Workflow } from '../../../services/keys/key-workflows.ts';
import { usePage } from '../page-context.ts';
import { Banner, counted, Hint, LinkButton } from './components.tsx';
import { Ago, spanText, Time } from './time.tsx';

const SHOWN_WORKFLOWS = 5;

/** Workflows by the beginning of their Idempotency-Keys and the program that sends them, each with its latest write. */
export const Workflows = ({ workflows }: { workflows: readonly Workflow[] }) => (
  <ul class="lines">
    {workflows.slice(0, SHOWN_WORKFLOWS).map((workflow) => (
      <li>
        <WorkflowName workflow={workflow} />, <Ago at={workflow.lastAt} />
      </li>
    ))}
    {workflows.length > SHOWN_WORKFLOWS && <li>and {counted(workflows.length - SHOWN_WORKFLOWS, 'other')}</li>}
  </ul>
);

/** The names of workflows, after what they have in common; nothing if there are none. */
export const WorkflowNames = ({ title, workflows }: { title: string; workflows: readonly Workflow[] }) =>
  workflows.length > 0 && (
    <div class="minor">
      {title}{' '}
      {workflows
        .slice(0, SHOWN_WORKFLOWS)
        .map((workflow, index) => [index > 0 && ', ', <WorkflowName workflow={workflow} />])}
      {workflows.length > SHOWN_WORKFLOWS && ` and ${counted(workflows.length - SHOWN_WORKFLOWS, 'other')}`}
    </div>
  );

const WorkflowName = ({ workflow: { prefix, program } }: { workflow: Workflow }) => (
  <span>
    <bdi>{prefix ?? 'no prefix'}</bdi>
    {program && (
      <>
        {' '}
        (<bdi>{program}</bdi>)
      </>
    )}
  </span>
);

interface CurrentProps {
  keyId: string;
  workflows: readonly Workflow[];
  rotation: Rotation | undefined;
}

/** The workflows of a key; of the old one of a rotation those that still use it, and the others. */
export function CurrentWorkflows({ keyId, workflows, rotation }: CurrentProps) {
  if (rotation?.old.subject.id !== keyId) return workflows.length > 0 ? <Workflows workflows={workflows} /> : <>None</>;
  const { old, moved, unseen } = rotation;
  return (
    <>
      {old.workflows.length > 0 ? <Workflows workflows={old.workflows} /> : 'None since the rotation'}
      <WorkflowNames title="Moved to the new key:" workflows={moved} />
      <WorkflowNames title="Not seen since the rotation:" workflows={unseen} />
    </>
  );
}

interface RotationProps {
  rotation: Rotation;
  isOld: boolean;
}

/** Which of the two keys of a rotation is in use, and by what; a warning if the new key has ended before the old one. */
export function SinceRotation({ rotation, isOld }: RotationProps) {
  const { base } = usePage();
  const { since, old, new: successor, unseen } = rotation;
  const hasEnded = !isLive(successor.subject.state);
  return (
    <Banner tone={hasEnded ? 'warning' : 'neutral'}>
      {hasEnded && <NewKeyEnded rotation={rotation} isOld={isOld} />}
      <strong>
        Since the rotation on <Time at={since} />
      </strong>
      <dl class="uses">
        <UseOf title={isOld ? 'This key' : 'Old key'} {...old} />
        <UseOf title={isOld ? 'New key' : 'This key'} {...successor} />
        {unseen.length > 0 && (
          <div>
            <dt>Not seen since</dt>
            <dd>
              <Workflows workflows={unseen} />
            </dd>
          </div>
        )}
      </dl>
      {hasEnded && (
        <div class="actions">
          <a href={`${base}/keys/${successor.subject.id}/replace`} class="button quiet">
            Create its replacement
          </a>
        </div>
      )}
      {/* The page of the old key has this button already. */}
      {!hasEnded && !isOld && (
        <div class="actions">
          <LinkButton to={`${base}/keys/${old.subject.id}/revoke`} kind="danger">
            Revoke the old key now
          </LinkButton>
        </div>
      )}
    </Banner>
  );
}

function NewKeyEnded({ rotation: { old, new: successor }, isOld }: RotationProps) {
  const { now } = usePage();
  const { expiresAt } = old.subject;
  const end = successor.subject.state === 'revoked' ? 'is revoked' : 'has expired';
  const stops = expiresAt === null ? 'still works' : `stops in ${spanText(expiresAt - now)}`;
  return (
    <p>
      <strong>{isOld ? `The new key ${end}; this one ${stops}.` : `This key ${end}; the old one ${stops}.`}</strong>
    </p>
  );
}

/** How often a key wrote, and the workflows whose latest write used it. */
const UseOf = ({ title, subject, writes, workflows }: Rotation['old'] & { title: string }) => (
  <div>
    <dt>
      {title} <Hint hint={subject.hint} />
    </dt>
    <dd>
      {writes === EXAMINED_WRITES && 'at least '}
      {counted(writes, 'write')}
      {workflows.length > 0 && <Workflows workflows={workflows} />}
    </dd>
  </div>
);
