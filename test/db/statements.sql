-- src/db/audit/audit-log-statements.ts: findAuditPage.examined
select min(:before, (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)) - p.lowest as examined,
    p.lowest as lowest,
    null as matching,
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
    time_entry.minutes as minutes,
    u.name as technician,
    time_entry.billable as billable,
    time_entry.hourly_rate_minor as hourlyRateMinor,
    time_entry.status as status,
    decision.actor_name as decidedBy,
    decision.at as decidedAt,
    f.reason as refusal,
    substr(coalesce(note.message, time_entry.description), 1, 4001) as text,
    length(coalesce(note.message, time_entry.description)) as textLength
from audit_log a
left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
left join notes note on note.organization_id = a.organization_id and note.id = a.target_id
left join time_entries time_entry on time_entry.organization_id = a.organization_id and time_entry.id = a.target_id
left join users u on u.organization_id = time_entry.organization_id and u.id = time_entry.user_id
left join audit_log decision on decision.organization_id = a.organization_id and decision.seq = time_entry.approval_seq
left join psa_refusals f on f.organization_id = a.organization_id and f.record_id = a.target_id and a.action = f.kind || '.created'
where a.organization_id = :organizationId and a.seq in (select seq from audit_log where (:actions is null or action in (select value from json_each(:actions))) and (:ticketId is null or ticket_id = :ticketId)
    and (:requestId is null or request_id = :requestId) and (:since is null or at >= :since) and (:until is null or at < :until)
    and (:minutes is null or (action glob 'time_entry.*' and exists (select 1 from time_entries e
      where e.organization_id = :organizationId and e.id = target_id and e.minutes >= :minutes))) and organization_id = :organizationId and seq < :before and seq >= max(:from, (select coalesce(max(to_seq),
          0) from archives where organization_id = :organizationId) + 1, min(:before, (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)) - :examine) order by seq desc limit :limit)
order by a.seq desc;

-- src/db/audit/audit-log-statements.ts: findAuditPageOfKey.examined
select count(*) as examined,
    min(seq) as lowest,
    at as lowestAt,
    count(*) filter (where (:actions is null or action in (select value from json_each(:actions))) and (:ticketId is null or ticket_id = :ticketId)
    and (:requestId is null or request_id = :requestId) and (:since is null or at >= :since) and (:until is null or at < :until)
    and (:minutes is null or (action glob 'time_entry.*' and exists (select 1 from time_entries e
      where e.organization_id = :organizationId and e.id = target_id and e.minutes >= :minutes))) and (actor_id = :keyId or target_id = :keyId)) as matching,
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
    time_entry.minutes as minutes,
    u.name as technician,
    time_entry.billable as billable,
    time_entry.hourly_rate_minor as hourlyRateMinor,
    time_entry.status as status,
    decision.actor_name as decidedBy,
    decision.at as decidedAt,
    f.reason as refusal,
    substr(coalesce(note.message, time_entry.description), 1, 4001) as text,
    length(coalesce(note.message, time_entry.description)) as textLength
from audit_log a
left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
left join notes note on note.organization_id = a.organization_id and note.id = a.target_id
left join time_entries time_entry on time_entry.organization_id = a.organization_id and time_entry.id = a.target_id
left join users u on u.organization_id = time_entry.organization_id and u.id = time_entry.user_id
left join audit_log decision on decision.organization_id = a.organization_id and decision.seq = time_entry.approval_seq
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
) order by seq desc limit :examine) where (:actions is null or action in (select value from json_each(:actions))) and (:ticketId is null or ticket_id = :ticketId)
    and (:requestId is null or request_id = :requestId) and (:since is null or at >= :since) and (:until is null or at < :until)
    and (:minutes is null or (action glob 'time_entry.*' and exists (select 1 from time_entries e
      where e.organization_id = :organizationId and e.id = target_id and e.minutes >= :minutes))) and (actor_id = :keyId or target_id = :keyId) order by seq desc limit :limit)
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
    time_entry.minutes as minutes,
    u.name as technician,
    time_entry.billable as billable,
    time_entry.hourly_rate_minor as hourlyRateMinor,
    time_entry.status as status,
    decision.actor_name as decidedBy,
    decision.at as decidedAt,
    f.reason as refusal,
    coalesce(note.message, time_entry.description) as text,
    length(coalesce(note.message, time_entry.description)) as textLength
