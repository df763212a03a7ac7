import type { ArchiveRow } from '../../db/work/archives.ts';
import { adminContext } from '../../http/hono-env.ts';
import { usePage } from '../../http/settings/page-context.ts';
import { Banner, formatNumber, Table, type TableColumn } from '../../http/settings/pages/components.tsx';
import { Time } from '../../http/settings/pages/time.tsx';
import type { Contribution } from '../../module.ts';
import { listReleases } from '../../services/work/release-changes.ts';
import { LISTED_ARCHIVES, listArchives, searchArchives } from './read-archives.ts';

const COLUMNS: readonly TableColumn<ArchiveRow>[] = [
  ['Entries', ({ fromSeq, toSeq }) => `${formatNumber(fromSeq)} to ${formatNumber(toSeq)}`],
  ['From', ({ firstAt }) => <Time at={firstAt} />],
  ['To', ({ lastAt }) => <Time at={lastAt} />],
  ['File', (archive) => <File archive={archive} />],
];

function File({ archive: { toSeq, object, damagedAt } }: { archive: ArchiveRow }) {
  const { base } = usePage();
  return (
    <>
      {damagedAt === null ? (
        <a href={`${base}/audit/archive/${toSeq}`}>Download</a>
      ) : (
        'Damaged: ask the operator of the service.'
      )}{' '}
      <span class="minor">{object}</span>
    </>
  );
}

/**
 * What the PSA has stored of the audit log, and what is archived. None if nothing is released and the archive is
 * off. `isOn`: changes leave the database.
 */
export const archiveSection =
  (isOn: boolean): NonNullable<Contribution['auditSection']> =>
  async (c, filter) => {
    const { search } = filter;
    const ctx = adminContext(c);
    const [[release], archives] = await Promise.all([
      listReleases(ctx, ctx.actor.organizationId),
      search === undefined ? listArchives(ctx, filter) : searchArchives(ctx, search),
    ]);
    if (!release || (!isOn && release.releasedSeq === 0)) return null;
    const { releasedSeq, releasedTo, archivedSeq, archivedTo } = release;
    const isSearch = search !== undefined;
    return (
      <section>
        <h2>Archive</h2>
        {releasedTo === null ? (
          <p>Your PSA has not confirmed yet that it stored these entries.</p>
        ) : (
          <p>
            Your PSA has confirmed that it stored the entries up to number {formatNumber(releasedSeq)} (
            <Time at={releasedTo} />
            ).
          </p>
        )}
        {archivedTo !== null && (
          <p>
            Entries up to number {formatNumber(archivedSeq)} (<Time at={archivedTo} />) are archived: they are in files
            instead of this list, without source addresses and User-Agents.
          </p>
        )}
        {isSearch && archives.length > 0 && (
          <Banner tone="neutral">Your search may match archived entries. Download these files to check.</Banner>
        )}
        {archives.length > 0 && (
          <details open={isSearch}>
            <summary>Archived files</summary>
            <Table caption="Archived entries, newest first" columns={COLUMNS} rows={archives} />
            {archives.length === LISTED_ARCHIVES && (
              <p>There may be more files: choose the days with “From” and “To”.</p>
            )}
          </details>
        )}
      </section>
    );
  };
