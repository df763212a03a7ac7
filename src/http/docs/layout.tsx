import { html } from 'hono/html';
import type { Child } from 'hono/jsx';

const SERVICE = 'Ticket Write-Back API';

interface PageProps {
  title: string;
  /** Additional stylesheets and scripts for this page. */
  head?: Child;
  children?: Child;
}

/** The layout of every documentation page. It loads nothing from another host. */
export function Page({ title, head, children }: PageProps) {
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title === SERVICE ? SERVICE : `${title} · ${SERVICE}`}</title>
        <link rel="icon" href="/docs/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/docs/docs.css" />
        {head}
      </head>
      <body>
        <header>
          <nav aria-label="Documentation">
            <a href="/">Start</a>
            <a href="/docs">Reference</a>
            <a href="/docs/problems">Problems</a>
            <a href="/docs/recipes">Recipes</a>
            <a href="/docs/agents">AI agents</a>
            <a href="/docs/psa">For the PSA</a>
            <a href="/docs/keys">Key format</a>
            <a href="/settings">Settings</a>
          </nav>
        </header>
        <main>
          <h1>{title}</h1>
          {children}
        </main>
      </body>
    </html>
  );
  return html`<!doctype html>${document}`;
}

/** A table that scrolls sideways on a narrow screen, separately from the page. */
export function Table({ head, rows }: { head: readonly string[]; rows: readonly (readonly string[])[] }) {
  return (
    <section class="table" tabindex={0} aria-label={head.join(', ')}>
      <table>
        <thead>
          <tr>
            {head.map((cell) => (
              <th scope="col">{cell}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>
                  <Text>{cell}</Text>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Text with `code` between backticks. */
export function Text({ children }: { children: string }) {
  return <>{children.split('`').map((part, index) => (index % 2 === 0 ? part : <code>{part}</code>))}</>;
}

/** A code example. */
export function Code({ label, children }: { label: string; children: string }) {
  return (
    <section aria-label={label}>
      <pre tabindex={0}>
        <code>{children}</code>
      </pre>
    </section>
  );
}
