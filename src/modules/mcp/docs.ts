import type { DocsModule } from '../../docs/module.ts';
import agents from './docs/agents.md?raw';

export const mcpDocs: DocsModule = {
  pages: [
    {
      path: '/docs/agents',
      markdown: agents,
      group: 'Recipes',
      name: 'AI agents',
      tab: 'AI agents',
      reader: { text: 'I run AI agents', about: 'The tools for agents, and settings of clients.', icon: 'user' },
    },
  ],
};
