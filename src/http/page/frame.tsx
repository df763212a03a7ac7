import { html } from 'hono/html';
import type { Child, PropsWithChildren } from 'hono/jsx';
import files from '../../../build/page-files.json';

export const PRODUCT = 'Ticket Write-Back';

interface Props {
  title: string;
  home: string;
  /** In the header, beside the name of the product. */
  bar?: Child;
  /** In the header, below the name of the product. */
  tabs?: Child;
  footer?: Child;
  /** Opens every link in another tab, because the page cannot be opened again. */
  isOnce?: boolean | undefined;
}

/** The frame of every page: header, main part, stylesheet and script. Nothing comes from another host. */
export function Frame({ title, home, bar, tabs, footer, isOnce, children }: PropsWithChildren<Props>) {
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        {isOnce && <base target="_blank" />}
        <link rel="stylesheet" href={files.stylesheet} />
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <script src={files.script} defer></script>
      </head>
      <body class={isOnce ? 'once' : undefined}>
        <a class="skip" href="#main" target="_self">
          Skip to content
        </a>
        <header>
          <div class="bar">
            <a class="brand" href={home}>
              <img src="/icon.svg" alt="" width="28" height="28" />
              <span>{PRODUCT}</span>
            </a>
            {bar}
          </div>
          {tabs}
        </header>
        <main id="main">{children}</main>
        {footer && <footer>{footer}</footer>}
      </body>
    </html>
  );
  return html`<!doctype html>${document}`;
}
