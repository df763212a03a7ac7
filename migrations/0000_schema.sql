-- The schema. The tables in src/db/schema say what each column means. Until 1.0.0 is released, a change of the schema edits
-- this file. From then on, no migration that was released changes.
--
-- Every table is clustered (without rowid) on a primary key that begins with the organization: an insert writes one row,
-- and each query stays within one tenant. Only notes keeps its rowid: a row above about 1,000 bytes would take a 4 KB
-- overflow page, so a note of 800 characters would take almost four times the space, which is worth a second row written.
-- Times are UTC milliseconds, money is minor units, email addresses are lower case, flags are 0 or 1.
--
-- SQLite cannot add a check to a table, or change one, so lists that grow are checked by a pattern. A fixed list is written
-- with "or": for three or more values, "in (...)" builds a temporary index, which costs one row read for each write. The
-- characters of trim() are those that String.prototype.trim removes.

create table organizations (
  id text primary key not null,
  name text not null,
  has_psa integer not null,
  time_zone text not null,
  default_hourly_rate_minor integer not null,
  active integer not null,
  approvals text default 'settings' not null,
  constraint organizations_id check (length(id) between 1 and 64 and id not glob '*[^A-Za-z0-9._~-]*' and id not in ('.', '..')),
  constraint organizations_flags check (has_psa in (0, 1) and active in (0, 1)),
  constraint organizations_rate check (default_hourly_rate_minor between 0 and 10000000)
) strict, without rowid;

create table users (
  organization_id text not null,
  id text not null,
  email text not null,
  name text not null,
  is_admin integer not null,
  is_technician integer not null,
  is_service integer not null,
  active integer not null,
  primary key (organization_id, id),
  foreign key (organization_id) references organizations (id),
  constraint users_id check (length(id) between 1 and 64 and id not glob '*[^A-Za-z0-9._~-]*' and id not in ('.', '..')),
  constraint users_flags check (is_admin in (0, 1) and is_technician in (0, 1) and is_service in (0, 1) and active in (0, 1)),
  constraint users_email_lower_case check (email = lower(email) and email like '%_@_%'),
  constraint users_service_account check (is_service = 0 or (active = 1 and is_admin = 0 and is_technician = 0))
) strict, without rowid;
create index users_administrators on users (email, organization_id) where is_admin = 1;
create index users_creditable on users (organization_id, name, id) where is_technician = 1 or is_service = 1;
create unique index users_email on users (organization_id, email);
create unique index users_one_service_account on users (organization_id) where is_service = 1;

create table companies (
  organization_id text not null,
  id text not null,
  name text not null,
  active integer not null,
  primary key (organization_id, id),
  foreign key (organization_id) references organizations (id),
  constraint companies_id check (length(id) between 1 and 64 and id not glob '*[^A-Za-z0-9._~-]*' and id not in ('.', '..')),
  constraint companies_flags check (active in (0, 1))
) strict, without rowid;

create table agreements (
  organization_id text not null,
  id text not null,
  company_id text not null,
  hourly_rate_minor integer not null,
  active integer not null,
  primary key (organization_id, id),
  foreign key (organization_id, company_id) references companies (organization_id, id),
  constraint agreements_id check (length(id) between 1 and 64 and id not glob '*[^A-Za-z0-9._~-]*' and id not in ('.', '..')),
  constraint agreements_flags check (active in (0, 1)),
  constraint agreements_rate check (hourly_rate_minor between 0 and 10000000)
) strict, without rowid;
create unique index agreements_one_active on agreements (organization_id, company_id) where active = 1;

create table tickets (
  organization_id text not null,
  id text not null,
  company_id text not null,
  active integer not null,
  primary key (organization_id, id),
  foreign key (organization_id, company_id) references companies (organization_id, id),
  constraint tickets_id check (length(id) between 1 and 64 and id not glob '*[^A-Za-z0-9._~-]*' and id not in ('.', '..')),
  constraint tickets_flags check (active in (0, 1))
) strict, without rowid;

