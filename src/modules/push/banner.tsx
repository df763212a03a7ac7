import { usePage } from '../../http/settings/page-context.ts';
import { Banner } from '../../http/settings/pages/components.tsx';
import { Time } from '../../http/settings/pages/time.tsx';
import type { Administration } from '../../services/directory/administrators.ts';

export function PushBanner({
  trouble: { failingSince, failure, stoppedAt },
}: {
  trouble: Administration['pushTrouble'];
}) {
  if (failingSince === null && stoppedAt === null) return null;
  return (
    <Banner tone="warning">
      {stoppedAt === null ? (
        <p>
          <strong>
            Notes and time entries have not reached your PSA since {failingSince !== null && <Time at={failingSince} />}
            .
          </strong>{' '}
          The last attempt failed: {failure}. They are sent again until your PSA accepts them.
        </p>
      ) : (
        <p>
          <strong>
            Notes and time entries have not been sent to your PSA since <Time at={stoppedAt} />.
          </strong>{' '}
          It answered that it accepts no more ({failure}). They are sent when it is resumed.
        </p>
      )}
      <p>Nothing is lost: automations can keep writing. Tell the operator of this service.</p>
      <form method="post" action={`${usePage().base}/push/resume`}>
        <button type="submit">{stoppedAt === null ? 'Send now' : 'Resume'}</button>
      </form>
    </Banner>
  );
}