from audit_log a
left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
left join notes note on note.organization_id = a.organization_id and note.id = a.target_id
left join time_entries time_entry on time_entry.organization_id = a.organization_id and time_entry.id = a.target_id
left join users u on u.organization_id = time_entry.organization_id and u.id = time_entry.user_id
left join audit_log decision on decision.organization_id = a.organization_id and decision.seq = time_entry.approval_seq
left join psa_refusals f on f.organization_id = a.organization_id and f.record_id = a.target_id and a.action = f.kind || '.created'
where a.organization_id = :organizationId and a.seq in (select * from (
  select audit_seq from notes where organization_id = :organizationId and id in (:id, :note) union all select audit_seq from time_entries where organization_id = :organizationId and id in (:id, :time_entry)
  union all
  select * from (select seq from audit_log indexed by audit_log_user_target
    where organization_id = :organizationId and actor_type <> 'api_key' and target_id = :id order by seq desc limit 50)))
order by a.seq desc;

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

-- src/db/fact-statements.ts: FACT_SOURCES.archive_damaged.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select o.id as organizationId,
    '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    count(*) as level,
    count(*) as count,
    null as lastAt,
    min(s.object) as detail,
    'archive_damaged' as type,
    min(s.damaged_at) as since
from archives s indexed by archives_damaged cross join organizations o on o.id = s.organization_id
where s.damaged_at is not null and s.organization_id between :from and :to and o.active = 1
group by o.id ))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.daily_limit.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select k.organization as organizationId,
    coalesce(k.id, '') || ' ' || k.day as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 + (max(k.records * 100 / k.maxRecords, k.minutes * 100 / k.maxMinutes, k.bytes * 100 / k.maxBytes) >= 100) as level,
    max(k.records * 100 / k.maxRecords, k.minutes * 100 / k.maxMinutes, k.bytes * 100 / k.maxBytes) as count,
    null as lastAt,
    case max(k.records * 100 / k.maxRecords, k.minutes * 100 / k.maxMinutes, k.bytes * 100 / k.maxBytes)
    when k.records * 100 / k.maxRecords then printf('%,d new records', k.maxRecords)
    when k.minutes * 100 / k.maxMinutes then printf('%,d minutes', k.maxMinutes)
    else printf('%,d MB of text', k.maxBytes / 1000000) end || ', on ' || k.day as detail,
        'daily_limit' as type,
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
  where o.id between :from and :to and o.active = 1 group by o.id, d.day) k
where max(k.records * 100 / k.maxRecords, k.minutes * 100 / k.maxMinutes, k.bytes * 100 / k.maxBytes) >= 80
order by k.day desc, k.organization, k.id ))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.database_size.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select '' as organizationId,
    '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    1 + (:databaseBytes >= :databaseLimit * 0.9) as level,
    :databaseBytes as count,
    null as lastAt,
    printf('%,d MB', :databaseLimit / 1000000) as detail,
    'database_size' as type,
    :now as since
where '' between :from and :to and :databaseBytes >= :databaseLimit * 0.7))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.key_expiring.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select o.id as organizationId,
    k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 + (k.expires_at <= :now + 259200000) + (k.expires_at <= :now + 86400000) as level,
    0 as count,
    null as lastAt,
    null as detail,
    'key_expiring' as type,
    k.expires_at - 1209600000 as since
from organizations o
cross join api_keys k indexed by api_keys_unrevoked on k.organization_id = o.id and k.revoked_at is null
  and k.expires_at > :now and k.expires_at <= :now + 1209600000
where o.id between :from and :to and o.active = 1 and k.successor_id is null
order by k.expires_at ))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.key_of_former.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select o.id as organizationId,
    k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 as level,
    0 as count,
    null as lastAt,
    u.name as detail,
    'key_of_former' as type,
    :now as since
from organizations o cross join api_keys k on k.organization_id = o.id and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at > :now) and k.successor_id is null
cross join users u on u.organization_id = k.organization_id and u.id = k.created_by
where o.id between :from and :to and o.active = 1 and (u.active = 0 or u.is_admin = 0) and not exists (select 1 from access_review_decisions e
  where e.organization_id = k.organization_id and e.review_id = (select r.id from access_reviews r
    where r.organization_id = k.organization_id and r.finished_at is not null order by r.id desc limit 1)
  and e.key_id = k.id and e.decision = 'keep' and e.of_former = 1)
order by k.name, k.id ))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.key_unused.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select k.organization_id as organizationId,
    k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 as level,
    60 as count,
    k.lastWrite as lastAt,
    null as detail,
    'key_unused' as type,
    coalesce(k.lastWrite, k.created_at) + 5184000000 as since
