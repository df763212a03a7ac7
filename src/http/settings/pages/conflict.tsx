import { auditActionLabel } from '../../../domain/audit-actions.ts';
import type { SettingsChange } from '../../../services/keys/change-key.ts';
import { Banner } from './components.tsx';
import { Time } from './time.tsx';

interface Props {
  changes: readonly SettingsChange[];
}

/** Says that nothing was saved because others changed the same, and what they changed. */
export function Conflict({ what, changes }: Props & { what: string }) {
  return (
    <Banner tone="warning">
      Another administrator changed this {what} after you opened the form, so nothing was saved. The fields below show
      what you entered. If you save again, your values replace these:
      <Changes of={changes} />
    </Banner>
  );
}

function Changes({ of: changes }: { of: Props['changes'] }) {
  return (
    <dl class="changes">
      {changes.map(({ at, by, action, detail }) => (
        <div>
          <dt>
            <Time at={at} />
          </dt>
          <dd>
            {detail ?? auditActionLabel(action)}, by <bdi>{by}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}
