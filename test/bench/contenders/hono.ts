import { Hono } from 'hono';

/** The framework by itself. */
export default new Hono().get('/', (c) => c.text('hello'));
