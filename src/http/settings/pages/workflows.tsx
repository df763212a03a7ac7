import { isLive } from '../../../domain/api-key.ts';
import { EXAMINED_WRITES, type Rotation, type Workflow } from '../../../services/keys/key-workflows.ts';
import { usePage } from '../page-context.ts';
import { Banner, counted, Hint, LinkButton } from './components.tsx';
import { Ago, spanText, Time } from './time.tsx';

const SHOWN_WORKFLOWS = 5;

/** How often each workflow wrote, unless the list is only about which workflows there are. */
interface ListProps {
  workflows: readonly Workflow[];
  hasCounts?: boolean;
}

/** Workflows by the beginning of their Idempotency-Keys and the program that sends them, each with its latest write. */
export const Workflows = ({ workflows, hasCounts = false }: ListProps) => (
  <ul class="lines">
    {workflows.slice(0, SHOWN_WORKFLOWS).map(({ prefix, program, writes, lastAt }) => (
      <li>
        <bdi>{prefix ?? 'no prefix'}</bdi>
        {program && [' (', <bdi>{program}</bdi>, ')']}, {hasCounts && `${counted(writes, 'write')}, `}
        <Ago at={lastAt} />
      </li>
    ))}
    {workflows.length > SHOWN_WORKFLOWS && <li>and {counted(workflows.length - SHOWN_WORKFLOWS, 'other')}</li>}
  </ul>
);

/** Workflows below what they have in common; nothing if there are none. */
export const TitledWorkflows = ({ title, ...list }: ListProps & { title: string }) =>
  list.workflows.length > 0 && (
    <div>
      <span class="minor">{title}</span>
      <Workflows {...list} />
    </div>
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
      {old.workflows.length + unseen.length === 0 && 'None since the rotation'}
      <TitledWorkflows title="Still use this key" workflows={old.workflows} hasCounts />
      <TitledWorkflows title="Only before the rotation" workflows={unseen} hasCounts />
      <TitledWorkflows title="Moved to the new key" workflows={moved} />
    </>
  );
}

interface RotationProps {
  rotation: Rotation;
  isOld: boolean;
}

/** Which workflows have not moved to the new key of a rotation; a warning if the new key has ended before the old one. */
export function SinceRotation({ rotation, isOld }: RotationProps) {
  const { base } = usePage();
  const { since, old, new: successor, moved, unseen, isMinimum } = rotation;
  const left = old.workflows.length + unseen.length;
  const next = successor.subject;
  const hasEnded = !isLive(next.state);
  return (
    <Banner tone={hasEnded ? 'warning' : 'neutral'}>
      {hasEnded && <NewKeyEnded rotation={rotation} isOld={isOld} />}
      <strong>
        Since the rotation on <Time at={since} />
        {left + moved.length > 0 &&
          `: ${moved.length} of ${isMinimum ? 'at least ' : ''}${counted(left + moved.length, 'workflow')} moved`}
      </strong>
      <dl class="uses">
        <UseOf title={isOld ? 'This key' : 'Old key'} {...old} />
        <UseOf title={isOld ? 'New key' : 'This key'} {...successor} />
        {unseen.length > 0 && (
          <div>
            <dt>Only before the rotation</dt>
            <dd>
              <Workflows workflows={unseen} hasCounts />
            </dd>
          </div>
        )}
      </dl>
      {hasEnded && (
        <div class="actions">
          <a href={`${base}/keys/${next.successor?.id ?? `${next.id}/replace`}`} class="button quiet">
            {next.successor ? 'Open its successor' : 'Create its replacement'}
          </a>
        </div>
      )}
      {!hasEnded && (
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
      {workflows.length > 0 && <Workflows workflows={workflows} hasCounts />}
    </dd>
  </div>
);
