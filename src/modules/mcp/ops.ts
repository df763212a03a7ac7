import type { OpsModule } from '../../ops/module.ts';
import { parseMcpOptions } from './options.ts';

export const mcpOps: OpsModule = { variables: ['MCP_ORIGINS'], parse: parseMcpOptions };