create table api_keys (
  organization_id text not null,
  id text not null,
  chain_id text not null,
  name text not null,
  hash text not null,
  hint text not null,
  scopes text not null,
  day_limit_records integer,
  day_limit_minutes integer,
  allowed_networks text default '' not null,
  description text default '' not null,
  owner text default '' not null,
  revision integer default 0 not null,
  created_at integer not null,
  created_by text not null,
  expires_at integer,
  revoked_at integer,
  revoked_by text,
  successor_id text,
  form_token text,
  companies text default '' not null,
  primary key (organization_id, id),
  foreign key (organization_id) references organizations (id),
  foreign key (organization_id, created_by) references users (organization_id, id),
  constraint api_keys_name check (length(trim(name)) between 1 and 100),
  constraint api_keys_hash check (length(hash) = 64 and hash not glob '*[^0-9a-f]*'),
  constraint api_keys_scopes check (length(scopes) > 0 and scopes not glob '*[^a-z0-9:_ -]*' and scopes = trim(scopes) and instr(scopes, '  ') = 0),
  constraint api_keys_day_limits check (day_limit_records > 0 and day_limit_minutes > 0),
  constraint api_keys_revoked check ((revoked_at is null) = (revoked_by is null))
) strict, without rowid;
create unique index api_keys_form_token on api_keys (organization_id, form_token) where form_token is not null;
create unique index api_keys_hash on api_keys (hash);
create index api_keys_hint on api_keys (organization_id, hint);
create unique index api_keys_name_in_use on api_keys (organization_id, name) where revoked_at is null and successor_id is null;
create unique index api_keys_successor on api_keys (organization_id, successor_id) where successor_id is not null;
create index api_keys_unrevoked on api_keys (organization_id, expires_at) where revoked_at is null;

create trigger api_keys_chain_is_final before update of chain_id on api_keys
when new.chain_id <> old.chain_id
begin select raise(abort, 'api_keys: a key stays in its chain'); end;

create trigger api_keys_no_delete before delete on api_keys
when not exists (select 1 from erasures where organization_id = old.organization_id and open = 1)
begin select raise(abort, 'api_keys: a key is not deleted'); end;

create trigger api_keys_no_replace before insert on api_keys
when exists (select 1 from api_keys where organization_id = new.organization_id and id = new.id and revoked_at is not null)
  or exists (select 1 from api_keys where hash = new.hash and revoked_at is not null)
  or exists (select 1 from api_keys where organization_id = new.organization_id and form_token = new.form_token and revoked_at is not null)
  or exists (select 1 from api_keys where organization_id = new.organization_id and successor_id = new.successor_id and revoked_at is not null)
begin select raise(abort, 'api_keys: a key is not replaced'); end;

create trigger api_keys_revocation_is_final before update on api_keys
when old.revoked_at is not null and new.revoked_at is not old.revoked_at
begin select raise(abort, 'api_keys: a revocation cannot be undone'); end;

create trigger api_keys_revoked_stays before update of organization_id, id, hash, form_token, successor_id on api_keys
when (old.revoked_at is not null and (new.organization_id, new.id, new.hash, new.form_token) is not (old.organization_id, old.id, old.hash, old.form_token))
  or ((new.organization_id, new.id) is not (old.organization_id, old.id)
    and exists (select 1 from api_keys where organization_id = new.organization_id and id = new.id and revoked_at is not null))
  or (new.hash <> old.hash and exists (select 1 from api_keys where hash = new.hash and revoked_at is not null))
  or (new.form_token is not old.form_token
    and exists (select 1 from api_keys where organization_id = new.organization_id and form_token = new.form_token and revoked_at is not null))
  or (new.successor_id is not old.successor_id
    and exists (select 1 from api_keys where organization_id = new.organization_id and successor_id = new.successor_id and revoked_at is not null))
begin select raise(abort, 'api_keys: a key is not replaced'); end;

create trigger api_keys_succession_is_final before update on api_keys
when old.successor_id is not null and new.successor_id is not old.successor_id
begin select raise(abort, 'api_keys: a key has one successor'); end;

