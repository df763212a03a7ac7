import { env } from 'cloudflare:workers';
import { parseConfig } from '../config.ts';
import { startModules } from '../module.ts';
import { createAgents } from './app.ts';
import { AGENT_MODULES } from './modules.ts';

// The Worker for AI agents: /mcp. Its bindings and variables are those of the main Worker.

// Without WEBHOOK_URL, because the configuration would demand the secret of the push with it.
const config = parseConfig({ ...env, WEBHOOK_URL: '' });
const agents = createAgents(config, startModules(AGENT_MODULES, { ...env }, config));

export default { fetch: agents.fetch } satisfies ExportedHandler<Env>;
