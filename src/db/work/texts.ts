import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { statement } from '../statement.ts';
import { RECORD_TABLES } from './record-tables.ts';

/** The beginning of the text of a record, in its current state: a redaction replaces it. */
export interface TextRow {
  id: string;
  text: string;
}

const TEXTS = RECORD_KIND_NAMES.map((kind) => {
  const { table, textColumn } = RECORD_TABLES[kind];
  return `select r.id, substr(r.${textColumn}, 1, :length) as text from json_each(:ids) i
    cross join ${table} r on r.organization_id = :organizationId and r.id = i.value`;
});

/** The first `length` characters of the texts of these records. `ids` is a JSON array. */
export const findTexts = statement<{ organizationId: string; ids: string; length: number }, TextRow>(
  TEXTS.join(' union all '),
);
