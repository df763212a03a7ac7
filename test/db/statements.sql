-- src/db/audit/audit-log-statements.ts: countWritesOfKey
select count(*) filter (where a.actor_id = :keyId and a.at >= :since) as writes,
    count(distinct iif(a.actor_id = :keyId and a.at >= :since, a.source_address, null)) as addresses,
    count(*) as examined
from (with recursive walk(seq, low, day) as (
  select min(last_seq, :before - 1), max(first_seq, :from), day from key_days d
  where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and day = (select r.day from (
    select d.day, d.last_seq from key_days d
    where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.first_seq < :before and d.last_seq >= :from order by d.day desc limit 3) r
  order by r.last_seq desc limit 1)
  union all
  select iif(seq > low, seq - 1, min(d.last_seq, low - 1)), iif(seq > low, low, max(d.first_seq, :from)),
    iif(seq > low, walk.day, d.day)
  from walk left join key_days d on d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.day = case when seq = low and low > :from then
    (select r.day from (
    select d.day, d.last_seq from key_days d
    where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.day <= date(walk.day, '+2 days') and d.first_seq < walk.low and d.last_seq >= :from order by d.day desc limit 3) r
  order by r.last_seq desc limit 1) end
  where seq > low or d.day is not null
  limit :examine
)
  select a.* from walk cross join audit_log a on a.organization_id = :organizationId and a.seq = walk.seq) a;

-- src/db/audit/audit-log-statements.ts: findAuditAdministrators
with recursive actors(id) as (
  select (select min(actor_id) from audit_log indexed by audit_log_actor
    where organization_id = :organizationId and actor_type <> 'api_key' )
  union all
  select (select min(actor_id) from audit_log indexed by audit_log_actor
    where organization_id = :organizationId and actor_type <> 'api_key' and actor_id > actors.id) from actors where actors.id is not null
  limit :limit
)
select u.id as id, u.name as name, u.active and u.is_admin as isPresent
from actors cross join users u on u.organization_id = :organizationId and u.id = actors.id;

-- src/db/audit/audit-log-statements.ts: findAuditPage.examined
select min(:before, (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)) - p.lowest as examined,
    p.lowest as lowest,
  (select at from audit_log where organization_id = :organizationId and seq = p.lowest) as lowestAt,
      p.archivedTo as archivedTo
from (select max(:from, (select coalesce(max(to_seq), 0) from archives where organization_id = :organizationId) + 1, min(:before, (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)) - :examine) as lowest, (select coalesce(max(to_seq), 0) from archives where organization_id = :organizationId) as archivedTo) p;

-- src/db/audit/audit-log-statements.ts: findAuditPage.rows
select a.seq as seq,
    a.at as at,
    a.actor_type as actorType,
    a.actor_id as actorId,
    a.actor_name as actorName,
    a.action as action,
    a.target_id as targetId,
    a.ticket_id as ticketId,
    a.request_id as requestId,
    a.idempotency_key as idempotencyKey,
    a.detail as detail,
    a.source_address as sourceAddress,
    a.user_agent as userAgent,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.revoked_at as keyRevokedAt,
    e.minutes as minutes,
    u.name as technician,
    f.reason as refusal,
    substr(coalesce(n.message, e.description), 1, 4001) as text
from audit_log a
left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
left join notes n on n.organization_id = a.organization_id and n.id = a.target_id
left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
left join users u on u.organization_id = e.organization_id and u.id = e.user_id
left join psa_refusals f on f.organization_id = a.organization_id and f.record_id = a.target_id and a.action = f.kind || '.created'
where a.organization_id = :organizationId and a.seq in (select seq from audit_log
  where (:action is null or action = :action) and (:ticketId is null or ticket_id = :ticketId)
    and (:requestId is null or request_id = :requestId) and (:since is null or at >= :since) and (:until is null or at < :until)
    and organization_id = :organizationId and seq < :before and seq >= max(:from, (select coalesce(max(to_seq), 0) from archives where organization_id = :organizationId) + 1, min(:before, (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)) - :examine)
  order by seq desc limit :limit)
order by a.seq desc;

-- src/db/audit/audit-log-statements.ts: findAuditPageOfAdministrator.examined
select count(*) as examined,
    min(seq) as lowest,
    at as lowestAt,
    (select coalesce(max(to_seq), 0) from archives where organization_id = :organizationId) as archivedTo from (select * from audit_log indexed by audit_log_actor where organization_id = :organizationId and seq < :before and seq >= :from and actor_type <> 'api_key' and actor_id = :administratorId order by seq desc limit :examine);

-- src/db/audit/audit-log-statements.ts: findAuditPageOfAdministrator.rows
select a.seq as seq,
    a.at as at,
    a.actor_type as actorType,
    a.actor_id as actorId,
    a.actor_name as actorName,
    a.action as action,
    a.target_id as targetId,
    a.ticket_id as ticketId,
    a.request_id as requestId,
    a.idempotency_key as idempotencyKey,
    a.detail as detail,
    a.source_address as sourceAddress,
    a.user_agent as userAgent,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.revoked_at as keyRevokedAt,
    e.minutes as minutes,
    u.name as technician,
    f.reason as refusal,
    substr(coalesce(n.message, e.description), 1, 4001) as text
from audit_log a
left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
left join notes n on n.organization_id = a.organization_id and n.id = a.target_id
left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
left join users u on u.organization_id = e.organization_id and u.id = e.user_id
left join psa_refusals f on f.organization_id = a.organization_id and f.record_id = a.target_id and a.action = f.kind || '.created'
where a.organization_id = :organizationId and a.seq in (select seq from (select * from audit_log indexed by audit_log_actor where organization_id = :organizationId and seq < :before and seq >= :from and actor_type <> 'api_key' and actor_id = :administratorId order by seq desc limit :examine)
  where (:action is null or action = :action) and (:ticketId is null or ticket_id = :ticketId)
    and (:requestId is null or request_id = :requestId) and (:since is null or at >= :since) and (:until is null or at < :until)
    and (:keyId = '' or target_id = :keyId)
  order by seq desc limit :limit)
order by a.seq desc;

-- src/db/audit/audit-log-statements.ts: findAuditPageOfKey.examined
select count(*) as examined,
    min(seq) as lowest,
    at as lowestAt,
    (select coalesce(max(to_seq), 0) from archives where organization_id = :organizationId) as archivedTo from (select * from (
  select * from (with recursive walk(seq, low, day) as (
  select min(last_seq, :before - 1), max(first_seq, :from), day from key_days d
  where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and day = (select r.day from (
    select d.day, d.last_seq from key_days d
    where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.first_seq < :before and d.last_seq >= :from order by d.day desc limit 3) r
  order by r.last_seq desc limit 1)
  union all
  select iif(seq > low, seq - 1, min(d.last_seq, low - 1)), iif(seq > low, low, max(d.first_seq, :from)),
    iif(seq > low, walk.day, d.day)
  from walk left join key_days d on d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.day = case when seq = low and low > :from then
    (select r.day from (
    select d.day, d.last_seq from key_days d
    where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.day <= date(walk.day, '+2 days') and d.first_seq < walk.low and d.last_seq >= :from order by d.day desc limit 3) r
  order by r.last_seq desc limit 1) end
  where seq > low or d.day is not null
  limit :examine
)
    select a.* from walk cross join audit_log a on a.organization_id = :organizationId and a.seq = walk.seq)
  union all
  select * from (select * from audit_log indexed by audit_log_user_target where organization_id = :organizationId and seq < :before and seq >= :from and actor_type <> 'api_key' and target_id = :keyId order by seq desc limit :examine)
) order by seq desc limit :examine);

-- src/db/audit/audit-log-statements.ts: findAuditPageOfKey.rows
select a.seq as seq,
    a.at as at,
    a.actor_type as actorType,
    a.actor_id as actorId,
    a.actor_name as actorName,
    a.action as action,
    a.target_id as targetId,
    a.ticket_id as ticketId,
    a.request_id as requestId,
    a.idempotency_key as idempotencyKey,
    a.detail as detail,
    a.source_address as sourceAddress,
    a.user_agent as userAgent,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.revoked_at as keyRevokedAt,
    e.minutes as minutes,
    u.name as technician,
    f.reason as refusal,
    substr(coalesce(n.message, e.description), 1, 4001) as text
from audit_log a
left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
left join notes n on n.organization_id = a.organization_id and n.id = a.target_id
left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
left join users u on u.organization_id = e.organization_id and u.id = e.user_id
left join psa_refusals f on f.organization_id = a.organization_id and f.record_id = a.target_id and a.action = f.kind || '.created'
where a.organization_id = :organizationId and a.seq in (select seq from (select * from (
  select * from (with recursive walk(seq, low, day) as (
  select min(last_seq, :before - 1), max(first_seq, :from), day from key_days d
  where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and day = (select r.day from (
    select d.day, d.last_seq from key_days d
    where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.first_seq < :before and d.last_seq >= :from order by d.day desc limit 3) r
  order by r.last_seq desc limit 1)
  union all
  select iif(seq > low, seq - 1, min(d.last_seq, low - 1)), iif(seq > low, low, max(d.first_seq, :from)),
    iif(seq > low, walk.day, d.day)
  from walk left join key_days d on d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.day = case when seq = low and low > :from then
    (select r.day from (
    select d.day, d.last_seq from key_days d
    where d.organization_id = :organizationId and d.key_id = :keyId
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId) and d.day <= date(walk.day, '+2 days') and d.first_seq < walk.low and d.last_seq >= :from order by d.day desc limit 3) r
  order by r.last_seq desc limit 1) end
  where seq > low or d.day is not null
  limit :examine
)
    select a.* from walk cross join audit_log a on a.organization_id = :organizationId and a.seq = walk.seq)
  union all
  select * from (select * from audit_log indexed by audit_log_user_target where organization_id = :organizationId and seq < :before and seq >= :from and actor_type <> 'api_key' and target_id = :keyId order by seq desc limit :examine)
) order by seq desc limit :examine)
  where (:action is null or action = :action) and (:ticketId is null or ticket_id = :ticketId)
    and (:requestId is null or request_id = :requestId) and (:since is null or at >= :since) and (:until is null or at < :until)
    and (actor_id = :keyId or target_id = :keyId)
  order by seq desc limit :limit)
order by a.seq desc;

-- src/db/audit/audit-log-statements.ts: findAuditRowsAbout
select a.seq as seq,
    a.at as at,
    a.actor_type as actorType,
    a.actor_id as actorId,
    a.actor_name as actorName,
    a.action as action,
    a.target_id as targetId,
    a.ticket_id as ticketId,
    a.request_id as requestId,
    a.idempotency_key as idempotencyKey,
    a.detail as detail,
    a.source_address as sourceAddress,
    a.user_agent as userAgent,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.revoked_at as keyRevokedAt,
    e.minutes as minutes,
    u.name as technician,
    f.reason as refusal,
    substr(coalesce(n.message, e.description), 1, 4001) as text
from audit_log a
left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
left join notes n on n.organization_id = a.organization_id and n.id = a.target_id
left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
left join users u on u.organization_id = e.organization_id and u.id = e.user_id
left join psa_refusals f on f.organization_id = a.organization_id and f.record_id = a.target_id and a.action = f.kind || '.created'
where a.organization_id = :organizationId and a.seq in (select * from (
  select audit_seq from notes where organization_id = :organizationId and id in (:id, :note) union all select audit_seq from time_entries where organization_id = :organizationId and id in (:id, :time_entry)
  union all
  select * from (select seq from audit_log indexed by audit_log_user_target
    where organization_id = :organizationId and actor_type <> 'api_key' and target_id = :id order by seq desc limit 50)))
order by a.seq desc;

-- src/db/audit/audit-log-statements.ts: findFirstSeqSince
with recursive search(low, high) as (
  select (select coalesce(max(to_seq), 0) from archives where organization_id = :organizationId) + 1,
      (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)
  union all
  select iif(a.at >= :at, low, (low + high) / 2 + 1), iif(a.at >= :at, (low + high) / 2, high)
  from search join audit_log a on a.organization_id = :organizationId and a.seq = (low + high) / 2
  where low < high
)
select low as seq from search where low = high;

-- src/db/audit/audit-log-statements.ts: findLatestDay
select a.day as day, a.day_records as records, a.day_bytes as bytes, a.day_changes as changes
from audit_log a where a.organization_id = :organizationId order by a.seq desc limit 1;

-- src/db/audit/audit-log-statements.ts: findTicket
select t.id as id from tickets t where t.organization_id = :organizationId and t.id = :id;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.api_key.given
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'api_key', :actorId, a.name,
  :action, :targetId, :ticketId, :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from api_keys a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.organization_id = :organizationId and a.id = :actorId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.api_key.ofRecord.note
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'api_key', :actorId, a.name,
  :action,
      :targetId,
      coalesce((select r.ticket_id from notes r where r.organization_id = :organizationId and r.id = :targetId),
    (select s.ticket_id from archived_notes s where s.organization_id = :organizationId and s.id = unhex(replace(:targetId, '-', '')))), :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from api_keys a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.organization_id = :organizationId and a.id = :actorId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.api_key.ofRecord.time_entry
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'api_key', :actorId, a.name,
  :action,
      :targetId,
      coalesce((select r.ticket_id from time_entries r where r.organization_id = :organizationId and r.id = :targetId),
    (select s.ticket_id from archived_time_entries s where s.organization_id = :organizationId and s.id = unhex(replace(:targetId, '-', '')))), :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from api_keys a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.organization_id = :organizationId and a.id = :actorId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.system.given
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'system', :actorId, :actorName,
  :action, :targetId, :ticketId, :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from organizations a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.id = :organizationId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.system.ofRecord.note
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'system', :actorId, :actorName,
  :action,
      :targetId,
      coalesce((select r.ticket_id from notes r where r.organization_id = :organizationId and r.id = :targetId),
    (select s.ticket_id from archived_notes s where s.organization_id = :organizationId and s.id = unhex(replace(:targetId, '-', '')))), :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from organizations a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.id = :organizationId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.system.ofRecord.time_entry
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'system', :actorId, :actorName,
  :action,
      :targetId,
      coalesce((select r.ticket_id from time_entries r where r.organization_id = :organizationId and r.id = :targetId),
    (select s.ticket_id from archived_time_entries s where s.organization_id = :organizationId and s.id = unhex(replace(:targetId, '-', '')))), :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from organizations a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.id = :organizationId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.user.given
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'user', :actorId, a.name,
  :action, :targetId, :ticketId, :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from users a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.organization_id = :organizationId and a.id = :actorId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.user.ofRecord.note
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'user', :actorId, a.name,
  :action,
      :targetId,
      coalesce((select r.ticket_id from notes r where r.organization_id = :organizationId and r.id = :targetId),
    (select s.ticket_id from archived_notes s where s.organization_id = :organizationId and s.id = unhex(replace(:targetId, '-', '')))), :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from users a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.organization_id = :organizationId and a.id = :actorId and changes() = 1;

-- src/db/audit/audit-row.ts: AUDIT_ROWS.user.ofRecord.time_entry
insert into audit_log (
  organization_id, seq, at, actor_type, actor_id, actor_name,
  action, target_id, ticket_id, request_id, idempotency_key,
  source_address, user_agent, detail,
  day,
  day_records,
  day_bytes,
  day_changes)
