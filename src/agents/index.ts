import { env } from 'cloudflare:workers';
import { parseConfig } from '../config.ts';
import { createAgents, parseAgentsOptions } from './app.ts';

// The Worker for AI agents: /mcp. Its bindings and variables are in wrangler.toml beside this file.

// Without WEBHOOK_URL, because the configuration would demand the secret of the push with it.
const agents = createAgents(parseConfig({ ...env, WEBHOOK_URL: '' }), parseAgentsOptions(env));

export default { fetch: agents.fetch } satisfies ExportedHandler<Env>;
