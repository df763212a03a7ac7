import { isLive } from '../../../domain/api-key.ts';
import { EXAMINED_WRITES, type Rotation, type Workflow } from '../../../services/keys/key-workflows.ts';
import { usePage } from '../page-context.ts';
import { Banner, counted, Hint, LinkButton } from './components.tsx';
import { Ago, spanText, Time } from './time.tsx';

const SHOWN_WORKFLOWS = 5;

/** Workflows by the beginning of their Idempotency-Keys and the program that sends them, each with its latest write. */
export function Workflows({ workflows }: { workflows: readonly Workflow[] }) {
  const others = workflows.length - SHOWN_WORKFLOWS;
  return (
    <>
      {workflows.slice(0, SHOWN_WORKFLOWS).map((workflow, index) => (
        <>
          {index > 0 && ', '}
          <WorkflowName workflow={workflow} />{' '}
          <span class="minor">
            <Ago at={workflow.lastAt} />
          </span>
        </>
      ))}
      {others > 0 && ` and ${counted(others, 'other')}`}
    </>
  );
}

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

/** Where a new key has to be entered, as far as the writes with the old one tell it. */
export const UsedBy = ({ workflows }: { workflows: readonly Workflow[] }) =>
  workflows.length > 0 && (
    <p>
      Used by <Workflows workflows={workflows} />
    </p>
  );

interface CurrentProps {
  keyId: string;
  workflows: readonly Workflow[];
  rotation: Rotation | undefined;
}

/** The workflows of a key; of the old one of a rotation those that still use it, and those that have moved. */
export function CurrentWorkflows({ keyId, workflows, rotation }: CurrentProps) {
  if (rotation?.old.subject.id !== keyId) return workflows.length > 0 ? <Workflows workflows={workflows} /> : <>None</>;
  const { old, moved } = rotation;
  return (
    <>
      {old.workflows.length > 0 ? <Workflows workflows={old.workflows} /> : 'None since the rotation'}
      <Moved workflows={moved} />
    </>
  );
}

const Moved = ({ workflows }: { workflows: readonly Workflow[] }) =>
  workflows.length > 0 && (
    <>
      ; moved:{' '}
      {workflows
        .slice(0, SHOWN_WORKFLOWS)
        .map((workflow, index) => [index > 0 && ', ', <WorkflowName workflow={workflow} />])}
      {workflows.length > SHOWN_WORKFLOWS && ` and ${counted(workflows.length - SHOWN_WORKFLOWS, 'other')}`}
    </>
  );

interface RotationProps {
  rotation: Rotation;
  isOld: boolean;
}

/** Which of the two keys of a rotation is in use, and by what; a warning if the new key has ended before the old one. */
export function SinceRotation({ rotation, isOld }: RotationProps) {
  const { base } = usePage();
  const { since, old, new: successor, moved } = rotation;
  const hasEnded = !isLive(successor.subject.state);
  return (
    <Banner tone={hasEnded ? 'warning' : 'neutral'}>
      {hasEnded && <NewKeyEnded rotation={rotation} isOld={isOld} />}
      <strong>
        Since the rotation on <Time at={since} />
      </strong>
      : {isOld ? 'this' : 'old'} key <UseOf {...old} />
      <Moved workflows={moved} />; {isOld ? 'new' : 'this'} key <UseOf {...successor} />.
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
const UseOf = ({ subject, writes, workflows }: Rotation['old']) => (
  <>
    <Hint hint={subject.hint} /> {writes === EXAMINED_WRITES && 'at least '}
    {counted(writes, 'write')}
    {workflows.length > 0 && (
      <>
        , by <Workflows workflows={workflows} />
      </>
    )}
  </>
);