select
  :organizationId, coalesce(p.seq, 0) + 1, :now, 'user', :actorId, a.name,
  :action,
      :targetId,
      coalesce((select r.ticket_id from time_entries r where r.organization_id = :organizationId and r.id = :targetId),
    (select s.ticket_id from archived_time_entries s where s.organization_id = :organizationId and s.id = unhex(replace(:targetId, '-', '')))), :requestId, :idempotencyKey,
  :sourceAddress, :userAgent, :detail,
  max(coalesce(p.day, ''), coalesce(:day, '')),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
  iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0),
  iif(iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1) > :maxChanges, null, iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_changes, 0)) + iif(:maxChanges is null, 0, 1))
from users a
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where a.organization_id = :organizationId and a.id = :actorId and changes() = 1;

-- src/db/directory/administrator-statements.ts: findAdministrator
select u.id as userId,
    u.name as userName,
    o.id as organizationId,
    o.name as organizationName,
    o.time_zone as timeZone,
    o.has_psa as hasPsa,
    iif(o.id = :organizationId, (select count(*) from (select reason from refused_uses r where r.organization_id = o.id
    and r.last_at >= :since order by r.last_at desc limit 100) where reason in (select value from json_each(:reasons))), 0) as refused, p.failing_since as failingSince, p.failure as failure, p.stopped_at as stoppedAt
from users u join organizations o on o.id = u.organization_id and o.active = 1
  left join pushes p on p.organization_id = o.id and (p.stopped_at is not null or p.failing_since <= :now - 300000)
where u.email = :email and u.is_admin = 1 and u.active = 1
order by o.id = :organizationId desc, o.name, o.id limit :limit;

-- src/db/directory/administrator-statements.ts: findAdministratorNames
select u.name as name from (select name, active, is_admin from users where organization_id = :organizationId limit 1000) u
where u.active = 1 and u.is_admin = 1 order by u.name;

-- src/db/directory/administrator-statements.ts: findTimeZone
select o.time_zone as timeZone from users u join organizations o on o.id = u.organization_id where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1;

-- src/db/directory/clock.ts: applyMessage
insert into directory_clock (organization_id, at, messages) values (:organizationId, :at, json_array(:message))
on conflict (organization_id) do update set
  at = excluded.at,
      messages = iif(excluded.at > directory_clock.at, excluded.messages, iif(messages ->> '$[#-1]' is :message, messages, json_insert(messages, '$[#]', :message)));

-- src/db/directory/clock.ts: applyUnsigned
insert into directory_clock (organization_id, at, messages)
values (:organizationId, unixepoch() * 1000, json_array(''))
on conflict (organization_id) do update set
  at = max(directory_clock.at, excluded.at),
  messages = iif(excluded.at > directory_clock.at, excluded.messages, iif(messages ->> '$[#-1]' is '', messages, json_insert(messages, '$[#]', '')));

-- src/db/directory/clock.ts: findClock
select at from directory_clock where organization_id = :organizationId;

-- src/db/directory/erasure.ts: CLOSE_ERASURE.0
delete from organizations where id = :organizationId and exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1);

-- src/db/directory/erasure.ts: CLOSE_ERASURE.1
insert into directory_clock (organization_id, at, messages)
select organization_id, unixepoch() * 1000, json_array('') from erasures
where organization_id = :organizationId and request_id = :requestId and exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1)
on conflict (organization_id) do update set
  at = max(directory_clock.at, excluded.at),
  messages = iif(excluded.at > directory_clock.at, excluded.messages, iif(messages ->> '$[#-1]' is '', messages, json_insert(messages, '$[#]', '')));

-- src/db/directory/erasure.ts: CLOSE_ERASURE.2
update erasures set open = 0 where organization_id = :organizationId and request_id = :requestId and open = 1;

-- src/db/directory/erasure.ts: REMOVE_ROWS.0.statement
delete from notes where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from notes where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.1.statement
delete from archived_notes where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from archived_notes where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.10.statement
delete from key_review_decisions where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, review_id, key_id) in (select organization_id, review_id, key_id from key_review_decisions where organization_id = :organizationId order by organization_id, review_id, key_id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.11.statement
delete from key_reviews where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from key_reviews where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.12.statement
delete from key_policies where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id) in (select organization_id from key_policies where organization_id = :organizationId order by organization_id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.13.statement
delete from api_keys where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from api_keys where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.14.statement
delete from agreements where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from agreements where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.15.statement
delete from tickets where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from tickets where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.16.statement
delete from companies where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from companies where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.17.statement
delete from users where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from users where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.18.statement
delete from audit_log where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, seq) in (select organization_id, seq from audit_log where organization_id = :organizationId order by organization_id, seq limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.19.statement
delete from archives where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, to_seq) in (select organization_id, to_seq from archives where organization_id = :organizationId order by organization_id, to_seq limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.2.statement
delete from time_entries where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from time_entries where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.3.statement
delete from archived_time_entries where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, id) in (select organization_id, id from archived_time_entries where organization_id = :organizationId order by organization_id, id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.4.statement
delete from psa_refusals where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, record_id) in (select organization_id, record_id from psa_refusals where organization_id = :organizationId order by organization_id, record_id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.5.statement
delete from releases where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id) in (select organization_id from releases where organization_id = :organizationId order by organization_id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.6.statement
delete from key_days where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, chain_id, day, key_id) in (select organization_id, chain_id, day, key_id from key_days where organization_id = :organizationId order by organization_id, chain_id, day, key_id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.7.statement
delete from refused_uses where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, key_id, reason) in (select organization_id, key_id, reason from refused_uses where organization_id = :organizationId order by organization_id, key_id, reason limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.8.statement
delete from pushes where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id) in (select organization_id from pushes where organization_id = :organizationId order by organization_id limit :limit);

-- src/db/directory/erasure.ts: REMOVE_ROWS.9.statement
delete from alerts where exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1) and (organization_id, type, subject, channel) in (select organization_id, type, subject, channel from alerts where organization_id = :organizationId order by organization_id, type, subject, channel limit :limit);

-- src/db/directory/erasure.ts: countErasableRows
select (select count(*) from notes where organization_id = :organizationId) as notes,
    (select count(*) from archived_notes where organization_id = :organizationId) as archived_notes,
    (select count(*) from time_entries where organization_id = :organizationId) as time_entries,
    (select count(*) from archived_time_entries where organization_id = :organizationId) as archived_time_entries,
    (select count(*) from psa_refusals where organization_id = :organizationId) as psa_refusals,
    (select count(*) from releases where organization_id = :organizationId) as releases,
    (select count(*) from key_days where organization_id = :organizationId) as key_days,
    (select count(*) from refused_uses where organization_id = :organizationId) as refused_uses,
    (select count(*) from pushes where organization_id = :organizationId) as pushes,
    (select count(*) from alerts where organization_id = :organizationId) as alerts,
    (select count(*) from key_review_decisions where organization_id = :organizationId) as key_review_decisions,
    (select count(*) from key_reviews where organization_id = :organizationId) as key_reviews,
    (select count(*) from key_policies where organization_id = :organizationId) as key_policies,
    (select count(*) from api_keys where organization_id = :organizationId) as api_keys,
    (select count(*) from agreements where organization_id = :organizationId) as agreements,
    (select count(*) from tickets where organization_id = :organizationId) as tickets,
    (select count(*) from companies where organization_id = :organizationId) as companies,
    (select count(*) from users where organization_id = :organizationId) as users,
    (select count(*) from audit_log where organization_id = :organizationId) as audit_log,
    (select count(*) from archives where organization_id = :organizationId) as archives,
    (select count(*) from organizations where id = :organizationId) as organizations;

-- src/db/directory/erasure.ts: deactivateErased
update organizations set active = 0 where id = :organizationId and exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1);

-- src/db/directory/erasure.ts: findOpenErasure
select organization_id as organizationId,
    request_id as requestId,
    erased_at as erasedAt,
    erased_by as erasedBy,
    last_seq as lastSeq from erasures where organization_id = :organizationId and open = 1;

-- src/db/directory/erasure.ts: openErasure
insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open, not_exported)
select :organizationId, :requestId, :now, :by, :seq, 1, (select json_group_array(object) from archives
  where organization_id = :organizationId and object in (select value from json_each(:without)))
from organizations where id = :organizationId
  and (select coalesce(max(seq), 0) from audit_log where organization_id = :organizationId) = :seq
  and (select request_id from audit_log where organization_id = :organizationId and seq = :seq) is :cursorRequestId
  and not exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1);

-- src/db/directory/records.ts: DEACTIVATE_AGREEMENTS
update agreements set active = 0
from (select value ->> 'id' as id, value ->> 'company' as company, value ->> 'active' as active from json_each(:json)) as incoming
where agreements.organization_id = :organizationId and agreements.id = incoming.id and agreements.active = 1
  and (agreements.company_id, agreements.active) is not (incoming.company, incoming.active);

-- src/db/directory/records.ts: DEACTIVATE_RECORDS.agreement
update agreements set active = 0
where agreements.organization_id = :organizationId and id in (select value from json_each(:json)) and active = 1
 returning id;

-- src/db/directory/records.ts: DEACTIVATE_RECORDS.company
update companies set active = 0
where companies.organization_id = :organizationId and id in (select value from json_each(:json)) and active = 1
 returning id;

-- src/db/directory/records.ts: DEACTIVATE_RECORDS.organization
update organizations set active = 0
where organizations.id = :organizationId and id in (select value from json_each(:json)) and active = 1
 returning id;

-- src/db/directory/records.ts: DEACTIVATE_RECORDS.ticket
update tickets set active = 0
where tickets.organization_id = :organizationId and id in (select value from json_each(:json)) and active = 1
 returning id;

-- src/db/directory/records.ts: DEACTIVATE_RECORDS.user
update users set active = 0
where users.organization_id = :organizationId and id in (select value from json_each(:json)) and active = 1
and is_service = 0 returning id;

-- src/db/directory/records.ts: ENSURE_SERVICE_ACCOUNT
insert into users (organization_id, id, email, name, is_admin, is_technician, is_service, active)
select :organizationId,
    'service-account',
    'service-account@' || lower(:organizationId) || '.invalid',
    'Automation',
    0,
    0,
    1,
    1
where not exists (select 1 from users where organization_id = :organizationId and is_service = 1)
on conflict (organization_id, id) do update set is_admin = 0, is_technician = 0, is_service = 1, active = 1;

-- src/db/directory/records.ts: FIND_BEING_ERASED
select :organizationId as id,
    null as found where exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1);

-- src/db/directory/records.ts: FIND_COMPANIES
select companies.id, null as found from json_each(:json)
join companies on companies.organization_id = :organizationId and companies.id = value;

-- src/db/directory/records.ts: FIND_DIFFERING_RECORDS.agreement
select value ->> 'id' as id,
    iif(present.id is null, null, json_object('company', present.company_id, 'hourlyRate', present.hourly_rate_minor, 'active', present.active)) as found
from json_each(:json) left join agreements as present on present.organization_id = :organizationId and present.id = value ->> 'id'
where present.id is null or (present.company_id, present.hourly_rate_minor, present.active) is not (value ->> 'company', value ->> 'hourlyRate', value ->> 'active');

-- src/db/directory/records.ts: FIND_DIFFERING_RECORDS.company
select value ->> 'id' as id,
    iif(present.id is null, null, json_object('name', present.name, 'active', present.active)) as found
from json_each(:json) left join companies as present on present.organization_id = :organizationId and present.id = value ->> 'id'
where present.id is null or (present.name, present.active) is not (value ->> 'name', value ->> 'active');

-- src/db/directory/records.ts: FIND_DIFFERING_RECORDS.organization
select value ->> 'id' as id,
    iif(present.id is null, null, json_object('name', present.name, 'psa', present.has_psa, 'timeZone', present.time_zone, 'defaultHourlyRate', present.default_hourly_rate_minor, 'active', present.active)) as found
from json_each(:json) left join organizations as present on present.id = :organizationId and present.id = value ->> 'id'
where present.id is null or (present.name, present.has_psa, present.time_zone, present.default_hourly_rate_minor, present.active) is not (value ->> 'name', value ->> 'psa', value ->> 'timeZone', value ->> 'defaultHourlyRate', value ->> 'active');

-- src/db/directory/records.ts: FIND_DIFFERING_RECORDS.ticket
select value ->> 'id' as id,
    iif(present.id is null, null, json_object('company', present.company_id, 'active', present.active)) as found
from json_each(:json) left join tickets as present on present.organization_id = :organizationId and present.id = value ->> 'id'
where present.id is null or (present.company_id, present.active) is not (value ->> 'company', value ->> 'active');

-- src/db/directory/records.ts: FIND_DIFFERING_RECORDS.user
select value ->> 'id' as id,
    iif(present.id is null, null, json_object('email', present.email, 'name', present.name, 'admin', present.is_admin, 'technician', present.is_technician, 'service', present.is_service, 'active', present.active)) as found
from json_each(:json) left join users as present on present.organization_id = :organizationId and present.id = value ->> 'id'
where present.id is null or (present.email, present.name, present.is_admin, present.is_technician, present.is_service, present.active) is not (value ->> 'email', value ->> 'name', value ->> 'admin', value ->> 'technician', value ->> 'service', value ->> 'active');

-- src/db/directory/records.ts: FIND_HELD_COMPANIES
select agreements.company_id as id, agreements.id as found from json_each(:json)
join agreements on agreements.organization_id = :organizationId and agreements.company_id = value ->> 'company' and agreements.active = 1
  and agreements.id <> value ->> 'id'
where value ->> 'active' = 1;

-- src/db/directory/records.ts: FIND_HELD_EMAILS
select users.email as id, users.id as found from json_each(:json)
join users on users.organization_id = :organizationId and users.email = value ->> 'email' and users.id <> value ->> 'id';

-- src/db/directory/records.ts: FIND_ORGANIZATIONS
select organizations.id, users.id as found from json_each(:json) join organizations on organizations.id = value
left join users on users.organization_id = organizations.id and users.is_service = 1;

-- src/db/directory/records.ts: FIND_RECORDS.agreement
select id,
    active from agreements where agreements.organization_id = :organizationId and id in (select value from json_each(:json));

-- src/db/directory/records.ts: FIND_RECORDS.company
select id,
    active from companies where companies.organization_id = :organizationId and id in (select value from json_each(:json));

-- src/db/directory/records.ts: FIND_RECORDS.organization
select id,
    active from organizations where organizations.id = :organizationId and id in (select value from json_each(:json));

-- src/db/directory/records.ts: FIND_RECORDS.ticket
select id,
    active from tickets where tickets.organization_id = :organizationId and id in (select value from json_each(:json));

-- src/db/directory/records.ts: FIND_RECORDS.user
select id,
    active from users where users.organization_id = :organizationId and id in (select value from json_each(:json));

-- src/db/directory/records.ts: LIST_RECORDS.agreement
select id,
    json_object('type', 'agreement', 'organization', organization_id, 'id', id, 'company', company_id, 'hourlyRate', hourly_rate_minor / 100.0, 'active', json(iif(active = 1, 'true', 'false'))) as record from agreements
