import type { makeApi } from './world.ts';

/** Sends a message to /mcp. */
type PostMcp = (
  api: ReturnType<typeof makeApi>,
  key: string,
  method: string,
  params?: Record<string, unknown>,
  headers?: Record<string, string>,
) => Promise<Response>;

// Tests of the core also write through the tools for AI agents, as long as the module that serves them is there.
const [found] = Object.values(import.meta.glob<{ post: PostMcp }>('../modules/mcp/support.ts', { eager: true }));
export const postMcp = found?.post;

/** The result of a tool, as an agent reads it. */
export interface ToolResult {
  isError?: boolean;
  content: { type: string; text: string }[];
  structuredContent: Record<string, unknown>;
}

/** Calls a tool. Undefined without the module. */
export const callTool =
  postMcp &&
  ((
    api: ReturnType<typeof makeApi>,
    key: string,
    name: 'add_internal_note' | 'log_time',
    args: Record<string, unknown>,
    headers?: Record<string, string>,
  ) => postMcp(api, key, 'tools/call', { name, arguments: args }, headers));