from (
  select k.*, (select max(w.last_at) from (select d.last_at from key_days d
where d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id order by d.day desc limit 3) w) as lastWrite
  from organizations o cross join api_keys k on k.organization_id = o.id and k.id in (select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at is null union all select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at > :now) and k.successor_id is null
  where o.id between :from and :to and o.active = 1 and k.created_at <= (:now - 5184000000)
    and not exists (select 1 from key_days d where d.organization_id = k.organization_id and d.chain_id = k.chain_id
      and d.day >= date((:now - 5184000000) / 1000, 'unixepoch', '-1 day') and d.key_id = k.id and d.last_at > (:now - 5184000000))
  order by o.id, k.name, k.id ) k
where not exists (select 1 from access_review_decisions e
  where e.organization_id = k.organization_id and e.review_id = (select r.id from access_reviews r
    where r.organization_id = k.organization_id and r.finished_at is not null order by r.id desc limit 1)
  and e.key_id = k.id and e.decision = 'keep' and e.decided_at >= coalesce(k.lastWrite, k.created_at) + 5184000000)))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.push_failing.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select o.id as organizationId,
    s.adapter as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    iif(s.stopped_at is null, 1, 2) as level,
    0 as count,
    null as lastAt,
    s.failure as detail,
    'push_failing' as type,
    coalesce(s.failing_since, s.stopped_at) as since
from (
  select organization_id, '' as adapter, failing_since, stopped_at, failure
  from pushes indexed by pushes_in_trouble
  where :isPushed = 1 and organization_id between :from and :to and (failing_since is not null or stopped_at is not null)
  union all
  select organization_id, adapter, coalesce(c.failing_since, c.reported_at), stopped_at,
    coalesce(failure, 'the adapter no longer reports')
  from connections c where organization_id between :from and :to) s
cross join organizations o on o.id = s.organization_id
where o.active = 1 and (s.stopped_at is not null or s.failing_since <= :now - 300000)
))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.refused_by_psa.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select o.id as organizationId,
    f.kind as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    length(count(*)) as level,
    count(*) as count,
    max(f.refused_at) as lastAt,
    null as detail,
    'refused_by_psa' as type,
    min(f.refused_at) as since
from psa_refusals f cross join organizations o on o.id = f.organization_id
where f.organization_id between :from and :to and f.refused_at >= :now - 2592000000 and o.active = 1
group by o.id, f.kind order by lastAt desc ))
where place <= :each order by place, organizationId limit :limit;

