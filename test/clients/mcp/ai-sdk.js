// Calls tools with the MCP client of the AI SDK, in a process of its own. Its argument is JSON with
// `url`, `key` and `calls`; it prints the names of the tools and the outcome of each call as JSON.
import { createMCPClient } from '@ai-sdk/mcp';

const { url, key, calls } = JSON.parse(process.argv[2]);

/** What a program that uses the client gets: a value, or the message of an error. */
async function outcome(run) {
  try {
    return { value: await run() };
  } catch (err) {
    return { error: `${err.name}: ${err.message}` };
  }
}

const outcomes = [];
let client;
const connected = await outcome(async () => {
  client = await createMCPClient({ transport: { type: 'http', url, headers: { Authorization: `Bearer ${key}` } } });
  const tools = await client.tools();
  for (const { name, arguments: args } of calls)
    outcomes.push(await outcome(() => tools[name].execute(args, { toolCallId: '1', messages: [] })));
  return Object.keys(tools);
});
console.log(JSON.stringify({ tools: connected, outcomes }));
await client?.close();
