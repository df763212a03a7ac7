import type { DocsModule } from '../../docs/module.ts';

export const approvalsDocs: DocsModule = {
  facts: {
    unusual_time:
      'A key logged at least 600 minutes on one of the last seven days, and more than four times what is usual for it. It ends when all time up to the last entry of that day is approved or rejected.',
    time_waiting: 'Time entries wait for approval in the settings area.',
  },
};
