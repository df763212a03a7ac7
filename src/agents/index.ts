import type { AgentEnv } from '../http/agent-env.ts';
import { createAgents } from './app.ts';

// The Worker for AI agents: /mcp. Its only binding is the entry point `Api` of the main Worker.

export default { fetch: createAgents().fetch } satisfies ExportedHandler<AgentEnv['Bindings']>;