where agreements.organization_id = :organizationId and id > :after order by id limit :limit;

-- src/db/directory/records.ts: LIST_RECORDS.company
select id,
    json_object('type', 'company', 'organization', organization_id, 'id', id, 'name', name, 'active', json(iif(active = 1, 'true', 'false'))) as record from companies
where companies.organization_id = :organizationId and id > :after order by id limit :limit;

-- src/db/directory/records.ts: LIST_RECORDS.organization
select id,
    json_object('type', 'organization', 'id', id, 'name', name, 'psa', json(iif(has_psa = 1, 'true', 'false')), 'timeZone', time_zone, 'defaultHourlyRate', default_hourly_rate_minor / 100.0, 'active', json(iif(active = 1, 'true', 'false'))) as record from organizations
where organizations.id = :organizationId and id > :after order by id limit :limit;

-- src/db/directory/records.ts: LIST_RECORDS.ticket
select id,
    json_object('type', 'ticket', 'organization', organization_id, 'id', id, 'company', company_id, 'active', json(iif(active = 1, 'true', 'false'))) as record from tickets
where tickets.organization_id = :organizationId and id > :after order by id limit :limit;

-- src/db/directory/records.ts: LIST_RECORDS.user
select id,
    json_object('type', 'user', 'organization', organization_id, 'id', id, 'email', email, 'name', name, 'admin', json(iif(is_admin = 1, 'true', 'false')), 'technician', json(iif(is_technician = 1, 'true', 'false')), 'service', json(iif(is_service = 1, 'true', 'false')), 'active', json(iif(active = 1, 'true', 'false'))) as record from users
where users.organization_id = :organizationId and id > :after order by id limit :limit;

-- src/db/directory/records.ts: RETIRE_SERVICE_ACCOUNT
update users set is_service = 0, active = 0
where organization_id = :organizationId and is_service = 1
  and id <> (select value ->> 'id' from json_each(:json) where value ->> 'service' = 1);

-- src/db/directory/records.ts: UPSERT_RECORDS.agreement
insert into agreements (organization_id, id, company_id, hourly_rate_minor, active)
select :organizationId,
    value ->> 'id',
    value ->> 'company',
    value ->> 'hourlyRate',
    value ->> 'active' from json_each(:json) where true
on conflict (organization_id, id) do update set (company_id, hourly_rate_minor, active) = (excluded.company_id, excluded.hourly_rate_minor, excluded.active) where (agreements.company_id, agreements.hourly_rate_minor, agreements.active) is not (excluded.company_id, excluded.hourly_rate_minor, excluded.active);

-- src/db/directory/records.ts: UPSERT_RECORDS.company
insert into companies (organization_id, id, name, active)
select :organizationId, value ->> 'id', value ->> 'name', value ->> 'active' from json_each(:json) where true
on conflict (organization_id, id) do update set (name, active) = (excluded.name, excluded.active) where (companies.name, companies.active) is not (excluded.name, excluded.active);

-- src/db/directory/records.ts: UPSERT_RECORDS.organization
insert into organizations (id, name, has_psa, time_zone, default_hourly_rate_minor, active)
select :organizationId,
    value ->> 'name',
    value ->> 'psa',
    value ->> 'timeZone',
    value ->> 'defaultHourlyRate',
    value ->> 'active' from json_each(:json) where true
on conflict (id) do update set (name, has_psa, time_zone, default_hourly_rate_minor, active) = (excluded.name, excluded.has_psa, excluded.time_zone, excluded.default_hourly_rate_minor, excluded.active) where (organizations.name, organizations.has_psa, organizations.time_zone, organizations.default_hourly_rate_minor, organizations.active) is not (excluded.name, excluded.has_psa, excluded.time_zone, excluded.default_hourly_rate_minor, excluded.active);

-- src/db/directory/records.ts: UPSERT_RECORDS.ticket
insert into tickets (organization_id, id, company_id, active)
select :organizationId, value ->> 'id', value ->> 'company', value ->> 'active' from json_each(:json) where true
on conflict (organization_id, id) do update set (company_id, active) = (excluded.company_id, excluded.active) where (tickets.company_id, tickets.active) is not (excluded.company_id, excluded.active);

-- src/db/directory/records.ts: UPSERT_RECORDS.user
insert into users (organization_id, id, email, name, is_admin, is_technician, is_service, active)
select :organizationId,
    value ->> 'id',
    value ->> 'email',
    value ->> 'name',
    value ->> 'admin',
    value ->> 'technician',
    value ->> 'service',
    value ->> 'active' from json_each(:json) where true
on conflict (organization_id, id) do update set (email, name, is_admin, is_technician, is_service, active) = (excluded.email, excluded.name, excluded.is_admin, excluded.is_technician, excluded.is_service, excluded.active) where (users.email, users.name, users.is_admin, users.is_technician, users.is_service, users.active) is not (excluded.email, excluded.name, excluded.is_admin, excluded.is_technician, excluded.is_service, excluded.active);

-- src/db/directory/records.ts: VACATE_EMAILS
update users set email = 'released-' || lower(hex(users.id)) || '@directory.invalid', is_service = 0
from (select value ->> 'id' as id, value ->> 'email' as email, value ->> 'service' as service from json_each(:json)) as incoming
where users.organization_id = :organizationId and users.id = incoming.id
  and (users.email, users.is_service) is not (incoming.email, incoming.service);

-- src/db/fact-statements.ts: FACT_STATEMENTS.archiveDamaged.statement
select '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    count(*) as level,
    count(*) as count,
    null as lastAt,
    min(s.object) as detail,
    'archive_damaged' as type,
    o.id as organizationId,
    min(s.damaged_at) as since
from archives s indexed by archives_damaged cross join organizations o on o.id = s.organization_id
where s.damaged_at is not null and s.organization_id between :from and :to and o.active = 1
group by o.id limit :limit;

-- src/db/fact-statements.ts: FACT_STATEMENTS.dailyLimit.statement
select coalesce(u.id, '') || ' ' || u.day as subject,
    u.id as keyId,
    u.name as keyName,
    u.hint as keyHint,
    u.expires_at as keyExpiresAt,
    1 + (max(u.records * 100 / u.maxRecords, u.minutes * 100 / u.maxMinutes, u.bytes * 100 / u.maxBytes) >= 100) as level,
    max(u.records * 100 / u.maxRecords, u.minutes * 100 / u.maxMinutes, u.bytes * 100 / u.maxBytes) as count,
    null as lastAt,
    case max(u.records * 100 / u.maxRecords, u.minutes * 100 / u.maxMinutes, u.bytes * 100 / u.maxBytes)
    when u.records * 100 / u.maxRecords then printf('%,d new records', u.maxRecords)
    when u.minutes * 100 / u.maxMinutes then printf('%,d minutes', u.maxMinutes)
    else printf('%,d MB of text', u.maxBytes / 1000000) end || ', on ' || u.day as detail,
        'daily_limit' as type,
        u.organization as organizationId,
        :now as since
from (
  select o.id as organization, k.id, k.name, k.hint, k.expires_at, d.day,
    coalesce(sum(notes + time_entries), 0) as records,
        coalesce(sum(d.minutes), 0) as minutes,
        coalesce(sum(d.bytes), 0) as bytes,
    min(coalesce(k.day_limit_records, :keyRecords), :keyRecords) as maxRecords,
    coalesce(k.day_limit_minutes, 9007199254740991) as maxMinutes, :keyBytes as maxBytes
  from organizations o cross join api_keys k on k.organization_id = o.id and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at > :now) and k.successor_id is null
  cross join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day >= :firstDay
  where o.id between :from and :to and o.active = 1 group by o.id, k.id, d.day
  union all
  select o.id, null, null, null, null, d.day, coalesce(sum(notes + time_entries), 0), 0, coalesce(sum(d.bytes), 0),
    :organizationRecords, 9007199254740991, :organizationBytes
  from organizations o cross join api_keys k on k.organization_id = o.id and k.id = k.chain_id
  cross join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day >= :firstDay
  where o.id between :from and :to and o.active = 1 group by o.id, d.day) u
where max(u.records * 100 / u.maxRecords, u.minutes * 100 / u.maxMinutes, u.bytes * 100 / u.maxBytes) >= 80
order by u.day desc, u.organization, u.id limit :limit;

-- src/db/fact-statements.ts: FACT_STATEMENTS.databaseSize.statement
select '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    1 + (:databaseBytes >= :databaseLimit * 0.9) as level,
    :databaseBytes as count,
    null as lastAt,
    printf('%,d MB', :databaseLimit / 1000000) as detail,
    'database_size' as type,
    '' as organizationId,
    :now as since
where '' between :from and :to and :databaseBytes >= :databaseLimit * 0.7;

-- src/db/fact-statements.ts: FACT_STATEMENTS.keyExpiring.statement
select k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 + (k.expires_at <= :now + 259200000) + (k.expires_at <= :now + 86400000) as level,
    0 as count,
    null as lastAt,
    null as detail,
    'key_expiring' as type,
    o.id as organizationId,
    k.expires_at - 1209600000 as since
from organizations o
cross join api_keys k indexed by api_keys_unrevoked on k.organization_id = o.id and k.revoked_at is null
  and k.expires_at > :now and k.expires_at <= :now + 1209600000
where o.id between :from and :to and o.active = 1 and k.successor_id is null
order by k.expires_at limit :limit;

-- src/db/fact-statements.ts: FACT_STATEMENTS.keyOfFormer.statement
select k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 as level,
    0 as count,
    null as lastAt,
    u.name as detail,
    'key_of_former' as type,
    o.id as organizationId,
    :now as since
from organizations o cross join api_keys k on k.organization_id = o.id and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at > :now) and k.successor_id is null
cross join users u on u.organization_id = k.organization_id and u.id = k.created_by
where o.id between :from and :to and o.active = 1 and (u.active = 0 or u.is_admin = 0)
order by k.name, k.id limit :limit;

-- src/db/fact-statements.ts: FACT_STATEMENTS.keyUnused.statement
  select k.id as subject,
      k.id as keyId,
      k.name as keyName,
      k.hint as keyHint,
      k.expires_at as keyExpiresAt,
      1 as level,
      60 as count,
      k.lastWrite as lastAt,
      null as detail,
      'key_unused' as type,
      k.organization_id as organizationId,
      coalesce(k.lastWrite, k.created_at) + 5184000000 as since
  from (
    select k.*, (select max(w.last_at) from (select d.last_at from key_days d
where d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id order by d.day desc limit 3) w) as lastWrite
    from organizations o cross join api_keys k on k.organization_id = o.id and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at > :now) and k.successor_id is null
    where o.id between :from and :to and o.active = 1 and k.created_at <= (:now - 5184000000)
      and not exists (select 1 from key_days d where d.organization_id = k.organization_id and d.chain_id = k.chain_id
        and d.day >= date((:now - 5184000000) / 1000, 'unixepoch', '-1 day') and d.key_id = k.id and d.last_at > (:now - 5184000000))
    limit :limit) k;

-- src/db/fact-statements.ts: FACT_STATEMENTS.pushFailing.statement
select '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    iif(s.stopped_at is null, 1, 2) as level,
    0 as count,
    null as lastAt,
    s.failure as detail,
    'push_failing' as type,
    o.id as organizationId,
    coalesce(s.failing_since, s.stopped_at) as since
from pushes s indexed by pushes_in_trouble cross join organizations o on o.id = s.organization_id
where :isPushed = 1 and s.organization_id between :from and :to and o.active = 1
  and (s.failing_since is not null or s.stopped_at is not null)
  and (s.stopped_at is not null or s.failing_since <= :now - 300000)
limit :limit;

-- src/db/fact-statements.ts: FACT_STATEMENTS.refusedByPsa.statement
select f.kind as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    length(count(*)) as level,
    count(*) as count,
    max(f.refused_at) as lastAt,
    null as detail,
    'refused_by_psa' as type,
    o.id as organizationId,
    min(f.refused_at) as since
from psa_refusals f cross join organizations o on o.id = f.organization_id
where f.organization_id between :from and :to and f.refused_at >= :now - 2592000000 and o.active = 1
group by o.id, f.kind order by lastAt desc limit :limit;

-- src/db/fact-statements.ts: FACT_STATEMENTS.refusedUses.statement
select k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 as level,
    r.count as count,
    r.last_at as lastAt,
    r.source_address as detail,
    'refused_' || r.reason as type,
    o.id as organizationId,
    r.first_at as since
from organizations o
cross join refused_uses r indexed by refused_uses_latest on r.organization_id = o.id and r.last_at >= :now - 604800000
cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
where o.id between :from and :to and o.active = 1 and r.reason in ('expired', 'idempotency_mismatch', 'revoked', 'scope_missing', 'address_not_allowed', 'daily_limit_reached')
  and (k.revoked_at is null or r.reason in ('revoked', 'idempotency_mismatch'))
order by r.last_at desc limit :limit;

-- src/db/fact-statements.ts: FACT_STATEMENTS.reviewDue.statement
select '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    1 as level,
    r.review_months as count,
    null as lastAt,
    r.time_zone as detail,
    'review_due' as type,
    r.id as organizationId,
    r.since as since
from (
  select o.id, o.time_zone, p.review_months, coalesce((select e.finished_at from key_reviews e
    where e.organization_id = o.id and e.finished_at is not null order by e.id desc limit 1), p.reviews_since) as since
  from organizations o cross join key_policies p on p.organization_id = o.id
  where o.id between :from and :to and o.active = 1 and p.review_months is not null) r
where r.since + (r.review_months * 28 - 16) * 86400000 <= :now
limit :limit;

-- src/db/fact-statements.ts: PAGE_FACT_STATEMENTS.keyExpiring
select k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 + (k.expires_at <= :now + 259200000) + (k.expires_at <= :now + 86400000) as level,
    0 as count,
    null as lastAt,
    null as detail,
    'key_expiring' as type,
    o.id as organizationId,
    k.expires_at - 1209600000 as since
from organizations o
cross join api_keys k indexed by api_keys_unrevoked on k.organization_id = o.id and k.revoked_at is null
  and k.expires_at > :now and k.expires_at <= :now + 1209600000
where o.id in (select value from json_each(:organizationIds)) and o.active = 1 and k.successor_id is null
order by k.expires_at limit :limit;

-- src/db/fact-statements.ts: PAGE_FACT_STATEMENTS.keyOfFormer
select k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 as level,
    0 as count,
    null as lastAt,
    u.name as detail,
    'key_of_former' as type,
    o.id as organizationId,
    :now as since
from organizations o cross join api_keys k on k.organization_id = o.id and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at > :now) and k.successor_id is null
cross join users u on u.organization_id = k.organization_id and u.id = k.created_by
where o.id in (select value from json_each(:organizationIds)) and o.active = 1 and (u.active = 0 or u.is_admin = 0)
order by k.name, k.id limit :limit;

