import { RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';
import { addInternalNote } from './add-internal-note.ts';
import { logTime } from './log-time.ts';
import type { Tool } from './tool.ts';

/** The tool that writes each kind of record. There is no tool that reads. */
export const TOOLS: Readonly<Record<RecordKind, Tool>> = { note: addInternalNote, time_entry: logTime };

/** The kind of record that the tool with this name writes; undefined if there is no such tool. */
export function kindOfTool(name: string): RecordKind | undefined {
  return RECORD_KIND_NAMES.find((kind) => TOOLS[kind].name === name);
}
