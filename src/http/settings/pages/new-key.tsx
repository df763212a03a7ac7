import { isLive } from '../../../domain/api-key.ts';
import { companyIds } from '../../../domain/key-settings.ts';
import { isAllowedFrom } from '../../../domain/networks.ts';
import { RECORD_KINDS, type RecordKind, writableKinds } from '../../../domain/record-kinds.ts';
import type { Company } from '../../../services/directory/companies.ts';
import type { CreatedKey } from '../../../services/keys/create-key.ts';
import type { Workflow } from '../../../services/keys/key-workflows.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { Code } from '../../page/code.tsx';
import { Icon } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';
import { Banner, counted, Hint, Scopes } from './components.tsx';
import { Expiry } from './time.tsx';
import { TitledWorkflows } from './workflows.tsx';

interface Props {
  created: CreatedKey;
  /** The origin of this deployment, such as https://api.example. */
  origin: string;
  /** The company that it is limited to, if it is limited to one. */
  company?: Company | undefined;
  /** The key that this one replaces, and where that one was used. */
  replaced?: KeyDetails | undefined;
  workflows?: readonly Workflow[];
}

/** The recipes of the documentation: the last part of the address, and the tool. */
const RECIPES = [
  ['n8n', 'n8n'],
  ['make', 'Make'],
  ['zapier', 'Zapier'],
  ['power-automate', 'Power Automate'],
  ['powershell', 'PowerShell'],
  ['curl', 'curl'],
  ['node-red', 'Node-RED'],
  ['typescript', 'TypeScript'],
  ['python', 'Python'],
] as const;

export const RecipeLinks = () => (
  <p>{RECIPES.map(([slug, tool], index) => [index > 0 && ' · ', <a href={`/docs/recipes/${slug}`}>{tool}</a>])}</p>
);

/** Reads the key into a variable: in the command it would stay in the shell’s history. */
const dryRun = (
  origin: string,
  kind: RecordKind,
) => `read -rs KEY && curl ${origin}/api/v1/tickets/1001/${RECORD_KINDS[kind].path}/dry-run \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(RECORD_KINDS[kind].exampleBody)}'`;

/** Shows the value of a new key. This is the only page that shows it, so its links open other tabs. */
export function NewKeyPage({ created, origin, company, replaced, workflows = [] }: Props) {
  const { base, address } = usePage();
  const { value, id, scopes, allowedNetworks, companies } = created;
  const [kind] = writableKinds(scopes);
  const canTest = isAllowedFrom(allowedNetworks, address);
  return (
    <>
      <Banner tone="warning" id="notice">
        <strong>Copy the key now.</strong> This is the only time that it is shown. If you lose the key, rotate it.
      </Banner>
      <section class="secret" aria-labelledby="key-heading" data-accepted>
        <TicketHead created={created} company={company} />
        <code id="key" class="value">
          {value}
        </code>
        <div class="actions">
          <button type="button" data-copy="key" hidden>
            <Icon name="copy" /> Copy
          </button>
          <output aria-live="polite"></output>
          {canTest && (
            <>
              <button type="button" class="quiet" data-test="key" hidden>
                Test this key
              </button>
              <output aria-live="polite" id="result"></output>
            </>
          )}
        </div>
        {!canTest && (
          <p class="minor">
            The key works only from {allowedNetworks.replaceAll(' ', ', ')}. This browser is outside them, so test the
            key in its automation.
          </p>
        )}
      </section>
      {replaced && <Replaced old={replaced} workflows={workflows} />}
      <h2>Where it goes</h2>
      <RecipeLinks />
      <p>
        Or check a ticket: replace 1001 by the id of a ticket{companies !== '' && ' of a company that the key is for'},
        and paste the key when the command waits. This writes no record.
      </p>
      {kind && <Code label="Dry run, for bash and zsh">{dryRun(origin, kind)}</Code>}
      <form method="get" action={`${base}/keys/${id}`} target="_self" class="actions" data-stored>
        <button type="submit" class="quiet">
          <Icon name="check" /> I have stored the key
        </button>
        <span class="minor">Leads to the key’s page.</span>
      </form>
    </>
  );
}

/** The name of the key, and what it can do until when. */
const TicketHead = ({ created, company }: Pick<Props, 'created' | 'company'>) => (
  <div class="row spread">
    <h2 id="key-heading">
      <bdi>{created.name}</bdi>
    </h2>
    <div class="row minor">
      <Scopes scopes={created.scopes} />
      {created.companies !== '' && (
        <span class="chip">
          <bdi>{company?.name ?? counted(companyIds(created.companies).length, 'company', 'companies')}</bdi>
        </span>
      )}
      <span>
        Expires: <Expiry subject={created} />
      </span>
    </div>
  </div>
);

function Replaced({ old, workflows }: { old: KeyDetails; workflows: readonly Workflow[] }) {
  return (
    <div>
      Enter the new key in its automation, in place of <Hint hint={old.hint} />
      {isLive(old.state) ? (
        <>
          , which stops at <Expiry subject={old} />. The pages of both keys show which of them is in use.
        </>
      ) : (
        `, which ${old.state === 'revoked' ? 'is revoked' : 'has expired'}: the automation is refused until then.`
      )}
      <TitledWorkflows title="Used by" workflows={workflows} />
    </div>
  );
}