-- src/db/fact-statements.ts: FACT_SOURCES.refused_expired.statement
  select type,
      since,
      organizationId,
      subject,
      keyId,
      keyName,
      keyHint,
      keyExpiresAt,
      level,
      count,
      lastAt,
      detail from (
    select *, row_number() over (
      partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
    from (
select o.id as organizationId,
    k.id as subject,
    k.id as keyId,
    k.name as keyName,
    k.hint as keyHint,
    k.expires_at as keyExpiresAt,
    1 as level,
    r.count as count,
    r.last_at as lastAt,
    r.source_address as detail,
    'refused_' || r.reason as type,
    r.first_at as since
from organizations o
cross join refused_uses r indexed by refused_uses_latest on r.organization_id = o.id and r.last_at >= :now - 604800000
cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
where o.id between :from and :to and o.active = 1 and r.reason in ('expired', 'idempotency_mismatch', 'revoked', 'scope_missing', 'address_not_allowed', 'daily_limit_reached', 'technician_not_eligible', 'ticket_not_found')
  and (r.count >= 3 or r.reason not in ('technician_not_eligible', 'ticket_not_found'))
  and r.last_at >= :now - 604800000 and (r.ends_at is null or r.ends_at > :now)
  and (r.reason = 'idempotency_mismatch' or ((k.revoked_at is null or r.reason = 'revoked')
    and (k.successor_id is null or r.reason <> 'address_not_allowed' or r.last_at > (
      select s.created_at from api_keys s where s.organization_id = k.organization_id and s.id = k.successor_id))
    and (r.reason not in ('daily_limit_reached', 'technician_not_eligible', 'ticket_not_found') or not exists (
      select 1 from key_days d where d.organization_id = k.organization_id and d.chain_id = k.chain_id
        and d.day >= date(r.last_at / 1000, 'unixepoch', '-1 day')
        and d.last_at > r.last_at + iif(r.reason = 'daily_limit_reached', 0, 3600000)))))
order by r.last_at desc ))
  where place <= :each order by place, organizationId limit :limit;

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
        json_object('id', time_entry.id, 'ticketId', time_entry.ticket_id, 'createdAt', time_entry.created_at, 'description', time_entry.description, 'userId', time_entry.user_id, 'minutes', time_entry.minutes, 'billable', time_entry.billable, 'workDate', time_entry.work_date, 'hourlyRateMinor', time_entry.hourly_rate_minor, 'agreementSource', time_entry.agreement_source, 'status', time_entry.status)), (select json_object('id', a.target_id, 'ticketId', s.ticket_id, 'createdAt', s.created_at, 'userId', s.user_id, 'minutes', s.minutes, 'billable', s.billable, 'workDate', date(s.work_day * 86400, 'unixepoch'), 'hourlyRateMinor', s.hourly_rate_minor, 'agreementSource', iif(s.by_agreement = 1, 'company_default', 'organization_default'), 'status', iif(s.approval_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED')), 'description', '[redacted]') from archived_time_entries s
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
  iif(w.id is null, null, coalesce(r.audit_seq, s.archived_seq)) as writtenSeq,
      l.seq as releasedSeq,
      d.confirmed_seq as confirmedSeq,
      d.skipped as skipped,
      f.refused_at as refusedAt,
  coalesce(r.id, iif(s.organization_id is null, null, :id)) as id,
  coalesce(r.ticket_id, s.ticket_id) as ticketId,
  coalesce(r.created_at, s.created_at) as createdAt,
  coalesce(r.request_id, '') as requestId,
  coalesce(r.request_digest, lower(hex(s.request_digest))) as requestDigest,
  c.id is not null and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || t.company_id || ' ') > 0) as ticketFound,
  t.id is not null and not (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || t.company_id || ' ') > 0) as otherCompany,
  k.companies = '' or w.id is not null as fromOwnChain,
  rc.id is not null and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || rt.company_id || ' ') > 0) as recordAdmitted,
  1 as userFound
from api_keys k
join organizations o on o.id = :organizationId
left join notes r on r.organization_id = :organizationId and r.id = :id
left join archived_notes s on s.organization_id = :organizationId
  and s.id = iif(r.id is null, unhex(replace(:id, '-', '')), null)
left join api_keys w on w.organization_id = :organizationId and w.chain_id = k.chain_id
  and w.id = coalesce(r.key_id, iif(s.chain_id = unhex(replace(k.chain_id, '-', '')), k.id, null))
left join psa_refusals f on f.organization_id = w.organization_id and f.record_id = :id
left join pushes d on d.organization_id = w.organization_id
left join releases l on l.organization_id = w.organization_id
left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
left join tickets rt on rt.organization_id = :organizationId
  and rt.id = iif(k.companies = '', null, coalesce(r.ticket_id, s.ticket_id))
left join companies rc on rc.organization_id = :organizationId and rc.id = rt.company_id and rc.active = 1
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
  and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || c.id || ' ') > 0)
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
  and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
  and instr(' ' || k.scopes || ' ', ' tickets:note:write ') > 0
  and k.allowed_networks = :allowedNetworks
  and k.expires_at is :expiresAt and k.day_limit_records is :dayLimitRecords
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
  iif(w.id is null, null, coalesce(r.audit_seq, s.archived_seq)) as writtenSeq,
      l.seq as releasedSeq,
      d.confirmed_seq as confirmedSeq,
      d.skipped as skipped,
      f.refused_at as refusedAt,
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
  coalesce(r.status, iif(s.approval_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED'))) as status,
  c.id is not null and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || t.company_id || ' ') > 0) as ticketFound,
  t.id is not null and not (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || t.company_id || ' ') > 0) as otherCompany,
  k.companies = '' or w.id is not null as fromOwnChain,
  rc.id is not null and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || rt.company_id || ' ') > 0) as recordAdmitted,
  u.id is not null as userFound
from api_keys k
join organizations o on o.id = :organizationId
left join time_entries r on r.organization_id = :organizationId and r.id = :id
left join archived_time_entries s on s.organization_id = :organizationId
  and s.id = iif(r.id is null, unhex(replace(:id, '-', '')), null)
left join api_keys w on w.organization_id = :organizationId and w.chain_id = k.chain_id
  and w.id = coalesce(r.key_id, iif(s.chain_id = unhex(replace(k.chain_id, '-', '')), k.id, null))
