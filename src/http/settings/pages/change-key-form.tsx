import { hostNetwork, MAX_NETWORKS } from '../../../domain/networks.ts';
import { type Lockout, USAGE_DAYS } from '../../../services/keys/key-usage.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { usePage } from '../page-context.ts';
import { Address, Banner, counted } from './components.tsx';
import { limitWords } from './day-use.ts';
import { CardForm, Conflict } from './form.tsx';
import { CompanyName } from './key-facts.tsx';
import { ADVANCED, BASIC, FIELDS, SettingFields, type SettingsProps, SubmitOrCancel } from './key-setting-fields.tsx';
import { Ago } from './time.tsx';

/** What a repair enters in the form: an address or the id of a company that the key does not allow. */
export interface Added {
  address?: string | undefined;
  company?: string | undefined;
}

interface ChangeProps extends SettingsProps {
  subject: KeyDetails;
  added?: Added;
  /** The revision of the key that the form shows. */
  revision: number;
  /** Whether others changed the key since the form was opened, after which nothing was saved. */
  isConflict?: boolean;
  /** The recent use that the settings would refuse: nothing was saved, and saving again confirms it. */
  lockout?: Lockout;
}

/** The form to change a key's settings. */
export function ChangeForm({ subject: key, added, revision, isConflict, lockout, ...fields }: ChangeProps) {
  const { base } = usePage();
  const path = `${base}/keys/${key.id}`;
  return (
    <CardForm
      form={fields.form}
      action={`${path}/change`}
      fields={FIELDS}
      nothing="Nothing was saved."
      hidden={{ revision, shown: fields.form.values.get('shown') ?? '', ...(lockout && { confirmed: 'yes' }) }}
      actions={<SubmitOrCancel submit={lockout ? 'Save anyway' : 'Save'} cancel={path} />}
      notice={
        <>
          {added && <AddedNotice {...added} {...fields} />}
          {isConflict && <Conflict what="key" history={`${base}/audit?key=${key.id}`} />}
          {lockout && <LockoutQuestion {...lockout} entered={fields.form.values.get('allowedNetworks') ?? ''} />}
        </>
      }
      hasDraft={added === undefined}
    >
      <SettingFields names={[...BASIC, 'companies', ...ADVANCED]} {...fields} />
    </CardForm>
  );
}

/** Names what saving the form of a repair also allows: among many companies, one more selected is easily missed. */
function AddedNotice({ address, company: id, offered, form }: Added & Pick<SettingsProps, 'offered' | 'form'>) {
  const company = offered.companies.find((one) => one.id === id);
  if (!address && !company) return null;
  if (address && networksIn(form.values.get('allowedNetworks')).length > MAX_NETWORKS)
    return (
      <Banner tone="warning" id="added">
        <strong>Not saved yet.</strong> The key has {MAX_NETWORKS} networks, and cannot have more. To allow{' '}
        <Address address={address} />, <a href="#allowedNetworks">remove another one</a> before you save.
      </Banner>
    );
  return (
    <Banner tone="warning" id="added">
      <strong>Not saved yet.</strong> <em>Save</em> also allows:{' '}
      {company ? <CompanyName company={company} /> : address && <Address address={address} />}
      <div class="actions">
        <button type="submit" form="form">
          Save
        </button>
      </div>
    </Banner>
  );
}

const networksIn = (entered: string | null) => entered?.split(/\s+/).filter(Boolean) ?? [];

/**
 * Asks before a change that would refuse recent use of the key, with a button that allows this use unless the addresses
 * and the entered networks are more than a key can have.
 */
function LockoutQuestion({ addresses, records, minutes, entered }: Lockout & { entered: string }) {
  const [first, ...others] = addresses;
  const hasRoom = networksIn(entered).length + addresses.length <= MAX_NETWORKS;
  const limits = limitWords({ records, minutes });
  const remedies = [
    ...(first ? [others.length > 0 ? `these ${addresses.length} addresses` : hostNetwork(first.address)] : []),
    ...limits.map((limit) => `${limit} a day`),
  ];
  return (
    <Banner tone="warning">
      <strong>Not saved yet.</strong> The key would be refused for what it did in the last {USAGE_DAYS} days:
      <ul>
        {addresses.map(({ address, writes, lastAt }) => (
          <li>
            <Address address={address} /> wrote <Ago at={lastAt} />: about {counted(writes, 'write')}.
          </li>
        ))}
        {limits.map((limit) => (
          <li>It wrote up to {limit} a day.</li>
        ))}
      </ul>
      {hasRoom ? (
        <>
          {/* Enter presses the first button of a form: this one, so that it neither allows nor saves. */}
          <button type="submit" form="form" disabled hidden />
          <button type="submit" form="form" name="widened" value={addresses.map(({ address }) => address).join(' ')}>
            Allow {remedies.join(' and ')} too
          </button>
        </>
      ) : (
        <p>A key can have {MAX_NETWORKS} networks. To allow these addresses, enter the networks that contain them.</p>
      )}
    </Banner>
  );
}
