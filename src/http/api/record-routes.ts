import type { Hono } from 'hono';
import type { RecordKind } from '../../domain/record-kinds.ts';
import type { AppEnv } from '../context.ts';
import { notes } from './notes.ts';
import { timeEntries } from './time-entries.ts';

export const RECORD_ROUTES: Readonly<Record<RecordKind, Hono<AppEnv>>> = { note: notes, time_entry: timeEntries };
