import { Hono, type MiddlewareHandler } from 'hono';
import type { Config } from '../config.ts';
import { answerError } from '../http/answer-error.ts';
import type { AppEnv } from '../http/context.ts';
import { requestContext } from '../http/middleware/request-context.ts';
import { requestLog } from '../http/middleware/request-log.ts';
import { endpointNotFound } from '../http/no-endpoint.ts';
import { isOAuthPath, noOAuth } from '../http/no-oauth.ts';
import { problem } from '../http/problems.ts';
import { type McpOptions, parseMcpOptions } from '../modules/mcp/options.ts';
import { createMcp } from '../modules/mcp/routes.ts';
import { isolateWakes } from '../modules/push/wake.ts';

/** The options of the Worker for AI agents, in addition to the configuration of the service. */
interface AgentsOptions extends McpOptions {
  /** Whether the service pushes changes to a receiver, so that a write has to wake the push. */
  isPushed: boolean;
}

/** @throws Error naming the variable and the rule. The Worker must not start. */
export function parseAgentsOptions(vars: { MCP_ORIGINS?: string; WEBHOOK_URL?: string }): AgentsOptions {
  return { ...parseMcpOptions(vars), isPushed: (vars.WEBHOOK_URL ?? '').trim() !== '' };
}

/** Creates the routes of the Worker for AI agents. `now` is the clock, in UTC milliseconds. */
export function createAgents(config: Config, options: AgentsOptions, now: () => number = Date.now) {
  return new Hono<AppEnv>()
    .use(requestContext(config, now), requestLog(), wakePush(options))
    .route('/mcp', createMcp(options))
    .notFound((c) => (isOAuthPath(c.req.path) ? noOAuth(c) : problem(c, ...endpointNotFound())))
    .onError(answerError);
}

/** Wakes the push after a write. Its objects belong to the main Worker, as does the receiver's secret. */
function wakePush({ isPushed }: AgentsOptions): MiddlewareHandler<AppEnv> {
  return async function wakePush(c, next) {
    if (isPushed)
      c.set('changed', (organizationId) =>
        isolateWakes.afterWrite(c.env.PUSHER, organizationId, (work) => c.executionCtx.waitUntil(work)),
      );
    await next();
  };
}
