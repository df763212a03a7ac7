import type { Module } from '../../module.ts';
import { createMcp } from './routes.ts';

/** The Model Context Protocol for AI agents. It is a module of their separate Worker, not of the main one. */
export const mcp: Module = {
  name: 'mcp',
  start: () => ({ routes: { path: '/mcp', app: createMcp() } }),
};
