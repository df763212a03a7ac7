/** The number of records of each type, in all organizations together. */
export interface DirectorySize {
  organizations: number;
  companies: number;
  technicians: number;
  tickets: number;
}

/**
 * 200,000 tickets of 2,000 companies and 500 technicians in 50 organizations, or a fraction of
 * these numbers.
 */
export function bigDirectory(fraction = 1): DirectorySize {
  return {
    organizations: 50 * fraction,
    companies: 2_000 * fraction,
    technicians: 500 * fraction,
    tickets: 200_000 * fraction,
  };
}

/**
 * The lines of a directory file of this size. The organizations take turns, as in an export that is
 * not ordered by organization.
 */
export function* directoryLines({ organizations, companies, technicians, tickets }: DirectorySize): Generator<string> {
  const line = (record: Record<string, unknown>) => `${JSON.stringify(record)}\n`;
  const owner = (index: number) => `msp-${index % organizations}`;
  const perOrganization = companies / organizations;
  for (let i = 0; i < organizations; i++) {
    yield line({
      type: 'organization',
      id: owner(i),
      name: `MSP ${i}`,
      psa: true,
      timeZone: 'Europe/Berlin',
      defaultHourlyRate: 100,
    });
  }
  for (let i = 0; i < technicians; i++) {
    const organization = owner(i);
    const email = `technician-${i}@${organization}.example`;
    yield line({ type: 'user', organization, id: `technician-${i}`, email, name: `Technician ${i}`, technician: true });
  }
  for (let i = 0; i < companies; i++) {
    yield line({
      type: 'company',
      organization: owner(i),
      id: `company-${Math.floor(i / organizations)}`,
      name: `Company ${i}`,
    });
  }
  for (let i = 0; i < tickets; i++) {
    const company = `company-${Math.floor(i / organizations) % perOrganization}`;
    yield line({ type: 'ticket', organization: owner(i), id: `T-${1_000_000 + i}`, company });
  }
}