-- src/db/fact-statements.ts: PAGE_FACT_STATEMENTS.keyUnused
  select k.id as subject,
      k.id as keyId,
      k.name as keyName,
      k.hint as keyHint,
      k.expires_at as keyExpiresAt,
      1 as level,
      60 as count,
      k.lastWrite as lastAt,
      null as detail,
      'key_unused' as type,
      k.organization_id as organizationId,
      coalesce(k.lastWrite, k.created_at) + 5184000000 as since
  from (
    select k.*, (select max(w.last_at) from (select d.last_at from key_days d
where d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id order by d.day desc limit 3) w) as lastWrite
    from organizations o cross join api_keys k on k.organization_id = o.id and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at > :now) and k.successor_id is null
    where o.id in (select value from json_each(:organizationIds)) and o.active = 1 and k.created_at <= (:now - 5184000000)
      and not exists (select 1 from key_days d where d.organization_id = k.organization_id and d.chain_id = k.chain_id
        and d.day >= date((:now - 5184000000) / 1000, 'unixepoch', '-1 day') and d.key_id = k.id and d.last_at > (:now - 5184000000))
    limit :limit) k;

-- src/db/fact-statements.ts: PAGE_FACT_STATEMENTS.pushFailing
select '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    iif(s.stopped_at is null, 1, 2) as level,
    0 as count,
    null as lastAt,
    s.failure as detail,
    'push_failing' as type,
    o.id as organizationId,
    coalesce(s.failing_since, s.stopped_at) as since
from pushes s indexed by pushes_in_trouble cross join organizations o on o.id = s.organization_id
where :isPushed = 1 and s.organization_id in (select value from json_each(:organizationIds)) and o.active = 1
  and (s.failing_since is not null or s.stopped_at is not null)
  and (s.stopped_at is not null or s.failing_since <= :now - 300000)
limit :limit;

-- src/db/fact-statements.ts: PAGE_FACT_STATEMENTS.refusedByPsa
select f.kind as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    length(count(*)) as level,
    count(*) as count,
    max(f.refused_at) as lastAt,
    null as detail,
    'refused_by_psa' as type,
    o.id as organizationId,
    min(f.refused_at) as since
from psa_refusals f cross join organizations o on o.id = f.organization_id
where f.organization_id in (select value from json_each(:organizationIds)) and f.refused_at >= :now - 2592000000 and o.active = 1
group by o.id, f.kind order by lastAt desc limit :limit;

-- src/db/fact-statements.ts: PAGE_FACT_STATEMENTS.refusedUses
select k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 as level,
    r.count as count,
    r.last_at as lastAt,
    r.source_address as detail,
    'refused_' || r.reason as type,
    o.id as organizationId,
    r.first_at as since
from organizations o
cross join refused_uses r indexed by refused_uses_latest on r.organization_id = o.id and r.last_at >= :now - 604800000
cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
where o.id in (select value from json_each(:organizationIds)) and o.active = 1 and r.reason in ('expired', 'idempotency_mismatch', 'revoked', 'scope_missing', 'address_not_allowed', 'daily_limit_reached')
  and (k.revoked_at is null or r.reason in ('revoked', 'idempotency_mismatch'))
order by r.last_at desc limit :limit;

-- src/db/fact-statements.ts: PAGE_FACT_STATEMENTS.reviewDue
select '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    1 as level,
    r.review_months as count,
    null as lastAt,
    r.time_zone as detail,
    'review_due' as type,
    r.id as organizationId,
    r.since as since
from (
  select o.id, o.time_zone, p.review_months, coalesce((select e.finished_at from key_reviews e
    where e.organization_id = o.id and e.finished_at is not null order by e.id desc limit 1), p.reviews_since) as since
  from organizations o cross join key_policies p on p.organization_id = o.id
  where o.id in (select value from json_each(:organizationIds)) and o.active = 1 and p.review_months is not null) r
where r.since + (r.review_months * 28 - 16) * 86400000 <= :now
limit :limit;

-- src/db/keys/access-review-statements.ts: decideKey
insert into key_review_decisions (organization_id, review_id, key_id, decision, reason, decided_at, decided_by, key_name, key_settings, last_write_at) select r.organization_id,
    r.id,
    k.id,
    :decision,
    :reason,
    :now,
    :userId,
    k.name,
    json_object('name', k.name, 'owner', k.owner, 'description', k.description, 'dayLimitRecords', k.day_limit_records, 'dayLimitMinutes', k.day_limit_minutes, 'allowedNetworks', k.allowed_networks),
    (select max(w.last_at) from (select d.last_at from key_days d
  where d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id order by d.day desc limit 3) w)
from key_reviews r join api_keys k on k.organization_id = r.organization_id and k.id = :keyId
where r.organization_id = :organizationId and r.id = :reviewId and r.finished_at is null and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1)
  and exists (with recursive members(review, finished, reviewed, id) as (
  select r.id, r.finished_at, i.value, i.value from key_reviews r, json_each(r.key_ids) i
  where r.organization_id = :organizationId and r.id = coalesce(:reviewId,
    (select o.id from key_reviews o where o.organization_id = :organizationId and o.finished_at is null)) and i.value = :keyId
  union all
  select m.review, m.finished, m.reviewed, k.successor_id from members m
  cross join api_keys k on k.organization_id = :organizationId and k.id = m.id and k.successor_id is not null
  where not exists (select 1 from key_reviews r, json_each(r.key_ids) i
    where r.organization_id = :organizationId and r.id = m.review and i.value = k.successor_id)
) select 1 from members m cross join api_keys k on k.organization_id = :organizationId and k.id = m.id
  left join key_review_decisions decided on decided.organization_id = :organizationId
    and decided.review_id = m.review and decided.key_id = m.reviewed where k.revoked_at is null and (k.expires_at is null or k.expires_at > :now))
on conflict (organization_id, review_id, key_id) do update set
  decision = excluded.decision,
      reason = excluded.reason,
      decided_at = excluded.decided_at,
      decided_by = excluded.decided_by,
  key_name = excluded.key_name, key_settings = excluded.key_settings, last_write_at = excluded.last_write_at
where key_review_decisions.decided_at is :shownAt;

-- src/db/keys/access-review-statements.ts: findOpenReviewProgress
with recursive members(review, finished, reviewed, id) as (
  select r.id, r.finished_at, i.value, i.value from key_reviews r, json_each(r.key_ids) i
  where r.organization_id = :organizationId and r.id = coalesce(:reviewId,
    (select o.id from key_reviews o where o.organization_id = :organizationId and o.finished_at is null))
  union all
  select m.review, m.finished, m.reviewed, k.successor_id from members m
  cross join api_keys k on k.organization_id = :organizationId and k.id = m.id and k.successor_id is not null
  where not exists (select 1 from key_reviews r, json_each(r.key_ids) i
    where r.organization_id = :organizationId and r.id = m.review and i.value = k.successor_id)
)
select count(distinct m.reviewed) as keys,
    count(distinct iif(decided.decision is null and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now), m.reviewed, null)) as undecided
from members m cross join api_keys k on k.organization_id = :organizationId and k.id = m.id
  left join key_review_decisions decided on decided.organization_id = :organizationId
    and decided.review_id = m.review and decided.key_id = m.reviewed group by m.review;

-- src/db/keys/access-review-statements.ts: findReviewedKeys
with recursive members(review, finished, reviewed, id) as (
  select r.id, r.finished_at, i.value, i.value from key_reviews r, json_each(r.key_ids) i
  where r.organization_id = :organizationId and r.id = coalesce(:reviewId,
    (select o.id from key_reviews o where o.organization_id = :organizationId and o.finished_at is null))
  union all
  select m.review, m.finished, m.reviewed, k.successor_id from members m
  cross join api_keys k on k.organization_id = :organizationId and k.id = m.id and k.successor_id is not null
  where not exists (select 1 from key_reviews r, json_each(r.key_ids) i
    where r.organization_id = :organizationId and r.id = m.review and i.value = k.successor_id)
)
select k.id as id,
    coalesce(iif(m.finished is null, null, decided.key_name), k.name) as name,
    iif(m.finished is null or decided.decision is null, k.owner,
      coalesce(decided.key_settings, '{"allowedNetworks":"","description":"","owner":""}') ->> 'owner') as owner, iif(m.finished is null or decided.decision is null,
          k.description,
      coalesce(decided.key_settings, '{"allowedNetworks":"","description":"","owner":""}') ->> 'description') as description, iif(m.finished is null or decided.decision is null,
          k.day_limit_records,
      coalesce(decided.key_settings, '{"allowedNetworks":"","description":"","owner":""}') ->> 'dayLimitRecords') as dayLimitRecords, iif(m.finished is null or decided.decision is null,
          k.day_limit_minutes,
      coalesce(decided.key_settings, '{"allowedNetworks":"","description":"","owner":""}') ->> 'dayLimitMinutes') as dayLimitMinutes, iif(m.finished is null or decided.decision is null,
          k.allowed_networks,
      coalesce(decided.key_settings, '{"allowedNetworks":"","description":"","owner":""}') ->> 'allowedNetworks') as allowedNetworks, k.hint as hint, k.scopes as scopes, k.revision as revision, k.created_at as createdAt, k.expires_at as expiresAt, k.revoked_at as revokedAt, k.revoked_by as revokedById, revoker.name as revokedBy, k.created_by as createdById, creator.name as createdBy, creator.active as creatorActive, creator.is_admin as creatorAdmin, s.id as successorId, s.hint as successorHint, p.id as predecessorId, p.hint as predecessorHint, d.last_at as lastWriteAt, d.last_address as lastWriteFrom, m.reviewed as reviewedId, decided.decision as decision, decided.reason as reason, decided.decided_at as decidedAt, decided.decided_by as decidedById, decider.name as decidedBy, decided.last_write_at as decidedAfterWriteAt
from members m cross join api_keys k on k.organization_id = :organizationId and k.id = m.id
  left join key_review_decisions decided on decided.organization_id = :organizationId
    and decided.review_id = m.review and decided.key_id = m.reviewed
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
left join users decider on decider.organization_id = :organizationId and decider.id = decided.decided_by;

-- src/db/keys/access-review-statements.ts: findReviews
select r.id as id,
    r.started_at as startedAt,
    starter.name as startedBy,
    json_array_length(r.key_ids) as keys,
    count(*) filter (where d.decision = 'keep') as kept,
    count(*) filter (where d.decision = 'revoke') as revoked,
    r.finished_at as finishedAt,
    finisher.name as finishedBy
from key_reviews r join users starter on starter.organization_id = r.organization_id and starter.id = r.started_by
  left join users finisher on finisher.organization_id = r.organization_id and finisher.id = r.finished_by
  left join key_review_decisions d on d.organization_id = r.organization_id and d.review_id = r.id
where r.organization_id = :organizationId and r.id between coalesce(:reviewId, '') and coalesce(:reviewId, '~')
group by r.organization_id, r.id order by r.organization_id desc, r.id desc limit :limit;

-- src/db/keys/access-review-statements.ts: finishReview
update key_reviews set finished_at = :now, finished_by = :userId
where organization_id = :organizationId and id = :reviewId and finished_at is null and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1)
  and not exists (
    with recursive members(review, finished, reviewed, id) as (
  select r.id, r.finished_at, i.value, i.value from key_reviews r, json_each(r.key_ids) i
  where r.organization_id = :organizationId and r.id = coalesce(:reviewId,
    (select o.id from key_reviews o where o.organization_id = :organizationId and o.finished_at is null))
  union all
  select m.review, m.finished, m.reviewed, k.successor_id from members m
  cross join api_keys k on k.organization_id = :organizationId and k.id = m.id and k.successor_id is not null
  where not exists (select 1 from key_reviews r, json_each(r.key_ids) i
    where r.organization_id = :organizationId and r.id = m.review and i.value = k.successor_id)
) select 1 from members m cross join api_keys k on k.organization_id = :organizationId and k.id = m.id
  left join key_review_decisions decided on decided.organization_id = :organizationId
    and decided.review_id = m.review and decided.key_id = m.reviewed where (decided.decision is null and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now))
      or (decided.decision = 'revoke' and k.revoked_at is null and k.id not in (select value from json_each(:revoke))));

-- src/db/keys/access-review-statements.ts: revokeDecided
update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
where api_keys.organization_id = :organizationId and api_keys.id = :keyId and revoked_at is null and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1)
  and exists (select 1 from key_reviews r
    where r.organization_id = :organizationId and r.id = :reviewId and r.finished_at is not null)
  and :keyId in (with recursive members(review, finished, reviewed, id) as (
  select r.id, r.finished_at, i.value, i.value from key_reviews r, json_each(r.key_ids) i
  where r.organization_id = :organizationId and r.id = coalesce(:reviewId,
    (select o.id from key_reviews o where o.organization_id = :organizationId and o.finished_at is null))
  union all
  select m.review, m.finished, m.reviewed, k.successor_id from members m
  cross join api_keys k on k.organization_id = :organizationId and k.id = m.id and k.successor_id is not null
  where not exists (select 1 from key_reviews r, json_each(r.key_ids) i
    where r.organization_id = :organizationId and r.id = m.review and i.value = k.successor_id)
) select m.id from members m cross join api_keys k on k.organization_id = :organizationId and k.id = m.id
  left join key_review_decisions decided on decided.organization_id = :organizationId
    and decided.review_id = m.review and decided.key_id = m.reviewed where decided.decision = 'revoke');

-- src/db/keys/access-review-statements.ts: startReview
insert into key_reviews (organization_id, id, started_at, started_by, key_ids, finished_at, finished_by) select :organizationId,
    :reviewId,
    :now,
    :userId,
    (select json_group_array(id) from (select id from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and revoked_at is null and expires_at > :now)),
    null,
    null
from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1 and not exists (select 1 from key_reviews r
  where r.organization_id = :organizationId and (r.finished_at is null or r.id = :reviewId));

-- src/db/keys/find-key-statements.ts: findKeyByHash
select k.organization_id as organizationId,
    k.id as keyId,
    k.hash as keyHash,
    k.chain_id as chainId,
    k.name as keyName,
    k.scopes as scopes,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    o.active as organizationActive,
    o.has_psa as hasPsa,
    o.time_zone as timeZone,
    1 as found
from api_keys k join organizations o on o.id = k.organization_id
where k.hash = :hash
union all
select 'nobody-here' as organizationId,
    '00000000-0000-7000-8000-000000000000' as keyId,
    '0000000000000000000000000000000000000000000000000000000000000000' as keyHash,
    '00000000-0000-7000-8000-000000000000' as chainId,
    'There is no such key' as keyName,
    'tickets:note:write tickets:time:write' as scopes,
    null as dayLimitRecords,
    null as dayLimitMinutes,
    '' as allowedNetworks,
    null as expiresAt,
    0 as revokedAt,
    1 as organizationActive,
    1 as hasPsa,
    'Etc/UTC' as timeZone,
    0 as found
limit 1;

-- src/db/keys/key-rules-statements.ts: changeRules
insert into key_policies (organization_id, max_lifetime_days, expiry_required, unused_days, review_months, reviews_since, revision) select :organizationId,
    :maxLifetimeDays,
    :expiryRequired,
    60,
    :accessReviewMonths,
    iif(:accessReviewMonths is null, null, :now),
    :oldRevision + 1
from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1
  and :oldRevision = coalesce((select revision from key_policies where organization_id = :organizationId), 0)
on conflict (organization_id) do update set
  max_lifetime_days = excluded.max_lifetime_days, expiry_required = excluded.expiry_required,
  review_months = excluded.review_months, revision = excluded.revision,
  reviews_since = iif(excluded.review_months is null, null, coalesce(key_policies.reviews_since, excluded.reviews_since));

