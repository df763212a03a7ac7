/** The options that answer every question of setup. */
export const SETUP_ANSWERS = Object.entries({
  host: 'tickets.example.com',
  place: 'weur',
  'cloudflare-plan': 'free',
  archive: 'yes',
  agents: 'yes',
  team: 'northwind',
  login: 'One-time PIN',
  administrator: 'ada@northwind.example',
  organization: 'northwind',
  'time-zone': 'Europe/Berlin',
}).flatMap(([question, answer]) => [`--${question}`, answer]);
