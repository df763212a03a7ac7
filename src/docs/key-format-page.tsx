import { Code } from '../http/page/code.tsx';
import { CHECKSUM_EXAMPLE, CHECKSUM_RULE, keyPattern } from './key-format.ts';
import { Page, Table } from './layout.tsx';

export function KeyFormat({ keyPrefixes }: { keyPrefixes: readonly string[] }) {
  return (
    <Page title="Key format" path="/docs/keys">
      <p>
        This page is for secret scanners. The format lets a scanner find keys in code and text without false positives
        and without calling this service. If you find a key, ask an administrator to revoke it.
      </p>
      <Table
        head={['Property', 'Value']}
        rows={[
          ['Regular expression, as deployed', `\`${keyPattern(keyPrefixes)}\``],
          ['Checksum', CHECKSUM_RULE],
        ]}
      />
      <h2>Example</h2>
      <Code label="Check the checksum in Node.js">{CHECKSUM_EXAMPLE}</Code>
    </Page>
  );
}
