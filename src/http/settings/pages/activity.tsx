import { auditActionLabel } from '../../../domain/audit-actions.ts';
import type { AuditEntry } from '../../../services/audit/read-audit-log.ts';
import type { RecordTexts } from '../record-texts.ts';
import { Address, Table, Ticket } from './components.tsx';
import { Time } from './time.tsx';

interface Props {
  entries: readonly AuditEntry[];
  texts: RecordTexts;
}

/** What one key did and what was done to it, with the texts that it wrote. */
export function Activity({ entries, texts }: Props) {
  if (entries.length === 0) return <p>No audit entries.</p>;
  return (
    <Table
      caption="Latest audit entries for this key"
      headings={['Time', 'Action', 'Ticket', 'Text', 'Source address']}
    >
      {entries.map((entry) => (
        <tr>
          <td data-label="Time">
            <Time at={entry.at} />
          </td>
          <th scope="row" data-label="Action">
            {auditActionLabel(entry.action)}
          </th>
          <td data-label="Ticket">
            <Ticket id={entry.ticketId} />
          </td>
          <td data-label="Text" class="text">
            <EntryText entry={entry} texts={texts} />
          </td>
          <td data-label="Source address">
            {entry.sourceAddress === null ? '–' : <Address address={entry.sourceAddress} />}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** What an entry is about in words: minutes and technician, the text of the record, and who did what. */
export function EntryText({ entry, texts }: Pick<Props, 'texts'> & { entry: AuditEntry }) {
  const { actorType, actorName, time, detail, key } = entry;
  const text = texts.get(entry.targetId);
  return (
    <div>
      {time && (
        <span class="minor">
          {time.minutes} min, <bdi>{time.technician}</bdi>
        </span>
      )}
      {text !== undefined && <bdi>{text}</bdi>}
      {detail && detail !== key?.name && <bdi>{detail}</bdi>}
      {actorType !== 'api_key' && (
        <span class="minor">
          by <bdi>{actorName}</bdi>
        </span>
      )}
    </div>
  );
}
