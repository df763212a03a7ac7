import { reader } from '../../config.ts';
import { parseNoticeUrl } from '../../domain/webhook.ts';
import { readAddress } from '../../ops/environment.ts';
import type { OpsModule } from '../../ops/module.ts';
import { diagnoseNotices } from './diagnose-notices.ts';
import { noticesStatus } from './notices-status.ts';

export const alertsOps: OpsModule = {
  variables: ['NOTICE_URL'],
  parse: (vars) => reader(vars)('NOTICE_URL', parseNoticeUrl),
  commands: [noticesStatus],
  checks: [
    {
      flags: '--notices',
      description: 'Also send a test text to the address in NOTICE_URL in the environment.',
      prepare: () => {
        const text = process.env['NOTICE_URL'] ?? '';
        const url = readAddress('NOTICE_URL', text, parseNoticeUrl, '--notices needs it in the environment');
        return () => diagnoseNotices(url);
      },
    },
  ],
};