create table notes (
  organization_id text not null,
  id text not null,
  ticket_id text not null,
  created_at integer not null,
  key_id text not null,
  request_id text not null,
  request_digest text not null,
  audit_seq integer not null,
  message text not null,
  primary key (organization_id, id),
  foreign key (organization_id, ticket_id) references tickets (organization_id, id),
  foreign key (organization_id, key_id) references api_keys (organization_id, id),
  constraint notes_message check (length(trim(message, char(9,10,11,12,13,32,160,5760,8192,8193,8194,8195,8196,8197,8198,8199,8200,8201,8202,8232,8233,8239,8287,12288,65279))) between 1 and 32000)
) strict;

create trigger notes_no_delete before delete on notes
when not exists (select 1 from erasures where organization_id = old.organization_id and open = 1)
  and old.audit_seq > coalesce((select to_seq from deletions where organization_id = old.organization_id), 0)
begin select raise(abort, 'notes are kept as they are'); end;

create trigger notes_once before insert on notes
when new.rowid > 0
  or exists (select 1 from notes where (organization_id, id) = (new.organization_id, new.id))
begin select raise(ignore); end;

create trigger notes_only_redact before update on notes
when (new.message, new.request_digest) is not ('[redacted]', '')
  or (new.rowid, new.organization_id, new.id, new.ticket_id, new.created_at, new.key_id, new.request_id, new.audit_seq)
  is not (old.rowid, old.organization_id, old.id, old.ticket_id, old.created_at, old.key_id, old.request_id, old.audit_seq)
begin select raise(abort, 'notes are kept as they are'); end;

create table time_entries (
  organization_id text not null,
  id text not null,
  ticket_id text not null,
  created_at integer not null,
  key_id text not null,
  request_id text not null,
  request_digest text not null,
  audit_seq integer not null,
  user_id text not null,
  minutes integer not null,
  description text not null,
  billable integer not null,
  work_date text not null,
  hourly_rate_minor integer not null,
  agreement_source text not null,
  approvals text not null,
  status text not null,
  approval_seq integer,
  primary key (organization_id, id),
  foreign key (organization_id, ticket_id) references tickets (organization_id, id),
  foreign key (organization_id, user_id) references users (organization_id, id),
  foreign key (organization_id, key_id) references api_keys (organization_id, id),
  constraint time_entries_minutes check (minutes between 1 and 1440),
  constraint time_entries_description check (length(trim(description, char(9,10,11,12,13,32,160,5760,8192,8193,8194,8195,8196,8197,8198,8199,8200,8201,8202,8232,8233,8239,8287,12288,65279))) between 1 and 32000),
  constraint time_entries_flags check (billable in (0, 1)),
  constraint time_entries_work_date check (work_date is date(work_date)),
  constraint time_entries_rate check (hourly_rate_minor between 0 and 10000000),
  constraint time_entries_source check (agreement_source = 'company_default' or agreement_source = 'organization_default'),
  constraint time_entries_approvals check (approvals = 'settings' or approvals = 'psa'),
  constraint time_entries_status check (status = 'SUBMITTED' or status = 'APPROVED' or status = 'REJECTED')
) strict, without rowid;

-- The queue of time, and decided time.
create index time_entries_status on time_entries (organization_id, approvals, status, audit_seq);

create trigger time_entries_no_delete before delete on time_entries
when not exists (select 1 from erasures where organization_id = old.organization_id and open = 1)
  and old.audit_seq > coalesce((select to_seq from deletions where organization_id = old.organization_id), 0)
begin select raise(abort, 'time_entries are kept as they are'); end;

create trigger time_entries_once before insert on time_entries
when exists (select 1 from time_entries where (organization_id, id) = (new.organization_id, new.id))
begin select raise(ignore); end;