-- src/db/keys/key-rules-statements.ts: countEndlessKeys
select count(*) as keys from api_keys indexed by api_keys_unrevoked
where organization_id = :organizationId and revoked_at is null and expires_at is null;

-- src/db/keys/key-rules-statements.ts: findKeyRules
select p.max_lifetime_days as maxLifetimeDays,
    coalesce(p.expiry_required, 0) as expiryRequired,
    p.review_months as accessReviewMonths,
    p.reviews_since as accessReviewsSince,
    coalesce(p.revision, 0) as revision,
    o.time_zone as timeZone from users u join organizations o on o.id = u.organization_id
left join key_policies p on p.organization_id = o.id where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1;

-- src/db/keys/key-statements.ts: changeKey
update api_keys set name = :name,
    owner = :owner,
    description = :description,
    day_limit_records = :dayLimitRecords,
    day_limit_minutes = :dayLimitMinutes,
    allowed_networks = :allowedNetworks,
    revision = revision + 1
where api_keys.organization_id = :organizationId and api_keys.id = :keyId and revoked_at is null and (api_keys.expires_at is null or api_keys.expires_at > :now) and revision = :revision and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1)
  and not exists (select 1 from api_keys other where other.organization_id = :organizationId and other.name = :name
    and other.revoked_at is null and other.successor_id is null and other.id <> :keyId and api_keys.successor_id is null);

-- src/db/keys/key-statements.ts: explainChange
select exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1) as administrator,
    api_keys.id as live,
    (select api_keys.id from api_keys where api_keys.organization_id = :organizationId and api_keys.name = :name and api_keys.revoked_at is null and api_keys.successor_id is null) as named
from organizations o left join api_keys on api_keys.organization_id = :organizationId and api_keys.id = :keyId and api_keys.revoked_at is null and (api_keys.expires_at is null or api_keys.expires_at > :now)
where o.id = :organizationId;

-- src/db/keys/key-statements.ts: explainNewKey
select exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1) as administrator,
    (select api_keys.id from api_keys where api_keys.organization_id = :organizationId and api_keys.id = :id) as own,
    (select api_keys.id from api_keys where api_keys.organization_id = :organizationId and api_keys.form_token = :formToken) as createdByForm,
    (select p.max_lifetime_days from key_policies p where p.organization_id = :organizationId) as maxLifetimeDays,
    exists (select 1 from key_policies p where p.organization_id = :organizationId and p.expiry_required = 1) as expiryRequired,
    (select api_keys.id from api_keys where api_keys.organization_id = :organizationId and api_keys.name = :name and api_keys.revoked_at is null and api_keys.successor_id is null) as named;

-- src/db/keys/key-statements.ts: explainRotation
select exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1) as administrator,
    api_keys.id as found,
    api_keys.successor_id as successorId,
    (select api_keys.id from api_keys where api_keys.organization_id = :organizationId and api_keys.form_token = :formToken) as createdByForm,
    (select count(*) from api_keys replaced where replaced.organization_id = :organizationId
  and replaced.revoked_at is null and replaced.expires_at > :now and replaced.successor_id is not null) as keysInGrace, (select p.max_lifetime_days from key_policies p where p.organization_id = :organizationId) as maxLifetimeDays, exists (select 1 from key_policies p where p.organization_id = :organizationId and p.expiry_required = 1) as expiryRequired, api_keys.revoked_at is null and (api_keys.expires_at is null or api_keys.expires_at > :now) as live
from organizations o left join api_keys on api_keys.organization_id = :organizationId and api_keys.id = :keyId where o.id = :organizationId;

-- src/db/keys/key-statements.ts: findRevocation
select revoked_at as revokedAt from api_keys where api_keys.organization_id = :organizationId and api_keys.id = :keyId;

-- src/db/keys/key-statements.ts: findSettingsChanges
select a.at as at, a.actor_name as by, a.action as action, a.detail as detail
from audit_log a indexed by audit_log_user_target
where a.organization_id = :organizationId and a.actor_type <> 'api_key' and a.target_id = :targetId
  and a.action in (select value from json_each(:actions))
order by a.seq desc limit :limit;

-- src/db/keys/key-statements.ts: findSomeLiveKeys
select id from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and revoked_at is null and expires_at > :now limit 100;

-- src/db/keys/key-statements.ts: insertKey
insert into api_keys (organization_id, id, chain_id, hash, hint, scopes, name, owner, description, day_limit_records, day_limit_minutes, allowed_networks, created_at, created_by, expires_at, revoked_at, revoked_by, successor_id, form_token) select :organizationId,
    :id,
    :id,
    :hash,
    :hint,
    :scopes,
    :name,
    :owner,
    :description,
    :dayLimitRecords,
    :dayLimitMinutes,
    :allowedNetworks,
    :now,
    :userId,
    :expiresAt,
    null,
    null,
    null,
    :formToken
from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1 and not exists (select 1 from api_keys where organization_id = :organizationId and (id = :id or form_token = :formToken)) and (select count(*) from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and api_keys.revoked_at is null and api_keys.successor_id is null and expires_at is null) + (select count(*) from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and api_keys.revoked_at is null and api_keys.successor_id is null and expires_at > :now) < 100 and not exists (select 1 from key_policies p where p.organization_id = :organizationId
  and (p.max_lifetime_days < :lifetimeDays or (p.expiry_required = 1 and :lifetimeDays is null)))
on conflict do nothing;

-- src/db/keys/key-statements.ts: insertSuccessor
insert into api_keys (organization_id, id, chain_id, hash, hint, scopes, name, owner, description, day_limit_records, day_limit_minutes, allowed_networks, created_at, created_by, expires_at, revoked_at, revoked_by, successor_id, form_token) select :organizationId,
    :id,
    k.chain_id,
    :hash,
    :hint,
    k.scopes,
    k.name,
    k.owner,
    k.description,
    k.day_limit_records,
    k.day_limit_minutes,
    k.allowed_networks,
    :now,
    :userId,
    :expiresAt,
    null,
    null,
    null,
    :formToken
from api_keys k where k.organization_id = :organizationId and k.successor_id = :id and changes() = 1;

-- src/db/keys/key-statements.ts: markRevokedByAdministrator
update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
where api_keys.organization_id = :organizationId and api_keys.id = :keyId and revoked_at is null and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1) returning revoked_at as revokedAt;

-- src/db/keys/key-statements.ts: markRevokedByOperator
update api_keys set revoked_at = :now, revoked_by = :by, revision = revision + 1
where api_keys.organization_id = :organizationId and api_keys.id = :keyId and revoked_at is null returning revoked_at as revokedAt;

-- src/db/keys/key-statements.ts: markSucceeded
update api_keys set successor_id = :id,
    expires_at = min(coalesce(expires_at, :endsAt), :endsAt),
    revision = revision + 1
where api_keys.organization_id = :organizationId and api_keys.id = :keyId and api_keys.revoked_at is null and api_keys.successor_id is null and (api_keys.expires_at is null or api_keys.expires_at > :now) and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1) and (select api_keys.id from api_keys where api_keys.organization_id = :organizationId and api_keys.form_token = :formToken) is null
  and (:endsAt <= :now or (select count(*) from api_keys replaced where replaced.organization_id = :organizationId
  and replaced.revoked_at is null and replaced.expires_at > :now and replaced.successor_id is not null) < 50) and not exists (select 1 from key_policies p where p.organization_id = :organizationId
  and (p.max_lifetime_days < :lifetimeDays or (p.expiry_required = 1 and :lifetimeDays is null)));

-- src/db/keys/key-statements.ts: revokeSucceeded
update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
where organization_id = :organizationId and successor_id = :id and changes() = 1;

-- src/db/keys/read-keys-statements.ts: countLiveKeysOf
select i.value as organizationId,
    (select count(*) from (select id from api_keys indexed by api_keys_unrevoked where organization_id = i.value and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = i.value and revoked_at is null and expires_at > :now)) as keys from json_each(:organizationIds) i;

-- src/db/keys/read-keys-statements.ts: findAnyKeyByHash
select k.organization_id as organizationId,
    o.name as organization,
    k.id as id,
    k.name as name,
    k.hint as hint,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint
from organizations o join api_keys k on k.organization_id = o.id
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id and s.revoked_at is null and (s.expires_at is null or s.expires_at > :now)
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id and p.revoked_at is null and (p.expires_at is null or p.expires_at > :now) where k.hash = :hash;

-- src/db/keys/read-keys-statements.ts: findAnyKeyById
select k.organization_id as organizationId,
    o.name as organization,
    k.id as id,
    k.name as name,
    k.hint as hint,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint
from organizations o join api_keys k on k.organization_id = o.id
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id and s.revoked_at is null and (s.expires_at is null or s.expires_at > :now)
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id and p.revoked_at is null and (p.expires_at is null or p.expires_at > :now) where k.organization_id = :organizationId and k.id = :keyId;

-- src/db/keys/read-keys-statements.ts: findAnyKeysByHint
select k.organization_id as organizationId,
    o.name as organization,
    k.id as id,
    k.name as name,
    k.hint as hint,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint
from organizations o join api_keys k on k.organization_id = o.id
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id and s.revoked_at is null and (s.expires_at is null or s.expires_at > :now)
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id and p.revoked_at is null and (p.expires_at is null or p.expires_at > :now)
where (k.organization_id, k.id) in (
  select h.organization_id, h.id from organizations each_organization cross join api_keys h
  where h.organization_id = each_organization.id and h.hint = :hint)
order by k.id limit 100;

-- src/db/keys/read-keys-statements.ts: findKeyDetails
select k.id as id,
    k.name as name,
    k.owner as owner,
    k.description as description,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.hint as hint,
    k.scopes as scopes,
    k.revision as revision,
    k.created_at as createdAt,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    k.revoked_by as revokedById,
    revoker.name as revokedBy,
    k.created_by as createdById,
    creator.name as createdBy,
    creator.active as creatorActive,
    creator.is_admin as creatorAdmin,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint,
    d.last_at as lastWriteAt,
    d.last_address as lastWriteFrom
from api_keys k
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
where k.organization_id = :organizationId and k.id = :keyId;

-- src/db/keys/read-keys-statements.ts: findKeyPage
select k.id as id,
    k.name as name,
    k.owner as owner,
    k.description as description,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.hint as hint,
    k.scopes as scopes,
    k.revision as revision,
    k.created_at as createdAt,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    k.revoked_by as revokedById,
    revoker.name as revokedBy,
    k.created_by as createdById,
    creator.name as createdBy,
    creator.active as creatorActive,
    creator.is_admin as creatorAdmin,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint,
    d.last_at as lastWriteAt,
    d.last_address as lastWriteFrom
from api_keys k
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
where k.organization_id = :organizationId and k.id < :before order by k.id desc limit :limit;

-- src/db/keys/read-keys-statements.ts: findLiveKeys
select k.id as id,
    k.name as name,
    k.owner as owner,
    k.description as description,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.hint as hint,
    k.scopes as scopes,
    k.revision as revision,
    k.created_at as createdAt,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    k.revoked_by as revokedById,
    revoker.name as revokedBy,
    k.created_by as createdById,
    creator.name as createdBy,
    creator.active as creatorActive,
    creator.is_admin as creatorAdmin,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint,
    d.last_at as lastWriteAt,
    d.last_address as lastWriteFrom
from api_keys k
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
where k.organization_id = :organizationId and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and revoked_at is null and expires_at > :now)
order by k.name, k.id desc;

-- src/db/keys/read-keys-statements.ts: findOwnKeyByHash
select k.id as id,
    k.name as name,
    k.owner as owner,
    k.description as description,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.hint as hint,
    k.scopes as scopes,
    k.revision as revision,
    k.created_at as createdAt,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    k.revoked_by as revokedById,
    revoker.name as revokedBy,
    k.created_by as createdById,
    creator.name as createdBy,
    creator.active as creatorActive,
    creator.is_admin as creatorAdmin,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint,
    d.last_at as lastWriteAt,
    d.last_address as lastWriteFrom
from api_keys k
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
where k.organization_id = :organizationId and k.hash = :hash;

-- src/db/keys/read-keys-statements.ts: findOwnKeysByHint
select k.id as id,
    k.name as name,
    k.owner as owner,
    k.description as description,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.hint as hint,
    k.scopes as scopes,
    k.revision as revision,
    k.created_at as createdAt,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    k.revoked_by as revokedById,
    revoker.name as revokedBy,
    k.created_by as createdById,
    creator.name as createdBy,
    creator.active as creatorActive,
    creator.is_admin as creatorAdmin,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint,
    d.last_at as lastWriteAt,
    d.last_address as lastWriteFrom
from api_keys k
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
where k.organization_id = :organizationId and k.hint = :hint order by k.id desc limit 10;

-- src/db/keys/read-keys-statements.ts: findRefusedKeys
select k.id as id,
    k.name as name,
    k.owner as owner,
    k.description as description,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.hint as hint,
    k.scopes as scopes,
    k.revision as revision,
    k.created_at as createdAt,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    k.revoked_by as revokedById,
    revoker.name as revokedBy,
    k.created_by as createdById,
    creator.name as createdBy,
    creator.active as creatorActive,
    creator.is_admin as creatorAdmin,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint,
    d.last_at as lastWriteAt,
    d.last_address as lastWriteFrom
from api_keys k
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
where k.organization_id = :organizationId and k.id in (
select key_id from (select key_id, reason from refused_uses where organization_id = :organizationId and last_at >= :since order by last_at desc limit :examine) where reason = :reason);

-- src/db/keys/read-keys-statements.ts: findUnrevoked
select k.id as id,
    k.name as name,
    k.owner as owner,
    k.description as description,
    k.day_limit_records as dayLimitRecords,
    k.day_limit_minutes as dayLimitMinutes,
    k.allowed_networks as allowedNetworks,
    k.hint as hint,
    k.scopes as scopes,
    k.revision as revision,
    k.created_at as createdAt,
    k.expires_at as expiresAt,
    k.revoked_at as revokedAt,
    k.revoked_by as revokedById,
    revoker.name as revokedBy,
    k.created_by as createdById,
    creator.name as createdBy,
    creator.active as creatorActive,
    creator.is_admin as creatorAdmin,
    s.id as successorId,
    s.hint as successorHint,
    p.id as predecessorId,
    p.hint as predecessorHint,
    d.last_at as lastWriteAt,
    d.last_address as lastWriteFrom
from api_keys k
join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
  and d.day = (select w.day from (
    select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
      and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)
where k.organization_id = :organizationId and k.id in (select value from json_each(:keyIds)) and k.revoked_at is null order by k.name,
    k.id desc;

-- src/db/keys/refused-use-statements.ts: addRefusedUses
insert into refused_uses (organization_id, key_id, reason, count, first_at, last_at, source_address, lost_writes) select k.organization_id,
    k.id,
    :reason,
    :count,
    :now,
    :now,
    :sourceAddress,
    :lostWrites
from api_keys k where k.organization_id = :organizationId and k.id = :keyId and not exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1)
on conflict (organization_id, key_id, reason) do update set
  count = refused_uses.count + excluded.count,
  last_at = max(refused_uses.last_at, excluded.last_at),
  source_address = excluded.source_address,
  lost_writes = iif(excluded.lost_writes is null, refused_uses.lost_writes, (
    select json_group_array(json(value)) from (
      select 0 as age, key, value from json_each(excluded.lost_writes)
      union all select 1, key, value from json_each(coalesce(refused_uses.lost_writes, '[]'))
      order by age, key limit 5)));

