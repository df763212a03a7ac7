import type { Space } from '../space.ts';
import { Notice } from './components.tsx';

/** The banner of every page while the database is nearly full. `base` is the base path of links. */
export function SpaceNotice({ space: { fullness, share, isLargeShare }, base }: { space: Space; base: string }) {
  const percent = `${Math.floor(share * 100)}%`;
  return (
    <Notice tone="warning">
      {fullness === 'almost_full' ? (
        <p>
          <strong>The storage of this service is {percent} full.</strong> Very soon, automations may be unable to write
          notes and time entries, and you may be unable to create, change or revoke keys. Ask the operator of this
          service today to make room.
        </p>
      ) : (
        <p>
          The storage of this service, which all organizations share, is {percent} full. Everything still works. When it
          is full, automations cannot write notes and time entries, and you cannot create, change or revoke keys. Ask
          the operator of this service to make room.
        </p>
      )}
      {isLargeShare && (
        <p>
          Your organization wrote more than a quarter of all stored text. Look in the{' '}
          <a href={`${base}/audit`}>audit log</a> for a key that writes more than you expect, and revoke a key that you
          do not need.
        </p>
      )}
    </Notice>
  );
}
