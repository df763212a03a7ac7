import { Page } from './layout.tsx';

/** The page for an address with nothing. The Worker sends it to browsers, with the status 404. */
export function WrongAddress() {
  return (
    <Page title="Nothing here">
      <p>There is no page at this address. Check it for a typing error, or continue with one of these:</p>
      <ul>
        <li>
          <a href="/docs">Documentation</a>: three steps, recipes and reference
        </li>
        <li>
          <a href="/settings">Settings</a>: for administrators, who manage the keys
        </li>
      </ul>
      <p>
        The API is at <code>/api/v1</code>.
      </p>
    </Page>
  );
}