create trigger time_entries_only_change before update on time_entries
when (new.organization_id, new.id, new.ticket_id, new.created_at, new.key_id, new.request_id, new.audit_seq, new.user_id, new.minutes, new.billable, new.work_date, new.hourly_rate_minor, new.agreement_source)
  is not (old.organization_id, old.id, old.ticket_id, old.created_at, old.key_id, old.request_id, old.audit_seq, old.user_id, old.minutes, old.billable, old.work_date, old.hourly_rate_minor, old.agreement_source)
  or (new.approvals <> old.approvals and ((old.approvals, old.status, new.status) is not ('psa', 'SUBMITTED', 'SUBMITTED')
    or old.audit_seq <= coalesce((select to_seq from deletions where organization_id = old.organization_id), 0)
    or not exists (select 1 from organizations where id = old.organization_id and approvals = 'settings')))
  or ((new.description, new.request_digest) is not (old.description, old.request_digest) and (new.description, new.request_digest) is not ('[redacted]', ''))
  or ((new.status, new.approval_seq) is not (old.status, old.approval_seq)
    and (old.status <> 'SUBMITTED' or new.status = 'SUBMITTED' or new.approval_seq is null))
begin select raise(abort, 'time_entries are kept as they are'); end;

-- Append-only. `seq` counts from 1 without gaps within an organization, in commit order. The oldest rows may be deleted, see
-- `deletions`.
create table audit_log (
  organization_id text not null,
  seq integer not null,
  at integer not null,
  actor_type text not null,
  actor_id text not null,
  actor_name text not null,
  action text not null,
  target_id text not null,
  ticket_id text,
  request_id text not null,
  idempotency_key text,
  source_address text,
  user_agent text,
  detail text,
  day text default '' not null,
  day_records integer default 0 not null,
  day_bytes integer default 0 not null,
  primary key (organization_id, seq),
  foreign key (organization_id) references organizations (id),
  constraint audit_log_actor_type check (actor_type = 'api_key' or actor_type = 'user' or actor_type = 'system'),
  constraint audit_log_action check (action glob '[a-z]*.[a-z]*')
) strict, without rowid;
create index audit_log_actor on audit_log (organization_id, actor_type, actor_id, seq);
-- Partial, so that writes of the API do not touch it.
create index audit_log_user_target on audit_log (organization_id, target_id, seq) where actor_type <> 'api_key';

create trigger audit_log_closed_by_erasure before insert on audit_log
when exists (select 1 from erasures where organization_id = new.organization_id and open = 1)
begin select raise(abort, 'erasures: the organization is being erased'); end;

create trigger audit_log_in_sequence before insert on audit_log
when new.seq <> (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = new.organization_id)
begin select raise(abort, 'audit_log: seq must be the next of its organization'); end;

create trigger audit_log_no_delete before delete on audit_log
when old.seq > coalesce((select to_seq from deletions where organization_id = old.organization_id), 0)
  and (not exists (select 1 from erasures where organization_id = old.organization_id and open = 1)
    or exists (select 1 from users where organization_id = old.organization_id)
    or exists (select 1 from api_keys where organization_id = old.organization_id)
    or exists (select 1 from tickets where organization_id = old.organization_id))
begin select raise(abort, 'audit_log is append-only'); end;

create trigger audit_log_no_update before update on audit_log
begin select raise(abort, 'audit_log is append-only'); end;

-- The daily ledger: what a key wrote on one day, the calendar date in the organization's time zone. Written with each
-- record, in its transaction.
create table key_days (
  organization_id text not null,
  chain_id text not null,
  day text not null,
  key_id text not null,
  notes integer not null,
  time_entries integer not null,
  minutes integer not null,
  bytes integer not null,
  last_at integer not null,
  last_address text,
  primary key (organization_id, chain_id, day, key_id),
  foreign key (organization_id, key_id) references api_keys (organization_id, id),
  constraint key_days_day check (day is date(day)),
  constraint key_days_counts check (notes >= 0 and time_entries >= 0 and notes + time_entries > 0 and minutes >= 0 and bytes > 0)
) strict, without rowid;