-- src/db/keys/refused-use-statements.ts: findRefusedUses
select r.key_id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    r.reason as reason,
    r.count as count,
    r.first_at as firstAt,
    r.last_at as lastAt,
    r.source_address as sourceAddress,
    r.lost_writes as lostWrites
from refused_uses r cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
where r.organization_id = :organizationId order by r.last_at desc limit :limit;

-- src/db/keys/refused-use-statements.ts: findRefusedUsesOfKey
select r.key_id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    r.reason as reason,
    r.count as count,
    r.first_at as firstAt,
    r.last_at as lastAt,
    r.source_address as sourceAddress,
    r.lost_writes as lostWrites
from refused_uses r cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
where r.organization_id = :organizationId and r.key_id = :keyId order by r.last_at desc;

-- src/db/keys/refused-use-statements.ts: findRefusedUsesPage
select r.key_id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    r.reason as reason,
    r.count as count,
    r.first_at as firstAt,
    r.last_at as lastAt,
    r.source_address as sourceAddress,
    r.lost_writes as lostWrites
from refused_uses r cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
where r.organization_id = :organizationId and (r.key_id, r.reason) < (:beforeKeyId, :beforeReason)
  order by r.key_id desc, r.reason desc limit :limit;

-- src/db/keys/refused-use-statements.ts: forgetAddresses
update refused_uses set source_address = null where (organization_id, key_id, reason) in (
  select organization_id, key_id, reason from refused_uses
  where last_at < :before and source_address is not null order by last_at limit :limit);

-- src/db/work/archives.ts: findArchivesAfter
select from_seq as fromSeq,
    to_seq as toSeq,
    first_at as firstAt,
    last_at as lastAt,
    last_request_id as lastRequestId,
    object as object,
    digest as digest,
    bytes as bytes,
    revision as revision,
    damaged_at as damagedAt from archives where organization_id = :organizationId and to_seq > :seq order by to_seq limit :limit;

-- src/db/work/changes.ts: findChanges
select a.seq as seq,
    a.at as at,
    a.actor_type as actorType,
    a.actor_id as actorId,
    a.actor_name as actorName,
    a.action as action,
    a.target_id as targetId,
    a.ticket_id as ticketId,
    a.request_id as requestId,
    a.idempotency_key as idempotencyKey,
    a.detail as detail,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    k.revoked_at as keyRevokedAt,
    k.successor_id as keySuccessorId,
  coalesce(iif(note.organization_id is null, null, json_object('id', note.id, 'ticketId', note.ticket_id, 'createdAt', note.created_at, 'message', note.message)), (select json_object('id', a.target_id, 'ticketId', s.ticket_id, 'createdAt', s.created_at, 'message', '[redacted]') from archived_notes s
    where s.organization_id = a.organization_id and s.id = iif(a.action = 'note.redacted', unhex(replace(a.target_id, '-', '')), null))) as note, coalesce(iif(time_entry.organization_id is null,
        null,
        json_object('id', time_entry.id, 'ticketId', time_entry.ticket_id, 'createdAt', time_entry.created_at, 'description', time_entry.description, 'userId', time_entry.user_id, 'minutes', time_entry.minutes, 'billable', time_entry.billable, 'workDate', time_entry.work_date, 'hourlyRateMinor', time_entry.hourly_rate_minor, 'agreementSource', time_entry.agreement_source, 'status', time_entry.status)), (select json_object('id', a.target_id, 'ticketId', s.ticket_id, 'createdAt', s.created_at, 'userId', s.user_id, 'minutes', s.minutes, 'billable', s.billable, 'workDate', date(s.work_day * 86400, 'unixepoch'), 'hourlyRateMinor', s.hourly_rate_minor, 'agreementSource', iif(s.by_agreement = 1, 'company_default', 'organization_default'), 'status', iif(s.review_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED')), 'description', '[redacted]') from archived_time_entries s
    where s.organization_id = a.organization_id and s.id = iif(a.action = 'time_entry.redacted', unhex(replace(a.target_id, '-', '')), null))) as time_entry
from audit_log a
left join notes note on note.organization_id = a.organization_id and note.id = a.target_id and a.action glob 'note.*'
left join time_entries time_entry on time_entry.organization_id = a.organization_id and time_entry.id = a.target_id and a.action glob 'time_entry.*'
left join api_keys k on k.organization_id = a.organization_id and k.id = coalesce(note.key_id, time_entry.key_id, iif(a.action glob 'api_key.*', a.target_id, null))
where a.organization_id = :organizationId and a.seq > :seq
order by a.seq limit :limit;

-- src/db/work/changes.ts: findCursorPosition
select d.epoch as epoch,
    o.id as organizationId,
    a.request_id as requestId,
    s.to_seq as archivedTo,
    s.last_request_id as archivedRequestId,
    exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1) as isBeingErased
from database_epoch d
left join organizations o on o.id = :organizationId
left join audit_log a on a.organization_id = o.id and a.seq = :seq
left join archives s on s.organization_id = o.id
  and s.to_seq = (select min(to_seq) from archives where organization_id = o.id and to_seq >= max(:seq, 1));

-- src/db/work/key-days.ts: countRecord.note
insert into key_days (
  organization_id, chain_id, day, key_id, notes, time_entries,
  minutes, bytes, first_seq, last_seq, last_at, last_address)
select
  :organizationId, :chainId, :day, :keyId, 1, 0,
  :minutes, :bytes, seq, seq, :now, :sourceAddress
from (select max(seq) as seq from audit_log where organization_id = :organizationId)
where changes() = 1
on conflict (organization_id, chain_id, day, key_id) do update set
  notes = notes + 1, minutes = minutes + excluded.minutes, bytes = bytes + excluded.bytes,
  last_seq = excluded.last_seq, last_at = excluded.last_at, last_address = excluded.last_address;

-- src/db/work/key-days.ts: countRecord.time_entry
insert into key_days (
  organization_id, chain_id, day, key_id, notes, time_entries,
  minutes, bytes, first_seq, last_seq, last_at, last_address)
select
  :organizationId, :chainId, :day, :keyId, 0, 1,
  :minutes, :bytes, seq, seq, :now, :sourceAddress
from (select max(seq) as seq from audit_log where organization_id = :organizationId)
where changes() = 1
on conflict (organization_id, chain_id, day, key_id) do update set
  time_entries = time_entries + 1, minutes = minutes + excluded.minutes, bytes = bytes + excluded.bytes,
  last_seq = excluded.last_seq, last_at = excluded.last_at, last_address = excluded.last_address;

-- src/db/work/key-days.ts: findChainDay
select coalesce(sum(notes + time_entries), 0) as records,
    coalesce(sum(minutes), 0) as minutes,
    coalesce(sum(bytes), 0) as bytes from key_days where organization_id = :organizationId and day = :day
  and chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId);

-- src/db/work/key-days.ts: findChainUse
select d.day as day,
    notes + time_entries as records,
    d.minutes as minutes,
    d.last_at as lastAt,
    d.last_address as lastAddress
from key_days d
where d.organization_id = :organizationId and d.day >= :since
  and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId)
order by d.last_at desc;

-- src/db/work/key-days.ts: findKeyDays
select d.key_id as keyId, d.day as day, d.minutes as minutes, d.notes as note, d.time_entries as time_entry
from json_each(:keyIds) i
cross join api_keys k on k.organization_id = :organizationId and k.id = i.value
cross join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day >= :since
  and d.key_id = k.id;

-- src/db/work/key-days.ts: findStoredText
select o.id as organizationId, coalesce(sum(notes + time_entries), 0) as records, coalesce(sum(d.bytes), 0) as bytes,
  coalesce(sum(d.bytes) filter (where d.day >= :since), 0) as bytesSince, min(d.day) as firstDay
from organizations o left join key_days d on d.organization_id = o.id group by o.id order by bytes desc, o.id;

-- src/db/work/key-days.ts: forgetDays
delete from key_days where (organization_id, chain_id, day, key_id) in (
  select d.organization_id, d.chain_id, d.day, d.key_id
  from (select id, (select max(to_seq) from archives where organization_id = organizations.id) as archivedTo
    from organizations) o
  cross join api_keys k on k.organization_id = o.id
  cross join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day < :before
    and d.last_seq <= o.archivedTo
  where o.archivedTo is not null and k.id = k.chain_id
    and exists (select 1 from key_days l where l.organization_id = d.organization_id
      and l.chain_id = d.chain_id and l.key_id = d.key_id and l.day > d.day)
  limit :limit);