left join psa_refusals f on f.organization_id = w.organization_id and f.record_id = :id
left join pushes d on d.organization_id = w.organization_id
left join releases l on l.organization_id = w.organization_id
left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
left join tickets rt on rt.organization_id = :organizationId
  and rt.id = iif(k.companies = '', null, coalesce(r.ticket_id, s.ticket_id))
left join companies rc on rc.organization_id = :organizationId and rc.id = rt.company_id and rc.active = 1
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
  iif(w.id is null, null, coalesce(r.audit_seq, s.archived_seq)) as writtenSeq,
      l.seq as releasedSeq,
      d.confirmed_seq as confirmedSeq,
      d.skipped as skipped,
      f.refused_at as refusedAt,
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
  coalesce(r.status, iif(s.approval_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED'))) as status,
  c.id is not null and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || t.company_id || ' ') > 0) as ticketFound,
  t.id is not null and not (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || t.company_id || ' ') > 0) as otherCompany,
  k.companies = '' or w.id is not null as fromOwnChain,
  rc.id is not null and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || rt.company_id || ' ') > 0) as recordAdmitted,
  u.id is not null as userFound
from api_keys k
join organizations o on o.id = :organizationId
left join time_entries r on r.organization_id = :organizationId and r.id = :id
left join archived_time_entries s on s.organization_id = :organizationId
  and s.id = iif(r.id is null, unhex(replace(:id, '-', '')), null)
left join api_keys w on w.organization_id = :organizationId and w.chain_id = k.chain_id
  and w.id = coalesce(r.key_id, iif(s.chain_id = unhex(replace(k.chain_id, '-', '')), k.id, null))
left join psa_refusals f on f.organization_id = w.organization_id and f.record_id = :id
left join pushes d on d.organization_id = w.organization_id
left join releases l on l.organization_id = w.organization_id
left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
left join tickets rt on rt.organization_id = :organizationId
  and rt.id = iif(k.companies = '', null, coalesce(r.ticket_id, s.ticket_id))
left join companies rc on rc.organization_id = :organizationId and rc.id = rt.company_id and rc.active = 1
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
  status, approval_seq)
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
  and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || c.id || ' ') > 0)
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
join users u on u.organization_id = :organizationId and u.is_service = 1
left join agreements g on g.organization_id = :organizationId and g.company_id = t.company_id and g.active = 1
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
  and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
  and instr(' ' || k.scopes || ' ', ' tickets:time:write ') > 0
  and k.allowed_networks = :allowedNetworks
  and k.expires_at is :expiresAt and k.day_limit_records is :dayLimitRecords
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
  status, approval_seq)
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
  and (k.companies = '' or instr(' ' || k.companies || ' ', ' ' || c.id || ' ') > 0)
left join audit_log p on p.organization_id = :organizationId
  and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
join users u on u.organization_id = :organizationId and u.email = :userEmail
  and u.active = 1 and u.is_technician = 1 and u.is_service = 0
left join agreements g on g.organization_id = :organizationId and g.company_id = t.company_id and g.active = 1
where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
  and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
  and instr(' ' || k.scopes || ' ', ' tickets:time:write ') > 0
  and k.allowed_networks = :allowedNetworks
  and k.expires_at is :expiresAt and k.day_limit_records is :dayLimitRecords
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

-- src/modules/access-review/review-due.ts: REVIEW_DUE.statement
select type, since, organizationId, subject, keyId, keyName, keyHint, keyExpiresAt, level, count, lastAt, detail from (
  select *, row_number() over (
    partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
  from (
select r.id as organizationId,
    '' as subject,
    null as keyId,
    null as keyName,
    null as keyHint,
    null as keyExpiresAt,
    1 as level,
    r.access_review_months as count,
    null as lastAt,
    r.time_zone as detail,
    'access_review_due' as type,
    r.since as since
from (
  select o.id, o.time_zone, k.access_review_months, coalesce((select e.finished_at from access_reviews e
    where e.organization_id = o.id and e.finished_at is not null order by e.id desc limit 1), k.access_reviews_since) as since
  from organizations o cross join key_rules k on k.organization_id = o.id
  where o.id between :from and :to and o.active = 1 and k.access_review_months is not null) r
where r.since + (r.access_review_months * 28 - 16) * 86400000 <= :now
))
where place <= :each order by place, organizationId limit :limit;