-- Refused requests with a key of the organization, by reason and daily limit. The count is a lower bound.
create table refused_uses (
  organization_id text not null,
  key_id text not null,
  reason text not null,
  count integer not null,
  first_at integer not null,
  last_at integer not null,
  source_address text,
  lost_writes text,
  ends_at integer,
  limit_id text not null,
  day_limit text,
  primary key (organization_id, key_id, reason, limit_id),
  foreign key (organization_id, key_id) references api_keys (organization_id, id),
  constraint refused_uses_reason check (length(reason) > 0 and reason not glob '*[^a-z0-9:_ -]*' and reason = trim(reason) and instr(reason, '  ') = 0),
  constraint refused_uses_count check (count > 0)
) strict, without rowid;
create index refused_uses_latest on refused_uses (organization_id, last_at);
create index refused_uses_with_address on refused_uses (last_at) where source_address is not null;

-- The latest refused requests with a key of the organization. Of a body, only the names of fields and a refused userEmail.
create table refused_requests (
  organization_id text not null,
  request_id text not null,
  key_id text not null,
  at integer not null,
  status integer not null,
  reason text not null,
  pointers text,
  ticket_id text,
  user_email text,
  day_limit text,
  source_address text,
  user_agent text,
  primary key (organization_id, request_id),
  foreign key (organization_id, key_id) references api_keys (organization_id, id),
  constraint refused_requests_reason check (length(reason) > 0 and reason not glob '*[^a-z0-9:_ -]*' and reason = trim(reason) and instr(reason, '  ') = 0),
  constraint refused_requests_status check (status between 400 and 499)
) strict, without rowid;
create index refused_requests_by_key on refused_requests (organization_id, key_id, request_id);
create index refused_requests_by_time on refused_requests (at);

-- The organization's rules for keys and their time. Without a row there are the default ones.
create table key_rules (
  organization_id text primary key not null,
  max_lifetime_days integer,
  expiry_required integer not null,
  long_minutes integer not null,
  revision integer not null,
  foreign key (organization_id) references organizations (id),
  constraint key_rules_flags check (expiry_required in (0, 1)),
  constraint key_rules_lifetime check (max_lifetime_days is null or (max_lifetime_days > 0 and expiry_required = 1)),
  constraint key_rules_long_minutes check (long_minutes between 1 and 1440)
) strict, without rowid;

-- When each organization's directory was last changed, so that an older signed message does not undo a newer change. A
-- trigger refuses to turn it back. Kept after an erasure: it has nothing of the organization but its id.
create table directory_clock (
  organization_id text primary key not null,
  at integer not null,
  messages text not null,
  constraint directory_clock_messages check (json_array_length(messages) > 0)
) strict, without rowid;

create trigger directory_clock_forward before update on directory_clock
when new.at < old.at
  or (new.at = old.at and new.messages <> old.messages and new.messages ->> '$[#-1]' <> ''
    and exists (select 1 from json_each(old.messages) where value = new.messages ->> '$[#-1]'))
begin select raise(abort, 'directory_clock: an older message'); end;

create trigger directory_clock_stays_erased before insert on directory_clock
when (select max(open) from erasures where organization_id = new.organization_id and recreated_at is null) = 0
begin select raise(abort, 'erasures: the organization was erased'); end;

create trigger directory_clock_stopped_by_erasure before insert on directory_clock
when exists (select 1 from erasures where organization_id = new.organization_id and open = 1)
  and exists (select 1 from organizations where id = new.organization_id)
begin select raise(abort, 'erasures: the organization is being erased'); end;

-- Identifies this database: one row, created with it. Cursors of other databases are not valid.
create table database_epoch (
  id integer primary key not null,
  epoch text not null,
  constraint database_epoch_single check (id = 1)
) strict, without rowid;

insert into database_epoch (id, epoch) values (1, lower(hex(randomblob(8))));

-- The organizations that were erased, without any of their data; kept permanently. The triggers allow deletes of an
-- organization's audit rows only while its row here is `open`, and refuse new ones then. It stays open from the first
-- transaction of an erasure to the last.
create table erasures (
  organization_id text not null,
  request_id text not null,
  erased_at integer not null,
  erased_by text not null,
  last_seq integer not null,
  open integer not null,
  recreated_at integer,
  recreated_by text,
  primary key (organization_id, request_id),
  constraint erasures_flags check (open in (0, 1))
) strict, without rowid;

