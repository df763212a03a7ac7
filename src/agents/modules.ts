import type { AgentRoutes } from '../module.ts';
import { mcp } from '../modules/mcp/routes.ts';

export const AGENT_MODULES: readonly AgentRoutes[] = [mcp];
