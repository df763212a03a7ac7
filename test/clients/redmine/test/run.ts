// npm run test:redmine: runs the adapter between a real Redmine, which it installs first, and a local
// service. What arrives in Redmine is checked through its own API.

import { checkDirectory } from './check-directory.ts';
import { checkWork } from './check-work.ts';
import { install } from './instance.ts';
import { makeWorld } from './world.ts';

const missing = await install();
if (missing === undefined) {
  const world = await makeWorld();
  try {
    const start = performance.now();
    const check = async (title: string, run: () => Promise<void>) => {
      await run();
      console.log(`${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  ${title}`);
    };
    await checkWork(world, check);
    await checkDirectory(world, check);
  } catch (err) {
    console.error(`The receiver printed:\n${world.receiverErrors()}`);
    throw err;
  } finally {
    await world.close();
  }
} else console.log(`Skipped: ${missing}`);
