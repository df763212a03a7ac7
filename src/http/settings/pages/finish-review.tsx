import type { ReviewedKey, ReviewWithKeys } from '../../../services/keys/read-reviews.ts';
import type { PageContext } from '../page-context.ts';
import { Banner, counted, Hint, Table } from './components.tsx';
import { Ago } from './time.tsx';

interface Props extends ReviewWithKeys {
  toRevoke: readonly ReviewedKey[];
  context: PageContext;
}

/** Asks for confirmation before a review is finished, with the names of the keys it revokes. */
export function FinishReviewPage({ review, keys, toRevoke, context }: Props) {
  const undecided = keys.filter(({ status }) => status === 'undecided').length;
  if (undecided > 0) {
    return (
      <Banner tone="warning">
        {counted(undecided, 'key')} still {undecided === 1 ? 'needs' : 'need'} a decision.{' '}
        <a href={`${context.base}/review`}>Continue the review</a>
      </Banner>
    );
  }
  const kept = keys.filter(({ status }) => status === 'keep').length;
  return (
    <>
      <p>
        {counted(kept, 'key')} will be kept. After this, no decision of the review can be changed, and its evidence can
        be downloaded.
      </p>
      {toRevoke.length > 0 && (
        <>
          <p>
            <strong>{counted(toRevoke.length, 'key')} will be revoked</strong> and{' '}
            {toRevoke.length === 1 ? 'stops' : 'stop'} working immediately. This cannot be undone.
          </p>
          <KeysToRevoke of={toRevoke} context={context} />
        </>
      )}
      <form method="post" action={`${context.base}/review/${review.id}/finish`} class="actions">
        {toRevoke.map(({ key }) => (
          <input type="hidden" name="revoke" value={key.id} />
        ))}
        {toRevoke.length > 0 ? (
          <button type="submit" class="danger">
            Finish and revoke {counted(toRevoke.length, 'key')}
          </button>
        ) : (
          <button type="submit">Finish review</button>
        )}
        <a href={`${context.base}/review`}>Cancel</a>
      </form>
    </>
  );
}

function KeysToRevoke({ of: keys, context }: { of: readonly ReviewedKey[]; context: PageContext }) {
  return (
    <Table caption="Keys that will be revoked" headings={['Key', 'Last write', 'Reason', 'Decided by']}>
      {keys.map(({ key, decision }) => (
        <tr>
          <th scope="row">
            <a class="name" href={`${context.base}/keys/${key.id}`}>
              <bdi>{key.name}</bdi>
            </a>{' '}
            <Hint hint={key.hint} />
          </th>
          <td data-label="Last write">{key.lastWrite ? <Ago at={key.lastWrite.at} context={context} /> : 'Never'}</td>
          <td data-label="Reason">
            <bdi>{decision?.reason}</bdi>
          </td>
          <td data-label="Decided by">
            <bdi>{decision?.by}</bdi>
          </td>
        </tr>
      ))}
    </Table>
  );
}
