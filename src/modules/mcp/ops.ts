import type { OpsModule } from '../../ops/module.ts';
import { parseOrigins } from './origins.ts';

export const mcpOps: OpsModule = { variables: { MCP_ORIGINS: parseOrigins } };
