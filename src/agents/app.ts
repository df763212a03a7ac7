import { Hono } from 'hono';
import { type AgentEnv, callerAddress } from '../http/agent-env.ts';
import { AGENT_MODULES } from './modules.ts';

/** The Worker for AI agents. Its route also has longer paths, for which the API responds; no other path reaches it. */
export function createAgents() {
  const app = new Hono<AgentEnv>();
  for (const { path, app: routes } of AGENT_MODULES) app.route(path, routes);
  return app.all('*', (c) => {
    const isLonger = AGENT_MODULES.some(({ path }) => c.req.path.startsWith(path));
    return isLonger ? c.env.API.send(c.req.raw, callerAddress(c)) : c.notFound();
  });
}
