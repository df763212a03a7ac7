import { Hono } from 'hono';
import { dateIn } from '../../domain/calendar.ts';
import type { FoundFact } from '../../domain/facts.ts';
import { readFacts } from '../../services/facts.ts';
import { resumeAsAdministrator } from '../../services/work/push-control.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { factOptions, redirectWith, usePage } from './page-context.ts';
import { Time } from './pages/time.tsx';
import { render, trail } from './render-page.tsx';

/** What keeps the organization's changes from its PSA, and the order to resume their push. */
export const push = new Hono<AdminEnv>();

push.get('/push', async (c) => {
  const ctx = adminContext(c);
  const facts = await readFacts(ctx, factOptions(c), [ctx.actor.organizationId]);
  const troubles = facts.filter(({ type }) => type === 'push_failing');
  const page =
    troubles.length === 0 ? (
      <p>Nothing keeps notes and time entries from your PSA.</p>
    ) : (
      troubles.map((trouble) => <Trouble trouble={trouble} canResume={ctx.pushControl !== undefined} />)
    );
  return render(c, 'Delivery to your PSA', page, { trail: trail(c) });
});

push.post('/push/resume', async (c) => {
  await resumeAsAdministrator(adminContext(c));
  return redirectWith(c, '/push', 'Notes and time entries are sent now. The result is here in a minute.');
});

/** An adapter has no button: only the operator can resume it. */
function Trouble({ trouble, canResume }: { trouble: FoundFact; canResume: boolean }) {
  const { base, timeZone } = usePage();
  const { subject: adapter, since, level, failure } = trouble;
  const isStopped = level > 1;
  return (
    <section class="card">
      <p>
        <strong>
          Notes and time entries {isStopped ? 'have not been sent to' : 'have not reached'} your PSA since{' '}
          <Time at={since} />.
        </strong>{' '}
        {whyOf(adapter !== '', isStopped, failure)}
      </p>
      <p>
        Nothing is lost: automations can keep writing. Tell the operator of this service.{' '}
        <a href={`${base}/audit?from=${dateIn(timeZone, since)}`}>What was written since then</a>
      </p>
      {adapter === '' && canResume && (
        <form method="post" action={`${base}/push/resume`} class="actions">
          <button type="submit">{isStopped ? 'Resume' : 'Send now'}</button>
        </form>
      )}
    </section>
  );
}

function whyOf(isAdapter: boolean, isStopped: boolean, failure: string | null): string {
  if (isAdapter) return `The connection with your PSA does not work: ${failure}`;
  return isStopped
    ? `It answered that it accepts no more (${failure}). They are sent when it is resumed.`
    : `The last attempt failed: ${failure}. They are sent again until your PSA accepts them.`;
}
