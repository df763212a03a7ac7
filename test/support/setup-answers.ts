/** An answer to every question of setup. */
export const ANSWERS = {
  host: 'tickets.example.com',
  place: 'weur',
  'cloudflare-plan': 'free',
  agents: 'yes',
  team: 'northwind',
  login: 'One-time PIN',
  administrator: 'ada@northwind.example',
  organization: 'northwind',
  'time-zone': 'Europe/Berlin',
};

/** The same as options. */
export const SETUP_ANSWERS = Object.entries(ANSWERS).flatMap(([question, answer]) => [`--${question}`, answer]);
