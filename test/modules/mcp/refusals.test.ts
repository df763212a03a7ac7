import { describeRefusals } from '../../support/refusals.ts';
import { message, NOTE_ARGUMENTS, TIME_ARGUMENTS } from './support.ts';

describeRefusals(
  {
    'the tool for notes': {
      isTool: true,
      scope: 'tickets:note:write',
      method: 'POST',
      path: '/mcp',
      ...message('tools/call', { name: 'add_internal_note', arguments: NOTE_ARGUMENTS }),
    },
    'the tool for time': {
      isTool: true,
      scope: 'tickets:time:write',
      method: 'POST',
      path: '/mcp',
      ...message('tools/call', { name: 'log_time', arguments: TIME_ARGUMENTS }),
    },
    'the list of tools': { scope: undefined, method: 'POST', path: '/mcp', ...message('tools/list') },
    'a batch of MCP messages': { scope: undefined, method: 'POST', path: '/mcp', body: [message('tools/list').body] },
    'a wrong method of MCP': { scope: undefined, method: 'GET', path: '/mcp' },
  },
  { agents: true },
);
