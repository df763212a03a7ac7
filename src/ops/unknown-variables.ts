import { VARIABLES } from '../config.ts';
import { nearestName } from './nearest-name.ts';

/**
 * The names that are no variables, each with the variable that it probably misspells, if there is one. `ofModules`: the
 * variables of the optional modules.
 */
export function unknownVariables(
  names: readonly string[],
  ofModules: readonly string[],
): { name: string; nearest: string | undefined }[] {
  const known = [...VARIABLES, ...ofModules];
  return names.filter((name) => !known.includes(name)).map((name) => ({ name, nearest: nearestName(name, known) }));
}
