import type { DocsModule } from '../../docs/module.ts';

export const approvalsDocs: DocsModule = {
  facts: { time_waiting: 'Time entries wait for approval in the settings area.' },
};
