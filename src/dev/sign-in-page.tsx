import files from '../../build/page-files.json';

interface Props {
  administrators: readonly { email: string; name: string; organization: string }[];
  action: string;
}

/** Lists the local administrators. Choosing one signs in without a password. */
export function SignInPage({ administrators, action }: Props) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Local sign-in</title>
        <link rel="stylesheet" href={files.stylesheet} />
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
      </head>
      <body>
        <main>
          <h1>Local sign-in</h1>
          <p>This page exists only on your machine. Sign in as:</p>
          {administrators.map(({ email, name, organization }) => (
            <form method="post" action={action} class="actions">
              <input type="hidden" name="email" value={email} />
              <button type="submit">{name}</button>
              <span>
                {organization}, {email}
              </span>
            </form>
          ))}
        </main>
      </body>
    </html>
  );
}
