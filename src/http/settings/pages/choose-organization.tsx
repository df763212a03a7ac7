interface Props {
  organizations: readonly { id: string; name: string }[];
  /** Whether these are all organizations of the administrator. */
  isComplete: boolean;
  signOutPath: string | undefined;
}

/**
 * Lists the organizations of an administrator who has several. The ids are shown too, because a
 * tenant chooses its own name and may choose that of another one.
 */
export function ChooseOrganizationPage({ organizations, isComplete, signOutPath }: Props) {
  return (
    <>
      <p>You administer several organizations. Keys and the audit log belong to one of them.</p>
      <nav aria-label="Organizations">
        <ul>
          {organizations.map(({ id, name }) => (
            <li>
              <a href={`/settings/${id}/keys`}>
                <bdi>{name}</bdi>
              </a>{' '}
              <span class="minor">{id}</span>
            </li>
          ))}
        </ul>
      </nav>
      {!isComplete && (
        <p>
          Only {organizations.length} organizations are listed. Open any other at{' '}
          <code>/settings/&lt;organization id&gt;</code>.
        </p>
      )}
      {signOutPath && (
        <p>
          <a href={signOutPath}>Sign out</a>
        </p>
      )}
    </>
  );
}
