import type { OpsModule } from '../../ops/module.ts';
import { parseOrigins } from './options.ts';

export const mcpOps: OpsModule = { variables: { MCP_ORIGINS: parseOrigins } };
