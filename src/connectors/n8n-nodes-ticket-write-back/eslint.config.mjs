import { config } from '@n8n/node-cli/eslint';

export default [
  ...config,
  // n8n verifies MIT packages only. This project is proprietary.
  { files: ['package.json'], rules: { 'n8n-nodes-base/community-package-json-license-not-default': 'off' } },
];