create trigger erasures_begin_now before insert on erasures
when abs(new.erased_at - unixepoch() * 1000) > 60000 or (new.recreated_at, new.recreated_by) is not (null, null)
begin select raise(abort, 'erasures are kept as they are'); end;

create trigger erasures_no_delete before delete on erasures
begin select raise(abort, 'erasures are kept as they are'); end;

create trigger erasures_only_close before update on erasures
when (new.organization_id, new.request_id, new.erased_at, new.erased_by, new.last_seq)
    is not (old.organization_id, old.request_id, old.erased_at, old.erased_by, old.last_seq)
  or new.open = 1 or old.recreated_at is not null
  or (old.open = 1 and ((new.recreated_at, new.recreated_by) is not (null, null)
    or exists (select 1 from organizations where id = old.organization_id)))
  or (old.open = 0 and (new.recreated_by is null or new.recreated_at is null or abs(new.recreated_at - unixepoch() * 1000) > 60000))
begin select raise(abort, 'erasures are kept as they are'); end;

create trigger erasures_open_first before insert on erasures
when new.open = 0
  or not exists (select 1 from organizations where id = new.organization_id)
  or new.last_seq <> (select coalesce(max(seq), 0) from audit_log where organization_id = new.organization_id)
  or exists (select 1 from erasures where (organization_id, request_id) = (new.organization_id, new.request_id))
begin select raise(abort, 'erasures are kept as they are'); end;

-- The records that the PSA could not take. A row is deleted when the PSA has taken the record.
create table psa_refusals (
  organization_id text not null,
  record_id text not null,
  kind text not null,
  reason text not null,
  refused_at integer not null,
  primary key (organization_id, record_id),
  foreign key (organization_id) references organizations (id),
  constraint psa_refusals_kind check (length(kind) > 0 and kind not glob '*[^a-z0-9:_ -]*' and kind = trim(kind) and instr(kind, '  ') = 0),
  constraint psa_refusals_reason check (length(trim(reason, char(9,10,11,12,13,32,160,5760,8192,8193,8194,8195,8196,8197,8198,8199,8200,8201,8202,8232,8233,8239,8287,12288,65279))) between 1 and 32000)
) strict, without rowid;

-- Up to which audit row an organization's old records are deleted: the permission to delete them. It only advances. The row at
-- the position is at least 180 days old by the clock of the database, and so are the rows after it that decided or redacted a
-- record at or before it, because these changes have to be delivered with it. No time entry at or before it waits for the
-- settings area. The newest audit row always stays, so that the numbers continue.
create table deletions (
  organization_id text primary key not null,
  to_seq integer not null,
  foreign key (organization_id) references organizations (id),
  constraint deletions_seq check (to_seq > 0)
) strict, without rowid;

create trigger deletions_begin before insert on deletions
when new.to_seq < coalesce((select to_seq from deletions where organization_id = new.organization_id), 0)
  or new.to_seq >= coalesce((select max(seq) from audit_log where organization_id = new.organization_id), 0)
  or (unixepoch() - 180 * 86400) * 1000 < coalesce((select at from audit_log where organization_id = new.organization_id and seq = new.to_seq), unixepoch() * 1000)
  or exists (select 1 from time_entries where organization_id = new.organization_id and approvals = 'settings' and status = 'SUBMITTED'
    and audit_seq <= new.to_seq)
  or exists (select 1 from time_entries where organization_id = new.organization_id and approvals = 'psa' and status = 'SUBMITTED'
    and audit_seq <= new.to_seq and exists (select 1 from organizations where id = new.organization_id and approvals = 'settings'))
  or exists (select 1 from time_entries where organization_id = new.organization_id and (approvals = 'settings' or approvals = 'psa')
    and (status = 'APPROVED' or status = 'REJECTED') and audit_seq <= new.to_seq and approval_seq > new.to_seq
    and (select at from audit_log a where a.organization_id = new.organization_id and a.seq = approval_seq) > (unixepoch() - 180 * 86400) * 1000)
  or exists (select 1 from audit_log a left join notes n on n.organization_id = a.organization_id and n.id = a.target_id
    left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
    where a.organization_id = new.organization_id and a.actor_type = 'system' and a.seq > new.to_seq and a.action glob '*.redacted'
      and a.at > (unixepoch() - 180 * 86400) * 1000
      and coalesce(n.audit_seq, e.audit_seq) <= new.to_seq)