-- src/db/work/note-statements.ts: explainNote
select
  k.organization_id as organizationId,
      k.id as keyId,
      k.hash as keyHash,
      k.chain_id as chainId,
      k.name as keyName,
      k.scopes as scopes,
      k.day_limit_records as dayLimitRecords,
      k.day_limit_minutes as dayLimitMinutes,
      k.allowed_networks as allowedNetworks,
      k.expires_at as expiresAt,
      k.revoked_at as revokedAt,
      o.active as organizationActive,
      o.has_psa as hasPsa,
      o.time_zone as timeZone,
  used.records as chainRecords, used.minutes as chainMinutes, used.bytes as chainBytes, case
    when :day = p.day then p.day_records
    when :day < p.day then (
      select coalesce(sum(notes + time_entries), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end as organizationRecords, case
    when :day = p.day then p.day_bytes
    when :day < p.day then (
      select coalesce(sum(bytes), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end as organizationBytes,
  coalesce(r.id, iif(s.organization_id is null, null, :id)) as id,
  coalesce(r.ticket_id, s.ticket_id) as ticketId,
  coalesce(r.created_at, s.created_at) as createdAt,
  coalesce(r.request_id, '') as requestId,
  coalesce(r.request_digest, lower(hex(s.request_digest))) as requestDigest,
  c.id is not null as ticketFound,
  1 as userFound
from api_keys k
join organizations o on o.id = :organizationId
left join notes r on r.organization_id = :organizationId and r.id = :id
left join archived_notes s on s.organization_id = :organizationId
  and s.id = iif(r.id is null, unhex(replace(:id, '-', '')), null)
left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
join (
  select coalesce(sum(notes + time_entries), 0) as records, coalesce(sum(minutes), 0) as minutes,
    coalesce(sum(bytes), 0) as bytes
  from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day) used
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash;

-- src/db/work/note-statements.ts: insertNote
insert into notes (
  organization_id, id, ticket_id, created_at, key_id,
  request_id, request_digest, audit_seq, message)
select
  k.organization_id, :id, t.id, :now, k.id,
  :requestId, :requestDigest, coalesce(p.seq, 0) + 1, :message
from api_keys k
join organizations o on o.id = :organizationId and o.active = 1 and o.has_psa = 1 and o.time_zone = :timeZone
join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
  and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
  and instr(' ' || k.scopes || ' ', ' tickets:note:write ') > 0
  and k.allowed_networks = :allowedNetworks
  and (
    select (:keyDayRecords is null or coalesce(sum(notes + time_entries), 0) + 1 <= :keyDayRecords)
      and (k.day_limit_records is null or coalesce(sum(notes + time_entries), 0) + 1 <= k.day_limit_records)
      and (:keyDayBytes is null or coalesce(sum(bytes), 0) + :bytes <= :keyDayBytes)
      and (:minutes = 0 or (k.day_limit_minutes is null or coalesce(sum(minutes), 0) + :minutes <= k.day_limit_minutes))
    from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day)
  and (:organizationDayRecords is null or case
    when :day = p.day then p.day_records
    when :day < p.day then (
      select coalesce(sum(notes + time_entries), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end + 1 <= :organizationDayRecords)
  and (:organizationDayBytes is null or case
    when :day = p.day then p.day_bytes
    when :day < p.day then (
      select coalesce(sum(bytes), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end + :bytes <= :organizationDayBytes)
on conflict (organization_id, id) do nothing
returning
  id, ticket_id as ticketId, created_at as createdAt, request_id as requestId, request_digest as requestDigest,
  (select coalesce(sum(notes + time_entries), 0) from key_days
    where organization_id = :organizationId and chain_id = :chainId and day = :day) as chainRecords;

-- src/db/work/record-statements.ts: countRefusals
select count(*) as refused, min(refused_at) as since from psa_refusals where organization_id between :from and :to;

-- src/db/work/record-statements.ts: findApproval
select e.status, a.at as decidedAt, a.actor_id as decidedBy
from time_entries e left join audit_log a on a.organization_id = e.organization_id and a.seq = e.review_seq
where e.organization_id = :organizationId and e.id = :id
union all
select iif(s.review_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED')), a.at, a.actor_id
from archived_time_entries s left join audit_log a on a.organization_id = s.organization_id and a.seq = s.review_seq
where s.organization_id = :organizationId and s.id = unhex(replace(:id, '-', ''));

-- src/db/work/record-statements.ts: findArchivedRecord.note
select s.redacted as isRedacted,
    a.from_seq as fromSeq,
    a.to_seq as toSeq,
    a.first_at as firstAt,
    a.last_at as lastAt,
    a.last_request_id as lastRequestId,
    a.object as object,
    a.digest as digest,
    a.bytes as bytes,
    a.revision as revision,
    a.damaged_at as damagedAt
from archived_notes s join archives a on a.organization_id = s.organization_id
  and a.to_seq = (select min(to_seq) from archives where organization_id = s.organization_id and to_seq >= s.archived_seq)
where s.organization_id = :organizationId and s.id = unhex(replace(:id, '-', ''));

-- src/db/work/record-statements.ts: findArchivedRecord.time_entry
select s.redacted as isRedacted,
    a.from_seq as fromSeq,
    a.to_seq as toSeq,
    a.first_at as firstAt,
    a.last_at as lastAt,
    a.last_request_id as lastRequestId,
    a.object as object,
    a.digest as digest,
    a.bytes as bytes,
    a.revision as revision,
    a.damaged_at as damagedAt
from archived_time_entries s join archives a on a.organization_id = s.organization_id
  and a.to_seq = (select min(to_seq) from archives where organization_id = s.organization_id and to_seq >= s.archived_seq)
where s.organization_id = :organizationId and s.id = unhex(replace(:id, '-', ''));

-- src/db/work/record-statements.ts: findRecord.note
select id from notes where organization_id = :organizationId and id = :id;

-- src/db/work/record-statements.ts: findRecord.time_entry
select id from time_entries where organization_id = :organizationId and id = :id;

-- src/db/work/record-statements.ts: findRedacted.note
select i.value as id from json_each(:ids) i cross join archived_notes s
  on s.organization_id = :organizationId and s.id = unhex(replace(i.value, '-', ''))
where s.redacted = 1;

-- src/db/work/record-statements.ts: findRedacted.time_entry
select i.value as id from json_each(:ids) i cross join archived_time_entries s
  on s.organization_id = :organizationId and s.id = unhex(replace(i.value, '-', ''))
where s.redacted = 1;

-- src/db/work/record-statements.ts: findReported.note
select :id as id where (exists (select 1 from notes r where r.organization_id = :organizationId and r.id = :id) or exists (select 1 from archived_notes r where r.organization_id = :organizationId and r.id = unhex(replace(:id, '-', ''))));

-- src/db/work/record-statements.ts: findReported.time_entry
select :id as id where (exists (select 1 from time_entries r where r.organization_id = :organizationId and r.id = :id) or exists (select 1 from archived_time_entries r where r.organization_id = :organizationId and r.id = unhex(replace(:id, '-', ''))));

-- src/db/work/record-statements.ts: markArchivedRedacted.note
update archived_notes set redacted = 1, request_digest = null
where organization_id = :organizationId and id = unhex(replace(:id, '-', '')) and redacted = 0
  and exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and revision = :revision);

-- src/db/work/record-statements.ts: markArchivedRedacted.time_entry
update archived_time_entries set redacted = 1, request_digest = null
where organization_id = :organizationId and id = unhex(replace(:id, '-', '')) and redacted = 0
  and exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and revision = :revision);

-- src/db/work/record-statements.ts: markRedacted.note
update notes set message = '[redacted]', request_digest = ''
where organization_id = :organizationId and id = :id and message <> '[redacted]';

-- src/db/work/record-statements.ts: markRedacted.time_entry
update time_entries set description = '[redacted]', request_digest = ''
where organization_id = :organizationId and id = :id and description <> '[redacted]';

-- src/db/work/record-statements.ts: recordApproval
update time_entries set status = :status,
    review_seq = (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)
where organization_id = :organizationId and id = :id and status = 'SUBMITTED' and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1);

-- src/db/work/record-statements.ts: recordArchivedApproval
update archived_time_entries set approved = :status = 'APPROVED',
    review_seq = (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)
where organization_id = :organizationId and id = unhex(replace(:id, '-', '')) and review_seq is null and exists (select 1 from users u where u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1);

-- src/db/work/record-statements.ts: recordRefusal.note
insert into psa_refusals (organization_id, record_id, kind, reason, refused_at)
select :organizationId,
    :id,
    'note',
    :reason,
    :now where (exists (select 1 from notes r where r.organization_id = :organizationId and r.id = :id) or exists (select 1 from archived_notes r where r.organization_id = :organizationId and r.id = unhex(replace(:id, '-', ''))))
on conflict (organization_id, record_id) do update set reason = excluded.reason, refused_at = excluded.refused_at
where psa_refusals.reason <> excluded.reason;

-- src/db/work/record-statements.ts: recordRefusal.time_entry
insert into psa_refusals (organization_id, record_id, kind, reason, refused_at)
select :organizationId,
    :id,
    'time_entry',
    :reason,
    :now where (exists (select 1 from time_entries r where r.organization_id = :organizationId and r.id = :id) or exists (select 1 from archived_time_entries r where r.organization_id = :organizationId and r.id = unhex(replace(:id, '-', ''))))
on conflict (organization_id, record_id) do update set reason = excluded.reason, refused_at = excluded.refused_at
where psa_refusals.reason <> excluded.reason;

-- src/db/work/record-statements.ts: withdrawRefusal
delete from psa_refusals where organization_id = :organizationId and record_id = :id and kind = :kind;

-- src/db/work/releases.ts: findReleases
select o.id as organizationId,
    coalesce((select max(seq) from audit_log where organization_id = o.id), 0) as newestSeq,
    coalesce(r.seq, 0) as releasedSeq,
    coalesce(s.to_seq, 0) as archivedSeq,
    r.released_at as releasedAt,
    iif(coalesce(r.seq, 0) = coalesce(s.to_seq, 0), s.last_at, (select at from audit_log where organization_id = o.id and seq = r.seq)) as releasedTo,
    (select at from audit_log where organization_id = o.id and seq = coalesce(r.seq, 0) + 1) as unreleasedSince,
    s.last_at as archivedTo
from organizations o
left join releases r on r.organization_id = o.id
left join archives s on s.organization_id = o.id
  and s.to_seq = (select max(to_seq) from archives where organization_id = o.id)
where o.id = coalesce(:only, o.id) and o.id > :after order by o.id limit :limit;

-- src/db/work/releases.ts: markReleased
insert into releases (organization_id, seq, released_at)
select a.organization_id, a.seq, :now from audit_log a cross join database_epoch d
where a.organization_id = :organizationId and a.seq = :seq and a.request_id = :requestId and d.epoch = :epoch
  and :seq > coalesce((select seq from releases where organization_id = :organizationId), 0)
  and not exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1)
on conflict (organization_id) do update set seq = excluded.seq, released_at = excluded.released_at;

-- src/db/work/time-entry-statements.ts: explainServiceTimeEntry
select
  k.organization_id as organizationId,
      k.id as keyId,
      k.hash as keyHash,
      k.chain_id as chainId,
      k.name as keyName,
      k.scopes as scopes,
      k.day_limit_records as dayLimitRecords,
      k.day_limit_minutes as dayLimitMinutes,
      k.allowed_networks as allowedNetworks,
      k.expires_at as expiresAt,
      k.revoked_at as revokedAt,
      o.active as organizationActive,
      o.has_psa as hasPsa,
      o.time_zone as timeZone,
  used.records as chainRecords, used.minutes as chainMinutes, used.bytes as chainBytes, case
    when :day = p.day then p.day_records
    when :day < p.day then (
      select coalesce(sum(notes + time_entries), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end as organizationRecords, case
    when :day = p.day then p.day_bytes
    when :day < p.day then (
      select coalesce(sum(bytes), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end as organizationBytes,
  coalesce(r.id, iif(s.organization_id is null, null, :id)) as id,
  coalesce(r.ticket_id, s.ticket_id) as ticketId,
  coalesce(r.created_at, s.created_at) as createdAt,
  coalesce(r.request_id, '') as requestId,
  coalesce(r.request_digest, lower(hex(s.request_digest))) as requestDigest,
  coalesce(r.user_id, s.user_id) as userId,
  coalesce(r.minutes, s.minutes) as minutes,
  coalesce(r.billable, s.billable) as billable,
  coalesce(r.work_date, date(s.work_day * 86400, 'unixepoch')) as workDate,
  coalesce(r.hourly_rate_minor, s.hourly_rate_minor) as hourlyRateMinor,
  coalesce(r.agreement_source, iif(s.by_agreement = 1, 'company_default', 'organization_default')) as agreementSource,
  coalesce(r.status, iif(s.review_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED'))) as status,
  c.id is not null as ticketFound,
  u.id is not null as userFound
from api_keys k
join organizations o on o.id = :organizationId
left join time_entries r on r.organization_id = :organizationId and r.id = :id
left join archived_time_entries s on s.organization_id = :organizationId
  and s.id = iif(r.id is null, unhex(replace(:id, '-', '')), null)
left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
join (
  select coalesce(sum(notes + time_entries), 0) as records, coalesce(sum(minutes), 0) as minutes,
    coalesce(sum(bytes), 0) as bytes
  from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day) used
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
left join users u on u.organization_id = :organizationId and u.is_service = 1
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash;

-- src/db/work/time-entry-statements.ts: explainTechnicianTimeEntry
select
  k.organization_id as organizationId,
      k.id as keyId,
      k.hash as keyHash,
      k.chain_id as chainId,
      k.name as keyName,
      k.scopes as scopes,
      k.day_limit_records as dayLimitRecords,
      k.day_limit_minutes as dayLimitMinutes,
      k.allowed_networks as allowedNetworks,
      k.expires_at as expiresAt,
      k.revoked_at as revokedAt,
      o.active as organizationActive,
      o.has_psa as hasPsa,
      o.time_zone as timeZone,
  used.records as chainRecords, used.minutes as chainMinutes, used.bytes as chainBytes, case
    when :day = p.day then p.day_records
    when :day < p.day then (
      select coalesce(sum(notes + time_entries), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end as organizationRecords, case
    when :day = p.day then p.day_bytes
    when :day < p.day then (
      select coalesce(sum(bytes), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end as organizationBytes,
  coalesce(r.id, iif(s.organization_id is null, null, :id)) as id,
  coalesce(r.ticket_id, s.ticket_id) as ticketId,
  coalesce(r.created_at, s.created_at) as createdAt,
  coalesce(r.request_id, '') as requestId,
  coalesce(r.request_digest, lower(hex(s.request_digest))) as requestDigest,
  coalesce(r.user_id, s.user_id) as userId,
  coalesce(r.minutes, s.minutes) as minutes,
  coalesce(r.billable, s.billable) as billable,
  coalesce(r.work_date, date(s.work_day * 86400, 'unixepoch')) as workDate,
  coalesce(r.hourly_rate_minor, s.hourly_rate_minor) as hourlyRateMinor,
  coalesce(r.agreement_source, iif(s.by_agreement = 1, 'company_default', 'organization_default')) as agreementSource,
  coalesce(r.status, iif(s.review_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED'))) as status,
  c.id is not null as ticketFound,
  u.id is not null as userFound
from api_keys k
join organizations o on o.id = :organizationId
left join time_entries r on r.organization_id = :organizationId and r.id = :id
left join archived_time_entries s on s.organization_id = :organizationId
  and s.id = iif(r.id is null, unhex(replace(:id, '-', '')), null)
left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
join (
  select coalesce(sum(notes + time_entries), 0) as records, coalesce(sum(minutes), 0) as minutes,
    coalesce(sum(bytes), 0) as bytes
  from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day) used
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
left join users u on u.organization_id = :organizationId and u.email = :userEmail
  and u.active = 1 and u.is_technician = 1 and u.is_service = 0
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash;

-- src/db/work/time-entry-statements.ts: insertServiceTimeEntry
insert into time_entries (
  organization_id, id, ticket_id, created_at, key_id,
  request_id, request_digest, audit_seq,
  user_id, minutes, description, billable, work_date,
  hourly_rate_minor,
  agreement_source,
  status, review_seq)
select
  k.organization_id, :id, t.id, :now, k.id,
  :requestId, :requestDigest, coalesce(p.seq, 0) + 1,
  u.id, :minutes, :description, :billable, :day,
  coalesce(g.hourly_rate_minor, o.default_hourly_rate_minor),
  iif(g.id is null, 'organization_default', 'company_default'),
  'SUBMITTED', null
from api_keys k
join organizations o on o.id = :organizationId and o.active = 1 and o.has_psa = 1 and o.time_zone = :timeZone
join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
join users u on u.organization_id = :organizationId and u.is_service = 1
left join agreements g on g.organization_id = :organizationId and g.company_id = t.company_id and g.active = 1
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
  and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
  and instr(' ' || k.scopes || ' ', ' tickets:time:write ') > 0
  and k.allowed_networks = :allowedNetworks
  and (
    select (:keyDayRecords is null or coalesce(sum(notes + time_entries), 0) + 1 <= :keyDayRecords)
      and (k.day_limit_records is null or coalesce(sum(notes + time_entries), 0) + 1 <= k.day_limit_records)
      and (:keyDayBytes is null or coalesce(sum(bytes), 0) + :bytes <= :keyDayBytes)
      and (:minutes = 0 or (k.day_limit_minutes is null or coalesce(sum(minutes), 0) + :minutes <= k.day_limit_minutes))
    from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day)
  and (:organizationDayRecords is null or case
    when :day = p.day then p.day_records
    when :day < p.day then (
      select coalesce(sum(notes + time_entries), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end + 1 <= :organizationDayRecords)
  and (:organizationDayBytes is null or case
    when :day = p.day then p.day_bytes
    when :day < p.day then (
      select coalesce(sum(bytes), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end + :bytes <= :organizationDayBytes)
on conflict (organization_id, id) do nothing
returning
  id, ticket_id as ticketId, created_at as createdAt, request_id as requestId, request_digest as requestDigest,
  user_id as userId, minutes, billable, work_date as workDate, hourly_rate_minor as hourlyRateMinor,
  agreement_source as agreementSource, status,
  (select coalesce(sum(notes + time_entries), 0) from key_days
    where organization_id = :organizationId and chain_id = :chainId and day = :day) as chainRecords;

-- src/db/work/time-entry-statements.ts: insertTechnicianTimeEntry
insert into time_entries (
  organization_id, id, ticket_id, created_at, key_id,
  request_id, request_digest, audit_seq,
  user_id, minutes, description, billable, work_date,
  hourly_rate_minor,
  agreement_source,
  status, review_seq)
select
  k.organization_id, :id, t.id, :now, k.id,
  :requestId, :requestDigest, coalesce(p.seq, 0) + 1,
  u.id, :minutes, :description, :billable, :day,
  coalesce(g.hourly_rate_minor, o.default_hourly_rate_minor),
  iif(g.id is null, 'organization_default', 'company_default'),
  'SUBMITTED', null
from api_keys k
join organizations o on o.id = :organizationId and o.active = 1 and o.has_psa = 1 and o.time_zone = :timeZone
join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
join users u on u.organization_id = :organizationId and u.email = :userEmail
  and u.active = 1 and u.is_technician = 1 and u.is_service = 0
left join agreements g on g.organization_id = :organizationId and g.company_id = t.company_id and g.active = 1
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
  and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
  and instr(' ' || k.scopes || ' ', ' tickets:time:write ') > 0
  and k.allowed_networks = :allowedNetworks
  and (
    select (:keyDayRecords is null or coalesce(sum(notes + time_entries), 0) + 1 <= :keyDayRecords)
      and (k.day_limit_records is null or coalesce(sum(notes + time_entries), 0) + 1 <= k.day_limit_records)
      and (:keyDayBytes is null or coalesce(sum(bytes), 0) + :bytes <= :keyDayBytes)
      and (:minutes = 0 or (k.day_limit_minutes is null or coalesce(sum(minutes), 0) + :minutes <= k.day_limit_minutes))
    from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day)
  and (:organizationDayRecords is null or case
    when :day = p.day then p.day_records
    when :day < p.day then (
      select coalesce(sum(notes + time_entries), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end + 1 <= :organizationDayRecords)
  and (:organizationDayBytes is null or case
    when :day = p.day then p.day_bytes
    when :day < p.day then (
      select coalesce(sum(bytes), 0) from api_keys h
      cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id)
    else 0 end + :bytes <= :organizationDayBytes)
on conflict (organization_id, id) do nothing
returning
  id, ticket_id as ticketId, created_at as createdAt, request_id as requestId, request_digest as requestDigest,
  user_id as userId, minutes, billable, work_date as workDate, hourly_rate_minor as hourlyRateMinor,
  agreement_source as agreementSource, status,
  (select coalesce(sum(notes + time_entries), 0) from key_days
    where organization_id = :organizationId and chain_id = :chainId and day = :day) as chainRecords;

-- src/modules/alerts/alert-statements.ts: claimAlerts
update alerts set next_attempt_at = :claimedUntil
where channel = :channel and (organization_id, type, subject) in (
  select organization_id, type, subject from (
    select *, row_number() over (partition by organization_id order by attempts, found_at, type, subject) as place
    from alerts indexed by alerts_waiting
    where channel = :channel and sent_at is null and next_attempt_at <= :now and (organization_id = '' or exists (select 1 from organizations o where o.id = organization_id and o.active = 1))
      and not (:channel = 'push' and exists (
        select 1 from pushes p where p.organization_id = alerts.organization_id and p.stopped_at is not null)))
  where place <= :each order by attempts, place, random() limit :limit)
returning organization_id as organizationId,
    type as type,
    subject as subject,
    channel as channel,
    id as id,
    found_at as foundAt,
    data as data,
    attempts as attempts;

-- src/modules/alerts/alert-statements.ts: endAlerts
update alerts set sent_at = :now,
    failure = :failure where organization_id = :organizationId and channel = :channel and (type, subject, id) in (
select value ->> 'type', value ->> 'subject', value ->> 'id' from json_each(:alerts));

-- src/modules/alerts/alert-statements.ts: findStoredAlerts
select organization_id as organizationId,
    type as type,
    subject as subject,
    channel as channel,
    level as level from alerts indexed by alerts_type
where type in (select value from json_each(:types)) limit :limit;

-- src/modules/alerts/alert-statements.ts: findWaitingAlerts
select organization_id as organizationId,
    type as type,
    subject as subject,
    channel as channel,
    id as id,
    found_at as foundAt,
    attempts as attempts,
    next_attempt_at as nextAttemptAt,
    failure as failure
from alerts where sent_at is null and organization_id = coalesce(:only, organization_id)
order by found_at, organization_id, type, subject, channel limit :limit;

-- src/modules/alerts/alert-statements.ts: postponeAlerts
update alerts set failure = :failure, attempts = attempts + 1,
  next_attempt_at = max(:now + (min(5 << min(attempts, 4), 60) - 1) * 60000, :retryAt)
where organization_id = :organizationId and channel = :channel and (type, subject, id) in (
  select value ->> 'type', value ->> 'subject', value ->> 'id' from json_each(:alerts));

-- src/modules/alerts/alert-statements.ts: saveAlerts
insert into alerts (organization_id, type, subject, channel, level, id, found_at, data, attempts, next_attempt_at) select a.value ->> 'organizationId',
    a.value ->> 'type',
    a.value ->> 'subject',
    a.value ->> 'channel',
    a.value ->> 'level',
    a.value ->> 'id',
    :now,
    a.value ->> 'data',
    0,
    :now
from json_each(:alerts) a where ((a.value ->> 'organizationId') = '' or exists (select 1 from organizations o where o.id = (a.value ->> 'organizationId') and o.active = 1))
on conflict do update set level = excluded.level, id = excluded.id, found_at = excluded.found_at, data = excluded.data,
  attempts = 0, next_attempt_at = excluded.next_attempt_at, failure = null, sent_at = null
where excluded.level > alerts.level;

-- src/modules/alerts/alert-statements.ts: withdrawAlerts
delete from alerts where (organization_id, type, subject, channel) in (
  select value ->> 'organizationId', value ->> 'type', value ->> 'subject', value ->> 'channel' from json_each(:alerts));

-- src/modules/archive/archive-statements.ts: claimPart
update archives set revision = revision + 1 where organization_id = :organizationId and to_seq = :toSeq and revision = :revision;

-- src/modules/archive/archive-statements.ts: findArchive
select from_seq as fromSeq,
    to_seq as toSeq,
    first_at as firstAt,
    last_at as lastAt,
    last_request_id as lastRequestId,
    object as object,
    digest as digest,
    bytes as bytes,
    revision as revision,
    damaged_at as damagedAt from archives where organization_id = :organizationId and to_seq = :toSeq;

-- src/modules/archive/archive-statements.ts: findArchiveOfObject
select from_seq as fromSeq,
    to_seq as toSeq,
    first_at as firstAt,
    last_at as lastAt,
    last_request_id as lastRequestId,
    object as object,
    digest as digest,
    bytes as bytes,
    revision as revision,
    damaged_at as damagedAt from archives where organization_id = :organizationId and object = :object;

-- src/modules/archive/archive-statements.ts: findArchivesAbout
select from_seq as fromSeq,
    to_seq as toSeq,
    first_at as firstAt,
    last_at as lastAt,
    last_request_id as lastRequestId,
    object as object,
    digest as digest,
    bytes as bytes,
    revision as revision,
    damaged_at as damagedAt from archives where organization_id = :organizationId and to_seq in (
select (select min(to_seq) from archives where organization_id = :organizationId and to_seq >= seq)
from (select archived_seq as seq from archived_notes where organization_id = :organizationId and id in (unhex(replace(:id, '-', '')), unhex(replace(:note, '-', ''))) union all select audit_seq from notes where organization_id = :organizationId and id in (:id, :note) union all select archived_seq as seq from archived_time_entries where organization_id = :organizationId and id in (unhex(replace(:id, '-', '')), unhex(replace(:time_entry, '-', ''))) union all select audit_seq from time_entries where organization_id = :organizationId and id in (:id, :time_entry))) order by to_seq;

-- src/modules/archive/archive-statements.ts: findArchivesOfPeriod
select from_seq as fromSeq,
    to_seq as toSeq,
    first_at as firstAt,
    last_at as lastAt,
    last_request_id as lastRequestId,
    object as object,
    digest as digest,
    bytes as bytes,
    revision as revision,
    damaged_at as damagedAt from archives where organization_id = :organizationId and (:since is null or last_at >= :since) and (:until is null or first_at < :until) order by to_seq desc limit :limit;

-- src/modules/archive/archive-statements.ts: findEntries
select e.id,
    iif(e.organization_id is null, null, json_object('id', e.id, 'ticketId', e.ticket_id, 'createdAt', e.created_at, 'description', e.description, 'userId', e.user_id, 'minutes', e.minutes, 'billable', e.billable, 'workDate', e.work_date, 'hourlyRateMinor', e.hourly_rate_minor, 'agreementSource', e.agreement_source, 'status', e.status)) as entry
from json_each(:ids) i cross join time_entries e on e.organization_id = :organizationId and e.id = i.value;

-- src/modules/archive/archive-statements.ts: findErased
select organization_id as organizationId from erasures where organization_id = :organizationId
  and not exists (select 1 from releases where organization_id = :organizationId) limit 1;

-- src/modules/archive/archive-statements.ts: findLeastChecked
select organization_id as organizationId,
    from_seq as fromSeq,
    to_seq as toSeq,
    first_at as firstAt,
    last_at as lastAt,
    last_request_id as lastRequestId,
    object as object,
    digest as digest,
    bytes as bytes,
    revision as revision,
    damaged_at as damagedAt from archives order by checked_at limit :limit;

-- src/modules/archive/archive-statements.ts: findNewestArchive
select from_seq as fromSeq,
    to_seq as toSeq,
    first_at as firstAt,
    last_at as lastAt,
    last_request_id as lastRequestId,
    object as object,
    digest as digest,
    bytes as bytes,
    revision as revision,
    damaged_at as damagedAt from archives where organization_id = :organizationId and object not in (select value from json_each(:without)) order by to_seq desc limit 1;

-- src/modules/archive/archive-statements.ts: findReleased
select seq from releases where organization_id = :organizationId;

-- src/modules/archive/archive-statements.ts: markChecked
update archives set checked_at = :now, damaged_at = iif(:isDamaged = 1, coalesce(damaged_at, :now), null)
where organization_id = :organizationId and to_seq = :toSeq and object = :object;

-- src/modules/archive/archive-statements.ts: replaceObject
update archives set object = :object,
    digest = :digest,
    bytes = :bytes,
    revision = revision + 1,
    damaged_at = null where organization_id = :organizationId and to_seq = :toSeq and revision = :revision;

-- src/modules/archive/archive-statements.ts: replaceRedacted
update archives set object = :object,
    digest = :digest,
    bytes = :bytes,
    revision = revision + 1,
    damaged_at = null where organization_id = :organizationId and to_seq = :toSeq and revision = :revision and changes() = 1;

-- src/modules/archive/step-statements.ts: ARCHIVE.record
insert into archives (organization_id, to_seq, from_seq, first_at, last_at, last_request_id, object, digest, bytes, archived_at, checked_at) select a.organization_id,
    a.seq,
    :fromSeq,
    :firstAt,
    a.at,
    a.request_id,
    :object,
    :digest,
    :bytes,
    :now,
    :now
from audit_log a join releases r on r.organization_id = a.organization_id and r.seq >= a.seq
where a.organization_id = :organizationId and a.seq = :toSeq and a.seq < (select max(seq) from audit_log where organization_id = r.organization_id) and :fromSeq = coalesce((select max(to_seq) from archives where organization_id = r.organization_id), 0) + 1
  and not exists (select 1 from audit_log n where n.organization_id = :organizationId and n.seq > :newestSeq
    and n.action glob '*.redacted');

-- src/modules/archive/step-statements.ts: ARCHIVE.remove.0
insert into archived_notes (organization_id, id, ticket_id, created_at, request_digest, archived_seq, redacted) select r.organization_id,
    unhex(replace(r.id, '-', '')),
    r.ticket_id,
    r.created_at,
    iif(r.request_digest = '', null, unhex(substr(r.request_digest, 1, 32))),
    a.seq,
    r.request_digest = ''
from (select target_id, min(seq) as seq from audit_log where organization_id = :organizationId and seq between :fromSeq and :toSeq and action glob 'note.*' group by target_id) a
cross join notes r on r.organization_id = :organizationId and r.id = a.target_id
where exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and object = :object);

-- src/modules/archive/step-statements.ts: ARCHIVE.remove.1
delete from notes where organization_id = :organizationId and id in (select target_id from (select target_id, min(seq) as seq from audit_log where organization_id = :organizationId and seq between :fromSeq and :toSeq and action glob 'note.*' group by target_id)) and exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and object = :object);

-- src/modules/archive/step-statements.ts: ARCHIVE.remove.2
insert into archived_time_entries (organization_id, id, ticket_id, created_at, request_digest, archived_seq, redacted, user_id, minutes, billable, work_day, hourly_rate_minor, by_agreement, approved, review_seq) select r.organization_id,
    unhex(replace(r.id, '-', '')),
    r.ticket_id,
    r.created_at,
    iif(r.request_digest = '', null, unhex(substr(r.request_digest, 1, 32))),
    a.seq,
    r.request_digest = '',
    r.user_id,
    r.minutes,
    r.billable,
    unixepoch(r.work_date) / 86400,
    r.hourly_rate_minor,
    r.agreement_source = 'company_default',
    r.status = 'APPROVED',
    r.review_seq
from (select target_id, min(seq) as seq from audit_log where organization_id = :organizationId and seq between :fromSeq and :toSeq and action glob 'time_entry.*' group by target_id) a
cross join time_entries r on r.organization_id = :organizationId and r.id = a.target_id
where exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and object = :object);

-- src/modules/archive/step-statements.ts: ARCHIVE.remove.3
delete from time_entries where organization_id = :organizationId and id in (select target_id from (select target_id, min(seq) as seq from audit_log where organization_id = :organizationId and seq between :fromSeq and :toSeq and action glob 'time_entry.*' group by target_id)) and exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and object = :object);

-- src/modules/archive/step-statements.ts: ARCHIVE.remove.4
delete from audit_log where organization_id = :organizationId and seq between :fromSeq and :toSeq and exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and object = :object);

-- src/modules/archive/step-statements.ts: findArchivable
select d.epoch,
    (select max(seq) from audit_log where organization_id = r.organization_id) as newestSeq,
    coalesce((select max(to_seq) from archives where organization_id = r.organization_id), 0) as archivedSeq,
    min(r.seq, (select max(seq) from audit_log where organization_id = r.organization_id) - 1, iif(:isPushed = 1, coalesce((select confirmed_seq from pushes where organization_id = r.organization_id), 0), r.seq)) as lastSeq
from releases r cross join database_epoch d where r.organization_id = :organizationId;

-- src/modules/archive/step-statements.ts: findDueArchives
select r.organization_id as organizationId
from releases r cross join audit_log a on a.organization_id = r.organization_id and a.seq = coalesce((select max(to_seq) from archives where organization_id = r.organization_id), 0) + 1
where a.at < :before and a.seq <= min(r.seq, (select max(seq) from audit_log where organization_id = r.organization_id) - 1, iif(:isPushed = 1, coalesce((select confirmed_seq from pushes where organization_id = r.organization_id), 0), r.seq)) and (a.at < :waiting or exists (select 1 from audit_log f
  where f.organization_id = r.organization_id and f.seq = a.seq + :full - 1 and f.seq <= min(r.seq, (select max(seq) from audit_log where organization_id = r.organization_id) - 1, iif(:isPushed = 1, coalesce((select confirmed_seq from pushes where organization_id = r.organization_id), 0), r.seq)) and f.at < :before))
order by random() limit :limit;

-- src/modules/push/push-statements.ts: findConfirmedSeq
select confirmed_seq as confirmedSeq from pushes where organization_id = :organizationId;

-- src/modules/push/push-statements.ts: findDuePushes
select organizationId, isErased from (
  select o.id as organizationId, 0 as isErased
  from organizations o left join pushes p on p.organization_id = o.id
  where p.stopped_at is null and coalesce(p.next_attempt_at, 0) <= :now
    and coalesce(p.confirmed_seq, 0) < (select max(seq) from audit_log where organization_id = o.id)
  union all
  select e.organization_id, 1 from erasures e where e.open = 0 and e.erased_at > :erasedSince
    and not exists (select 1 from organizations where id = e.organization_id))
order by random() limit :limit;

-- src/modules/push/push-statements.ts: findPushStatus
select o.id as organizationId,
    p.confirmed_seq as confirmedSeq,
    p.confirmed_at as confirmedAt,
    p.failing_since as failingSince,
    p.attempts as attempts,
    p.failure as failure,
    p.next_attempt_at as nextAttemptAt,
    p.stopped_at as stoppedAt,
  coalesce((select max(seq) from audit_log where organization_id = o.id), 0) as newestSeq,
  (select at from audit_log where organization_id = o.id and seq > coalesce(p.confirmed_seq, 0) order by seq limit 1) as waitingSince
from organizations o left join pushes p on p.organization_id = o.id
where o.id = coalesce(:only, o.id) and o.id > :after order by o.id limit :limit;

-- src/modules/push/push-statements.ts: markResumed
update pushes set stopped_at = null, next_attempt_at = null
where organization_id = :organizationId and (stopped_at is not null or next_attempt_at is not null);

-- src/modules/push/push-statements.ts: markSkipped
insert into pushes (organization_id, confirmed_seq, attempts)
select id, :seq, 0 from organizations where id = :organizationId
on conflict (organization_id) do update set confirmed_seq = excluded.confirmed_seq
where pushes.confirmed_seq < excluded.confirmed_seq;

-- src/modules/push/push-statements.ts: savePush
insert into pushes (organization_id, confirmed_seq, confirmed_at, failing_since, attempts, failure, next_attempt_at, stopped_at)
select :organizationId, :confirmedSeq, :confirmedAt, :failingSince, :attempts, :failure, :nextAttemptAt, :stoppedAt
from organizations where id = :organizationId and not exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1)
on conflict (organization_id) do update set
  confirmed_seq = excluded.confirmed_seq, confirmed_at = excluded.confirmed_at, failing_since = excluded.failing_since,
  attempts = excluded.attempts, failure = excluded.failure, next_attempt_at = excluded.next_attempt_at,
  stopped_at = excluded.stopped_at;