begin select raise(abort, 'deletions: only old rows of which nothing waits, without the newest'); end;

create trigger deletions_no_delete before delete on deletions
when not exists (select 1 from erasures where organization_id = old.organization_id and open = 1)
begin select raise(abort, 'deletions are kept'); end;

create trigger deletions_only_advance before update on deletions
when new.organization_id <> old.organization_id or new.to_seq < old.to_seq
  or new.to_seq >= coalesce((select max(seq) from audit_log where organization_id = new.organization_id), 0)
  or (unixepoch() - 180 * 86400) * 1000 < coalesce((select at from audit_log where organization_id = new.organization_id and seq = new.to_seq), unixepoch() * 1000)
  or exists (select 1 from time_entries where organization_id = new.organization_id and approvals = 'settings' and status = 'SUBMITTED'
    and audit_seq <= new.to_seq)
  or exists (select 1 from time_entries where organization_id = new.organization_id and approvals = 'psa' and status = 'SUBMITTED'
    and audit_seq <= new.to_seq and exists (select 1 from organizations where id = new.organization_id and approvals = 'settings'))
  or exists (select 1 from time_entries where organization_id = new.organization_id and (approvals = 'settings' or approvals = 'psa')
    and (status = 'APPROVED' or status = 'REJECTED') and audit_seq <= new.to_seq and approval_seq > new.to_seq
    and (select at from audit_log a where a.organization_id = new.organization_id and a.seq = approval_seq) > (unixepoch() - 180 * 86400) * 1000)
  or exists (select 1 from audit_log a left join notes n on n.organization_id = a.organization_id and n.id = a.target_id
    left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
    where a.organization_id = new.organization_id and a.actor_type = 'system' and a.seq > new.to_seq and a.action glob '*.redacted'
      and a.at > (unixepoch() - 180 * 86400) * 1000
      and coalesce(n.audit_seq, e.audit_seq) <= new.to_seq)
begin select raise(abort, 'deletions: only old rows of which nothing waits, without the newest'); end;

-- A copy of each push object's state.
create table pushes (
  organization_id text primary key not null,
  confirmed_seq integer not null,
  failing_since integer,
  attempts integer not null,
  failure text,
  next_attempt_at integer,
  stopped_at integer,
  foreign key (organization_id) references organizations (id),
  constraint pushes_counts check (confirmed_seq >= 0 and attempts >= 0)
) strict, without rowid;
create index pushes_in_trouble on pushes (organization_id) where failing_since is not null or stopped_at is not null;

-- What the adapter that connects an organization with its PSA reported last.
create table connections (
  organization_id text primary key not null,
  adapter_id text not null,
  reported_at integer not null,
  failing_since integer,
  failure text,
  stopped_at integer,
  psa_name text,
  foreign key (organization_id) references organizations (id),
  constraint connections_failure check (failing_since is not null or (failure is null and stopped_at is null))
) strict, without rowid;

-- Alerts about facts that exist. A sent row keeps its alert from being sent again.
create table alerts (
  organization_id text not null,
  type text not null,
  subject text not null,
  level integer not null,
  id text not null,
  found_at integer not null,
  text text not null,
  to_receiver integer not null,
  to_chat integer not null,
  tried_at integer not null,
  primary key (organization_id, type, subject),
  constraint alerts_type check (length(type) > 0 and type not glob '*[^a-z0-9:_ -]*' and type = trim(type) and instr(type, '  ') = 0),
  constraint alerts_unsent check (to_receiver in (0, 1) and to_chat in (0, 1))
) strict, without rowid;
create index alerts_type on alerts (type);
create index alerts_unsent on alerts (found_at) where to_receiver + to_chat > 0;

